// Owns the kinds that are only asked: TokenReview, SelfSubjectReview and the access reviews.
import type { SubjectAccessReview, SubjectAccessReviewSpec } from '../../api/generated/authorization.v1.ts';
import type { TokenReview } from '../../api/generated/authentication.v1.ts';
import { managedFieldsForUpdate } from '../../api/apply/update.ts';
import { badRequest, invalid, StatusError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Action } from '../action.ts';
import type { BearerTokens } from '../authn/bearer.ts';
import type { Authorizer, Decision } from '../authz/authorizer.ts';
import type { Rbac } from '../authz/rbac.ts';
import type { ApiAnswer, ApiRequest, UserInfo } from '../request.ts';
import type { Served } from '../served/served.ts';
import { readResource } from '../verbs/body.ts';
import { reasonOf } from '../stages/authorize.ts';
import { writeContext } from '../verbs/field-managers.ts';
import { timeText } from '../verbs/metadata.ts';
import { writeOptions } from '../verbs/options.ts';
import { checkNamespace } from '../verbs/create.ts';
import { attributesOf, checkLocal, checkSpec, evaluationError } from './review-questions.ts';

const authentication = 'authentication.k8s.io';
const authorization = 'authorization.k8s.io';

async function bodyOf<T>(request: ApiRequest, served: Served): Promise<T & KubeObject> {
  const { fieldValidation } = writeOptions(request, 'CreateOptions');
  return (await readResource(request, served.resource, fieldValidation)) as unknown as T & KubeObject;
}

/** The body, and the note of who wrote it that upstream adds to everything that is made. */
async function noted<T>(
  request: ApiRequest,
  served: Served,
): Promise<{ readonly review: T & KubeObject; readonly managedFields: KubeObject['metadata']['managedFields'] }> {
  const options = writeOptions(request, 'CreateOptions');
  const review = (await readResource(request, served.resource, options.fieldValidation)) as unknown as T & KubeObject;
  const write = writeContext(served, '', request.arrivedMs);
  const managedFields =
    write === undefined
      ? undefined
      : managedFieldsForUpdate({
          ...write,
          live: undefined,
          next: review as Frozen<KubeObject>,
          manager: options.fieldManager,
        });
  return { review, managedFields };
}

function answer(served: Served, object: object): ApiAnswer {
  return { type: 'object', code: 201, object: freeze(object) as Frozen<object>, served };
}

function shownUser(user: UserInfo): object {
  return {
    username: user.name,
    ...(user.uid !== undefined && { uid: user.uid }),
    groups: user.groups,
    ...(user.extra !== undefined && { extra: user.extra }),
  };
}

export interface ReviewDeps {
  readonly tokens: BearerTokens;
  readonly authorizers: readonly Authorizer[];
  readonly rbac: Rbac | undefined;
  readonly audiences: readonly string[];
}

export function reviewActions(deps: ReviewDeps): Action[] {
  return [
    { group: authentication, resource: 'tokenreviews', subresource: '', handle: tokenReview(deps) },
    { group: authentication, resource: 'selfsubjectreviews', subresource: '', handle: selfSubjectReview },
    { group: authorization, resource: 'subjectaccessreviews', subresource: '', handle: accessReview(deps, 'subject') },
    {
      group: authorization,
      resource: 'localsubjectaccessreviews',
      subresource: '',
      handle: accessReview(deps, 'local'),
    },
    { group: authorization, resource: 'selfsubjectaccessreviews', subresource: '', handle: accessReview(deps, 'self') },
    { group: authorization, resource: 'selfsubjectrulesreviews', subresource: '', handle: rulesReview(deps) },
  ];
}

function tokenReview({ tokens, audiences }: ReviewDeps): Action['handle'] {
  return async (_parts, request, served) => {
    const { review, managedFields } = await noted<TokenReview>(request, served);
    const token = review.spec?.token ?? '';
    if (token === '') throw badRequest('token is required for TokenReview in authentication');
    const result = await tokens.check(token);
    const wanted = review.spec.audiences ?? [];
    const valid = result?.audiences ?? audiences;
    const asked = wanted.length > 0 ? wanted : audiences;
    const common = asked.filter((audience) => valid.includes(audience));
    const status =
      result === undefined || common.length === 0
        ? { user: {}, error: 'invalid bearer token' }
        : { authenticated: true, user: shownUser(result.user), audiences: common };
    const metadata: Partial<KubeObject['metadata']> = { ...review.metadata, ...(managedFields && { managedFields }) };
    delete metadata.namespace;
    return answer(served, { ...review, metadata, status });
  };
}

const selfSubjectReview: Action['handle'] = async (_parts, request, served) => {
  const review = await bodyOf<KubeObject>(request, served);
  return answer(served, {
    kind: review.kind,
    apiVersion: review.apiVersion,
    metadata: { creationTimestamp: timeText(request.arrivedMs) },
    status: { userInfo: shownUser(request.user) },
  });
};

function accessReview({ authorizers }: ReviewDeps, whose: 'subject' | 'local' | 'self'): Action['handle'] {
  return async (_parts, request, served) => {
    const { review, managedFields } = await noted<SubjectAccessReview>(request, served);
    const spec = (review.spec ??= {} as SubjectAccessReviewSpec);
    const { namespace } = request.info;
    const place = review.metadata.namespace ?? '';
    if (whose === 'local' && place !== '') checkNamespace(place, namespace);
    const errors = checkSpec(spec, whose);
    const isBare = Object.entries(review.metadata).every(
      ([field, value]) => value === undefined || (whose === 'local' && field === 'namespace' && value === namespace),
    );
    if (!isBare) errors.push(fieldError.invalid('metadata', review.metadata, 'must be empty'));
    if (whose === 'local') errors.push(...checkLocal(spec, namespace));
    // Upstream names neither the kind nor the object here.
    if (errors.length > 0) throw withoutKind(invalid(served.resource, '', errors));
    const user: UserInfo =
      whose === 'self'
        ? request.user
        : {
            name: spec.user ?? '',
            ...(spec.uid !== undefined && { uid: spec.uid }),
            groups: spec.groups ?? [],
            ...(spec.extra !== undefined && { extra: spec.extra }),
          };
    const attributes = attributesOf(spec, user);
    let decision: Decision = 'no opinion';
    let reason = '';
    for (const authorizer of authorizers) {
      decision = await authorizer.decide(attributes);
      if (decision === 'no opinion') continue;
      reason = authorizer.reason?.(attributes) ?? '';
      break;
    }
    if (decision === 'no opinion') reason = reasonOf(authorizers, attributes);
    const lost = evaluationError(spec);
    return answer(served, {
      ...review,
      metadata: {
        ...(whose === 'local' && { namespace }),
        ...(managedFields && { managedFields }),
      },
      status: {
        allowed: decision === 'allow',
        ...(decision === 'deny' && { denied: true }),
        ...(reason !== '' && { reason }),
        ...(lost !== '' && { evaluationError: lost }),
      },
    });
  };
}

function withoutKind({ status }: StatusError): StatusError {
  const { kind: _kind, name: _name, ...details } = status.details ?? {};
  return new StatusError({ ...status, details });
}

function rulesReview({ rbac, authorizers }: ReviewDeps): Action['handle'] {
  return async (_parts, request, served) => {
    const review = await bodyOf<KubeObject & { spec?: { namespace?: string } }>(request, served);
    const namespace = review.spec?.namespace ?? '';
    if (namespace === '') throw badRequest('no namespace on request');
    const rules = rbac?.rulesFor(request.user, namespace) ?? [];
    // Authorizers that decide case by case have no rules to show for those whom they know.
    const problem =
      authorizers.some(({ name }) => name === 'Node') && request.user.groups.includes('system:nodes')
        ? 'node authorizer does not support user rule resolution'
        : authorizers.find(({ hasNoRules }) => hasNoRules === true) &&
          'webhook authorizer does not support user rule resolution';
    const resourceRules = rules
      .filter((rule) => (rule.resources ?? []).length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        ...(apiGroups && { apiGroups }),
        ...(resources && { resources }),
        ...(resourceNames && resourceNames.length > 0 && { resourceNames }),
      }));
    const nonResourceRules = rules
      .filter((rule) => (rule.nonResourceURLs ?? []).length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }));
    return answer(served, {
      kind: review.kind,
      apiVersion: review.apiVersion,
      metadata: {},
      spec: {},
      status: {
        resourceRules,
        nonResourceRules,
        incomplete: problem !== undefined,
        ...(problem !== undefined && { evaluationError: problem }),
      },
    });
  };
}

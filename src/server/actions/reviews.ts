// Owns the kinds that are only asked: TokenReview, SelfSubjectReview and the access reviews.
import type { SubjectAccessReview, SubjectAccessReviewSpec } from '../../api/generated/authorization.v1.ts';
import type { TokenReview } from '../../api/generated/authentication.v1.ts';
import { badRequest, invalid } from '../../api/status-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Action } from '../action.ts';
import type { BearerTokens } from '../authn/bearer.ts';
import type { Attributes, Authorizer } from '../authz/authorizer.ts';
import type { Rbac } from '../authz/rbac.ts';
import type { ApiAnswer, ApiRequest, UserInfo } from '../request.ts';
import type { Served } from '../served/served.ts';
import { readResource } from '../verbs/body.ts';
import { timeText } from '../verbs/metadata.ts';
import { writeOptions } from '../verbs/options.ts';

const authentication = 'authentication.k8s.io';
const authorization = 'authorization.k8s.io';

async function bodyOf<T>(request: ApiRequest, served: Served): Promise<T & KubeObject> {
  const { fieldValidation } = writeOptions(request, 'CreateOptions');
  return (await readResource(request, served.resource, fieldValidation)) as unknown as T & KubeObject;
}

function answer(object: object): ApiAnswer {
  return { type: 'object', code: 201, object: freeze(object) as Frozen<object> };
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
    const review = await bodyOf<TokenReview>(request, served);
    const token = review.spec?.token ?? '';
    if (token === '') throw badRequest('token is required for TokenReview in authentication');
    const result = await tokens.check(token);
    const wanted = review.spec.audiences ?? [];
    const valid = result?.audiences ?? audiences;
    const asked = wanted.length > 0 ? wanted : audiences;
    const common = asked.filter((audience) => valid.includes(audience));
    const name = review.metadata.name;
    const status =
      result === undefined
        ? { user: {}, error: 'invalid bearer token' }
        : common.length === 0
          ? { user: {}, error: 'token audiences are not among those asked for' }
          : { authenticated: true, user: shownUser(result.user), audiences: common };
    return answer({ ...review, metadata: name === undefined ? {} : { name }, status });
  };
}

const selfSubjectReview: Action['handle'] = async (_parts, request, served) => {
  const review = await bodyOf<KubeObject>(request, served);
  return answer({
    kind: review.kind,
    apiVersion: review.apiVersion,
    metadata: { creationTimestamp: timeText(request.arrivedMs) },
    status: { userInfo: shownUser(request.user) },
  });
};

function accessReview({ authorizers }: ReviewDeps, whose: 'subject' | 'local' | 'self'): Action['handle'] {
  return async (_parts, request, served) => {
    const review = await bodyOf<SubjectAccessReview>(request, served);
    const spec = (review.spec ??= {} as SubjectAccessReviewSpec);
    const errors = checkSpec(spec, whose, request.info.namespace);
    if (errors.length > 0) throw invalid(served.resource, '', errors);
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
    let decision: 'allow' | 'deny' | 'no opinion' = 'no opinion';
    let reason = '';
    for (const authorizer of authorizers) {
      decision = await authorizer.decide(attributes);
      if (decision === 'no opinion') continue;
      reason = authorizer.reason?.(attributes) ?? '';
      break;
    }
    return answer({
      ...review,
      metadata: whose === 'local' ? review.metadata : {},
      status: {
        allowed: decision === 'allow',
        ...(decision === 'deny' && { denied: true }),
        ...(reason !== '' && { reason }),
      },
    });
  };
}

function checkSpec(spec: SubjectAccessReviewSpec, whose: string, namespace: string): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined)
    errors.push(
      fieldError.invalid(
        'spec.nonResourceAttributes',
        nonResourceAttributes,
        'cannot be specified in combination with resourceAttributes',
      ),
    );
  if (resourceAttributes === undefined && nonResourceAttributes === undefined)
    errors.push(
      fieldError.invalid(
        'spec.resourceAttributes',
        null,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    );
  if (whose !== 'self' && (spec.user ?? '') === '' && (spec.groups ?? []).length === 0)
    errors.push(fieldError.invalid('spec.user', '', 'at least one of user or group must be specified'));
  if (whose === 'local') {
    if ((resourceAttributes?.namespace ?? '') !== namespace)
      errors.push(
        fieldError.invalid(
          'spec.resourceAttributes.namespace',
          resourceAttributes?.namespace ?? '',
          'must match metadata.namespace',
        ),
      );
    if (nonResourceAttributes !== undefined)
      errors.push(
        fieldError.invalid('spec.nonResourceAttributes', nonResourceAttributes, 'disallowed on this kind of request'),
      );
  }
  return errors;
}

function attributesOf(
  { resourceAttributes, nonResourceAttributes }: SubjectAccessReviewSpec,
  user: UserInfo,
): Attributes {
  return {
    user,
    isResource: resourceAttributes !== undefined,
    verb: resourceAttributes?.verb ?? nonResourceAttributes?.verb ?? '',
    group: resourceAttributes?.group ?? '',
    version: resourceAttributes?.version ?? '',
    resource: resourceAttributes?.resource ?? '',
    subresource: resourceAttributes?.subresource ?? '',
    namespace: resourceAttributes?.namespace ?? '',
    name: resourceAttributes?.name ?? '',
    path: nonResourceAttributes?.path ?? '',
  };
}

function rulesReview({ rbac }: ReviewDeps): Action['handle'] {
  return async (_parts, request, served) => {
    const review = await bodyOf<KubeObject & { spec?: { namespace?: string } }>(request, served);
    const namespace = review.spec?.namespace ?? '';
    if (namespace === '') throw badRequest('no namespace on request');
    const rules = rbac?.rulesFor(request.user, namespace) ?? [];
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
    return answer({
      kind: review.kind,
      apiVersion: review.apiVersion,
      metadata: {},
      spec: {},
      status: { resourceRules, nonResourceRules, incomplete: false },
    });
  };
}

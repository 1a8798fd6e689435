// Owns serviceaccounts/token: tokens for an account, bound to a pod, a secret or a node if asked.
import type { TokenRequest } from '../../api/generated/authentication.v1.ts';
import type { Pod, Secret } from '../../api/generated/core.v1.ts';
import { badRequest, conflict, invalid, notFound } from '../../api/status-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { managedFieldsForUpdate } from '../../api/apply/update.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import { apiVersionOf, freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Action } from '../action.ts';
import { admitAction } from '../admission/action.ts';
import type { ServiceAccountTokens } from '../authn/service-account.ts';
import type { Parts } from '../parts.ts';
import { warn } from '../request.ts';
import { checkKind, readObject } from '../verbs/body.ts';
import { timeText } from '../verbs/metadata.ts';
import { checkNamespace } from '../verbs/create.ts';
import { writeOptions } from '../verbs/options.ts';

const kind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
const minSeconds = 600;
const maxSeconds = 2 ** 32;
/** What volume projections ask for: such tokens live longer than asked, for clients that do not reload them. */
const projectedSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;

interface Named {
  readonly name: string;
  readonly uid: string;
}

function named(object: Frozen<KubeObject>): Named {
  return { name: object.metadata.name, uid: object.metadata.uid ?? '' };
}

export function tokenRequestAction(tokens: ServiceAccountTokens): Action {
  return {
    group: '',
    resource: 'serviceaccounts',
    subresource: 'token',
    async handle(parts, request, served) {
      const options = writeOptions(request, 'CreateOptions');
      const { namespace, name } = request.info;
      const body = await readObject(request, options.fieldValidation, kind);
      if (body === undefined) throw badRequest('the request has no body');
      const wanted = checkKind(body, kind) as unknown as TokenRequest & KubeObject;
      const given = wanted.metadata as Partial<KubeObject['metadata']>;
      if (given.namespace) checkNamespace(given.namespace, namespace);
      if (given.name && given.name !== name)
        throw invalid(kind, name, [
          fieldError.invalid('metadata.name', given.name, 'must match the service account name if specified'),
        ]);
      await admitAction(parts, request, served, wanted, options.dryRun);
      const account = parts.catalog.cache('', 'serviceaccounts').get(`${namespace}/${name}`)?.object;
      if (account === undefined) throw notFound({ group: '', plural: 'serviceaccounts' }, name);
      if (given.uid && given.uid !== account.metadata.uid)
        throw conflict(
          { group: kind.group, plural: kind.kind },
          name,
          `the UID in the token request (${given.uid}) does not match the UID in record (${account.metadata.uid})`,
        );
      const spec = (wanted.spec ??= { audiences: [] } as unknown as TokenRequest['spec']);
      spec.expirationSeconds ??= 3600;
      // Noted before the audiences that go without saying: nobody set those.
      const managedFields = managedFieldsForUpdate({
        schema: schemaOf(apiVersionOf(kind), kind.kind)!,
        apiVersion: apiVersionOf(kind),
        nowMs: request.arrivedMs,
        subresource: 'token',
        convert: () => undefined,
        live: undefined,
        next: wanted as Frozen<KubeObject>,
        manager: options.fieldManager,
      });
      if ((spec.audiences ?? []).length === 0) spec.audiences = [...tokens.audiences];
      check(spec.expirationSeconds);
      const bound = boundObject(parts, spec, namespace, name);
      let seconds = spec.expirationSeconds;
      if (seconds > tokens.maxExpirationSeconds) {
        warn(request, `requested expiration of ${seconds} seconds shortened to ${tokens.maxExpirationSeconds} seconds`);
        seconds = tokens.maxExpirationSeconds;
      }
      const extended = seconds === projectedSeconds && spec.boundObjectRef?.kind === 'Pod';
      const nowMs = request.arrivedMs;
      const { token, id } = tokens.issue({
        bound: {
          namespace,
          serviceaccount: named(account),
          ...bound,
          ...(extended && { warnafter: Math.floor(nowMs / 1000) + seconds }),
        },
        audiences: spec.audiences,
        expirationSeconds: extended ? extendedSeconds : seconds,
      });
      (request.annotations ??= new Map()).set('authentication.kubernetes.io/issued-credential-id', `JTI=${id}`);
      spec.expirationSeconds = seconds;
      const answer = {
        ...wanted,
        metadata: {
          ...(given.labels && { labels: given.labels }),
          ...(given.annotations && { annotations: given.annotations }),
          name,
          namespace,
          uid: account.metadata.uid,
          creationTimestamp: timeText(nowMs),
          ...(managedFields !== undefined && { managedFields }),
        },
        status: { token, expirationTimestamp: timeText(nowMs + seconds * 1000) },
      };
      return { type: 'object', code: 201, object: freeze(answer) as unknown as Frozen<object>, served };
    },
  };
}

function check(seconds: number): void {
  const errors: FieldError[] = [];
  if (seconds < minSeconds)
    errors.push(
      fieldError.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes'),
    );
  if (seconds > maxSeconds)
    errors.push(
      fieldError.invalid('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    );
  if (errors.length > 0) throw invalid(kind, '', errors);
}

function boundObject(
  parts: Parts,
  spec: TokenRequest['spec'],
  namespace: string,
  account: string,
): { pod?: Named; secret?: Named; node?: Named } {
  const reference = spec.boundObjectRef;
  if (reference === undefined || reference === null) return {};
  const name = reference.name ?? '';
  const find = (plural: string, key: string): Frozen<KubeObject> => {
    const object = parts.catalog.cache('', plural).get(key)?.object;
    if (object === undefined) throw notFound({ group: '', plural }, name);
    if (reference.uid && reference.uid !== object.metadata.uid)
      throw conflict(
        // Upstream names the kind here, not the resource.
        { group: '', plural: reference.kind ?? '' },
        name,
        `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    return object;
  };
  if (name === '') throw badRequest('the bound object reference names no object');
  // Only the group of the version counts.
  if (!(reference.apiVersion ?? '').includes('/'))
    switch (reference.kind) {
      case 'Pod': {
        const pod = find('pods', `${namespace}/${name}`) as Frozen<KubeObject & Pod>;
        const runsAs = pod.spec?.serviceAccountName;
        if (runsAs !== account)
          throw badRequest(
            `cannot bind token for serviceaccount "${account}" to pod "${name}" running with different serviceaccount name`,
          );
        const nodeName = pod.spec?.nodeName;
        const node = nodeName ? parts.catalog.cache('', 'nodes').get(nodeName)?.object : undefined;
        return {
          pod: named(pod),
          ...(nodeName && { node: node === undefined ? { name: nodeName, uid: '' } : named(node) }),
        };
      }
      case 'Secret':
        return { secret: named(find('secrets', `${namespace}/${name}`) as Frozen<KubeObject & Secret>) };
      case 'Node':
        return { node: named(find('nodes', name)) };
    }
  throw badRequest(
    `cannot bind token for serviceaccount ${namespace} to object kind: ${reference.apiVersion ?? ''}, Kind=${reference.kind ?? ''}`,
  );
}

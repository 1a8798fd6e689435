// Owns what an expression of admission sees of a request: the values of its variables, made when they are looked at.
import type { Decide } from '../../../api/cel/library/authorizer.ts';
import { CelAccess } from '../../../api/cel/library/authorizer.ts';
import type { CelMap, CelValue } from '../../../api/cel/values.ts';
import { fromJson } from '../../../api/cel/values.ts';
import { apiVersionOf } from '../../../api/meta.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import { internalError } from '../../../api/status-error.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import { allowed } from '../../authz/authorizer.ts';
import type { Parts } from '../../parts.ts';
import type { Served } from '../../served/served.ts';
import type { UserInfo } from '../../request.ts';
import { whenRead } from '../../verbs/versions.ts';
import type { AdmissionRequest } from '../admission.ts';

export type Variables = (name: string) => CelValue | undefined;

/**
 * The request as rules of the version `as` see it. Where a webhook converts, its objects are converted for these rules (and are of
 * no use for anything else); else it is the same request, and `seenAs` converts what is looked at.
 */
export function viewedAs(as: Served, request: AdmissionRequest): AdmissionRequest | Promise<AdmissionRequest> {
  const { conversion } = as.resource;
  const to = apiVersionOf(as.resource);
  const differs = (object: Frozen<KubeObject> | undefined): boolean => object !== undefined && object.apiVersion !== to;
  const { object, oldObject } = request;
  if (conversion?.calls !== true || !(differs(object as Frozen<KubeObject> | undefined) || differs(oldObject)))
    return request;
  const converted = async (one: Frozen<KubeObject> | undefined): Promise<KubeObject | undefined> =>
    one === undefined ? undefined : conversion.as(one, to);
  return Promise.all([converted(object as Frozen<KubeObject> | undefined), converted(oldObject)]).then(
    ([next, old]) => ({ ...request, object: next, oldObject: old as Frozen<KubeObject> | undefined }),
    (error: unknown) => {
      throw whenRead(error);
    },
  );
}

/** The object as the version `as` shows it. */
export function seenAs(as: Served, object: Frozen<KubeObject> | undefined): Frozen<KubeObject> | undefined {
  if (object === undefined) return object;
  const { conversion } = as.resource;
  if (conversion !== undefined) {
    const shown = conversion.show(object);
    if (shown === undefined)
      throw internalError(
        `${as.resource.kind}: rules of another version than the request's cannot be applied where a webhook converts`,
      );
    return shown;
  }
  if (as.resource.convert === undefined) return object;
  return as.resource.convert.fromStorage(object) as Frozen<KubeObject>;
}

function requestJson(request: AdmissionRequest, as: Served): Readonly<Record<string, unknown>> {
  const { served, subresource, user } = request;
  const kindOf = ({ resource }: Served) => ({ group: resource.group, version: resource.version, kind: resource.kind });
  const resourceOf = ({ resource }: Served) => ({
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
  });
  return {
    kind: kindOf(as),
    resource: resourceOf(as),
    ...(subresource !== '' && { subResource: subresource, requestSubResource: subresource }),
    requestKind: kindOf(served),
    requestResource: resourceOf(served),
    ...(request.name !== '' && { name: request.name }),
    ...(request.namespace !== '' && { namespace: request.namespace }),
    operation: request.operation,
    userInfo: {
      username: user.name,
      ...(user.uid !== undefined && { uid: user.uid }),
      groups: user.groups,
      ...(user.extra !== undefined && { extra: user.extra }),
    },
    dryRun: request.dryRun,
    ...(request.options !== undefined && { options: request.options }),
  };
}

/** Answers `authorizer...check()`. Authorizers far away cannot be asked within an expression: that is an error of the check. */
function decideFor(authorizers: readonly Authorizer[], asking: UserInfo): Decide {
  return (question, verb) => {
    const [, , namespace, name] = question.user?.split(':') ?? [];
    const user: UserInfo =
      question.user === undefined
        ? asking
        : {
            name: question.user,
            groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
          };
    const decision = allowed(authorizers, {
      user,
      verb,
      isResource: question.path === undefined,
      group: question.group ?? '',
      version: '*',
      resource: question.resource ?? '',
      subresource: question.subresource ?? '',
      namespace: question.namespace ?? '',
      name: question.name ?? '',
      path: question.path ?? '',
    });
    if (decision instanceof Promise) {
      decision.catch(() => undefined);
      return { allowed: false, reason: '', error: `whether ${name ?? user.name} may ${verb} is not known here` };
    }
    return { allowed: decision, reason: '' };
  };
}

export function variablesFor(
  request: AdmissionRequest,
  as: Served,
  parts: Parts,
  authorizers: readonly Authorizer[],
): Variables {
  const made = new Map<string, CelValue>();
  const make = (name: string): CelValue | undefined => {
    switch (name) {
      case 'object':
        return fromJson(seenAs(as, request.object as Frozen<KubeObject> | undefined) ?? null);
      case 'oldObject':
        return fromJson(seenAs(as, request.oldObject) ?? null);
      case 'request':
        return fromJson(requestJson(request, as));
      case 'namespaceObject':
        return fromJson(
          request.namespace === ''
            ? null
            : (parts.catalog.cache('', 'namespaces').get(request.namespace)?.object ?? null),
        );
      case 'authorizer':
        return new CelAccess(decideFor(authorizers, request.user));
      case 'authorizer.requestResource':
        return new CelAccess(
          decideFor(authorizers, request.user),
          {
            group: request.served.resource.group,
            resource: request.served.resource.plural,
            subresource: request.subresource,
            namespace: request.namespace,
            name: request.name,
          },
          'kubernetes.authorization.ResourceCheck',
        );
      default:
        return undefined;
    }
  };
  return (name) => {
    let value = made.get(name);
    if (value === undefined && (value = make(name)) !== undefined) made.set(name, value);
    return value;
  };
}

/** Composed variables: each worked out once, when it is first looked at; its failure is told each time. */
export class ComposedVariables implements CelMap {
  readonly kind = 'map';
  readonly structName = 'kubernetes.variables';
  readonly #make: ReadonlyMap<string, () => CelValue>;
  readonly #made = new Map<string, { readonly value: CelValue } | { readonly error: unknown }>();
  constructor(make: ReadonlyMap<string, () => CelValue>) {
    this.#make = make;
  }
  get size(): number {
    return this.#make.size;
  }
  keys(): Iterable<CelValue> {
    return this.#make.keys();
  }
  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return undefined;
    let result = this.#made.get(key);
    if (result === undefined) {
      const make = this.#make.get(key);
      if (make === undefined) return undefined;
      try {
        result = { value: make() };
      } catch (error) {
        result = { error };
      }
      this.#made.set(key, result);
    }
    if ('error' in result) throw result.error;
    return result.value;
  }
}

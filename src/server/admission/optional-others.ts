// Owns the other plugins that are off by default: external IPs, owners, namespaces made on demand, event floods.
import type { Service } from '../../api/generated/core.v1.ts';
import { forbidden, isAlreadyExists, notFound, statusError } from '../../api/status-error.ts';
import { freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import { allowed } from '../authz/authorizer.ts';
import { recordNewByServer } from '../verbs/field-managers.ts';
import { fillNew } from '../verbs/metadata.ts';
import { same } from '../verbs/equal.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit' };

export const alwaysDenyAdmission: AdmissionPlugin = {
  name: 'AlwaysDeny',
  validate({ served, name }) {
    throw forbidden(served.resource, name, 'admission control is denying all modifications');
  },
};

/** Whoever sets an external IP draws other people's traffic: only those that are there already may stay. */
export const denyServiceExternalIPs: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  validate({ served, subresource, operation, object, oldObject, name }) {
    if (served.resource.group !== '' || served.resource.plural !== 'services' || subresource !== '') return;
    if (operation !== 'CREATE' && operation !== 'UPDATE') return;
    const before = new Set((oldObject as Frozen<KubeObject & Service> | undefined)?.spec?.externalIPs ?? []);
    for (const address of (object as Frozen<KubeObject & Service>).spec?.externalIPs ?? [])
      if (!before.has(address))
        throw forbidden(served.resource, name, 'use of external IPs is denied by admission control');
  },
};

export const namespaceExists: AdmissionPlugin = {
  name: 'NamespaceExists',
  validate({ namespace, operation, served }, parts) {
    if (namespace === '' || operation === 'DELETE' || served.resource.plural === 'namespaces') return;
    if (parts.catalog.cache('', 'namespaces').get(namespace) === undefined)
      throw notFound({ group: '', plural: 'namespaces' }, namespace);
  },
};

export const namespaceAutoProvision: AdmissionPlugin = {
  name: 'NamespaceAutoProvision',
  async admit(request, parts) {
    const { namespace, operation, served, dryRun } = request;
    if (namespace === '' || operation !== 'CREATE' || served.resource.plural === 'namespaces' || dryRun) return;
    const collection = parts.catalog.stored('', 'namespaces')!.collection!;
    if (collection.cache.get(namespace) !== undefined) return;
    const object = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { 'kubernetes.io/metadata.name': namespace } },
    } as unknown as KubeObject;
    fillNew(object, parts.random, request.source.arrivedMs);
    recordNewByServer(parts.catalog.stored('', 'namespaces')!, object, request.source.arrivedMs);
    Object.assign(object, { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } });
    try {
      await parts.objects.create(collection, namespace, freeze(collection.codec.canonical(object)) as KubeObject);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  },
};

/** Who changes owners must be able to delete what is owned, and to block the deletion of an owner that it says must wait. */
export function ownerReferencesPermissionEnforcement(authorizers: readonly Authorizer[]): AdmissionPlugin {
  const may = (
    request: AdmissionRequest,
    verb: string,
    about: { group: string; resource: string; subresource: string; namespace: string; name: string },
  ) => allowed(authorizers, { user: request.user, verb, isResource: true, version: '*', path: '', ...about });
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    async validate(request, parts) {
      const { object, oldObject, served, operation } = request;
      if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return;
      const owners = object.metadata.ownerReferences ?? [];
      const before = oldObject?.metadata.ownerReferences ?? [];
      if (operation === 'UPDATE' && !same(owners, before)) {
        const { group, plural } = served.resource;
        const about = { group, resource: plural, subresource: '', namespace: request.namespace, name: request.name };
        if (!(await may(request, 'delete', about)))
          throw forbidden(served.resource, request.name, 'cannot set an ownerRef on a resource you cannot delete');
      }
      for (const owner of owners) {
        if (owner.blockOwnerDeletion !== true) continue;
        if (before.some((known) => known.uid === owner.uid && known.blockOwnerDeletion === true)) continue;
        const [group, version] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : ['', owner.apiVersion];
        const kind = parts.catalog.kind(group!, version!, owner.kind);
        const refuse = (): Error =>
          forbidden(
            served.resource,
            request.name,
            `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on`,
          );
        if (kind === undefined) throw refuse();
        const about = {
          group: group!,
          resource: kind.resource.plural,
          subresource: 'finalizers',
          namespace: kind.resource.namespaced ? request.namespace : '',
          name: owner.name,
        };
        if (!(await may(request, 'update', about))) throw refuse();
      }
    },
  };
}

export interface EventLimit {
  readonly type: 'Server' | 'Namespace' | 'User' | 'SourceAndObject';
  readonly qps: number;
  readonly burst: number;
  readonly cacheSize?: number;
}

const limitTypes: readonly unknown[] = ['Server', 'Namespace', 'User', 'SourceAndObject'];

/** Throws for limits that are none. */
export function eventLimits(config: Readonly<Record<string, unknown>> | undefined): readonly EventLimit[] {
  const limits = config?.['limits'];
  if (!Array.isArray(limits) || limits.length === 0)
    throw new Error('EventRateLimit needs a configuration with limits');
  for (const { type, qps, burst, cacheSize } of limits as Partial<Record<keyof EventLimit, unknown>>[]) {
    if (!limitTypes.includes(type)) throw new Error(`EventRateLimit: there is no type ${String(type)}`);
    for (const [name, value] of Object.entries({ qps, burst }))
      if (typeof value !== 'number' || !(value > 0)) throw new Error(`EventRateLimit: ${name} must be positive`);
    if (cacheSize !== undefined && (typeof cacheSize !== 'number' || cacheSize < 0))
      throw new Error('EventRateLimit: cacheSize must not be negative');
  }
  return limits as EventLimit[];
}

/** Token buckets for events: for all, by namespace, by user, by source and object. */
export function eventRateLimit(limits: readonly EventLimit[]): AdmissionPlugin {
  const buckets = limits.map(() => new Map<string, { tokens: number; atMs: number }>());
  const keyOf = ({ type }: EventLimit, { namespace, user, object }: AdmissionRequest): string => {
    if (type === 'Server') return '';
    if (type === 'Namespace') return namespace;
    if (type === 'User') return user.name;
    const { source, involvedObject } = object as unknown as { source?: unknown; involvedObject?: unknown };
    return JSON.stringify([source, involvedObject]);
  };
  return {
    name: 'EventRateLimit',
    validate(request, parts) {
      if (request.served.resource.plural !== 'events' || request.dryRun) return;
      if (request.operation !== 'CREATE' && request.operation !== 'UPDATE') return;
      const now = parts.clock.now();
      let refused = false;
      limits.forEach((limit, at) => {
        const held = buckets[at]!;
        const key = keyOf(limit, request);
        const bucket = held.get(key) ?? { tokens: limit.burst, atMs: now };
        held.delete(key);
        bucket.tokens = Math.min(limit.burst, bucket.tokens + ((now - bucket.atMs) / 1000) * limit.qps);
        bucket.atMs = now;
        if (bucket.tokens < 1) refused = true;
        else bucket.tokens--;
        held.set(key, bucket);
        if (held.size > (limit.cacheSize ?? 4096)) held.delete(held.keys().next().value!);
      });
      if (refused) throw statusError('TooManyRequests', 'limit reached on type of event');
    },
  };
}

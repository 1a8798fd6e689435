// Owns ResourceQuota: what is made in a namespace is counted against its quotas before it is stored; what would go beyond is refused.
import type { Pod, ResourceQuota } from '../../api/generated/core.v1.ts';
import { quotaMatches, quotaUsage } from '../../api/judge/quota-usage.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantities,
  zero,
} from '../../api/quantity.ts';
import { forbidden } from '../../api/status-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import { recordServerWrite } from '../verbs/field-managers.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { limitedResources, uncovered } from './resource-quota-limits.ts';
import type { LimitedResource } from './resource-quota-limits.ts';

type Quota = Frozen<KubeObject & ResourceQuota>;
type Amounts = Map<string, Quantity>;

/** Only more use is checked: what is given back is counted by the controller. */
function deltaOf({ served, object, oldObject }: AdmissionRequest): Amounts {
  const after = quotaUsage(served.resource, object as Frozen<KubeObject>);
  if (oldObject === undefined) return after;
  const before = quotaUsage(served.resource, oldObject);
  const delta: Amounts = new Map();
  for (const [name, amount] of after) {
    const more = subtractQuantities(amount, before.get(name) ?? zero);
    if (compareQuantities(more, zero) > 0) delta.set(name, more);
  }
  return delta;
}

function text(names: readonly string[], amounts: Amounts): string {
  return names.map((name) => `${name}=${formatQuantity(amounts.get(name) ?? zero)}`).join(',');
}

/** The quota with `delta` added to its use; undefined when it does not concern it. Throws Forbidden when it is too much. */
function charged(quota: Quota, delta: Amounts, refuse: (why: string) => Error): KubeObject | undefined {
  const hard = quota.status?.hard;
  if (hard === undefined) return undefined;
  const concerned = [...delta.keys()].filter((name) => hard[name] !== undefined).sort();
  if (concerned.length === 0) return undefined;
  const used: Amounts = new Map();
  const limits: Amounts = new Map();
  const missing: string[] = [];
  for (const name of concerned) {
    const now = quota.status?.used?.[name];
    if (now === undefined) missing.push(name);
    else used.set(name, parseQuantity(now));
    limits.set(name, parseQuantity(hard[name]!));
  }
  if (missing.length > 0)
    throw refuse(`status unknown for quota: ${quota.metadata.name}, resources: ${missing.join(',')}`);
  const sum = (name: string): Quantity => addQuantities(used.get(name)!, delta.get(name)!);
  const exceeded = concerned.filter((name) => compareQuantities(sum(name), limits.get(name)!) > 0);
  if (exceeded.length > 0)
    throw refuse(
      `exceeded quota: ${quota.metadata.name}, requested: ${text(exceeded, delta)}, used: ${text(exceeded, used)}, limited: ${text(exceeded, limits)}`,
    );
  const next = thaw(quota) as KubeObject & ResourceQuota;
  next.status!.used = { ...next.status!.used };
  for (const name of concerned) next.status!.used[name] = formatQuantity(sum(name));
  return next;
}

/** A quota on cpu or memory wants every container to say what it asks for. */
function unsaid(quota: Quota, request: AdmissionRequest): string[] {
  const { group, plural } = request.served.resource;
  if (group !== '' || plural !== 'pods' || request.operation !== 'CREATE') return [];
  const { spec } = request.object as unknown as Frozen<Pod>;
  // What a pod says as a whole it says for its containers, as upstream takes it.
  if (Object.keys({ ...spec?.resources?.requests, ...spec?.resources?.limits }).length > 0) return [];
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const says = (side: 'requests' | 'limits', what: string): boolean =>
    containers.every(({ resources }) => resources?.[side]?.[what] !== undefined);
  return Object.keys(quota.status?.hard ?? {}).filter((name) => {
    const match = /^(?:(requests|limits)\.)?(cpu|memory)$/.exec(name);
    return match !== null && !says((match[1] ?? 'requests') as 'requests' | 'limits', match[2]!);
  });
}

/** What is made or changed in a namespace; of the parts of objects, the sizes of pods. */
function isCounted({ operation, namespace, subresource, served, object }: AdmissionRequest): boolean {
  const isResize = served.resource.group === '' && served.resource.plural === 'pods' && subresource === 'resize';
  return (
    namespace !== '' &&
    (subresource === '' || isResize) &&
    object !== undefined &&
    (operation === 'CREATE' || operation === 'UPDATE')
  );
}

const quotasIn = ({ catalog }: Parts, namespace: string): readonly Entry[] =>
  catalog.cache('', 'resourcequotas').select({ type: 'namespace', namespace }, undefined);

async function check(request: AdmissionRequest, parts: Parts, limited: readonly LimitedResource[]): Promise<void> {
  const { namespace, served, object, name, dryRun } = request;
  const { group, plural } = served.resource;
  const refuse = (why: string) => forbidden({ group, plural }, name, why);
  const matched: Quota[] = [];
  const charges: { readonly key: string; readonly delta: Amounts }[] = [];
  // All are looked at before any is charged: most refusals leave nothing behind.
  for (const entry of quotasIn(parts, namespace)) {
    const quota = entry.object as Quota;
    if (!quotaMatches(quota, served.resource, object as Frozen<KubeObject>)) continue;
    matched.push(quota);
    const { oldObject } = request;
    const wasCounted = oldObject !== undefined && quotaMatches(quota, served.resource, oldObject);
    // What moves into a quota's scope counts there as new.
    const delta = deltaOf(wasCounted ? request : { ...request, oldObject: undefined });
    const silent = unsaid(quota, request);
    if (silent.length > 0)
      throw refuse(`failed quota: ${quota.metadata.name}: must specify ${silent.sort().join(',')}`);
    if (charged(quota, delta, refuse) !== undefined) charges.push({ key: entry.key, delta });
  }
  if (limited.length > 0) refuseUncovered(request, matched, limited, refuse);
  if (dryRun) return;
  const done: typeof charges = [];
  try {
    for (const { key, delta } of charges) {
      await charge(parts, key, (newest) => charged(newest, delta, refuse));
      done.push({ key, delta });
    }
  } catch (error) {
    for (const { key, delta } of done) await charge(parts, key, (newest) => refunded(newest, delta));
    throw error;
  }
}

function refuseUncovered(
  request: AdmissionRequest,
  matched: readonly Quota[],
  limited: readonly LimitedResource[],
  refuse: (why: string) => Error,
): void {
  const { served, object } = request;
  const open = uncovered(limited, served.resource, object as Frozen<KubeObject>, deltaOf(request), matched);
  if (open.amounts.length > 0) throw refuse(`insufficient quota to consume: ${open.amounts.join(',')}`);
  if (open.scopes.length > 0) throw refuse(`insufficient quota to match these scopes: ${open.scopes.join(',')}`);
}

/** Compared and stored, as often as others are faster: two requests never share the last of a quota. */
async function charge(parts: Parts, key: string, change: (newest: Quota) => KubeObject | undefined): Promise<void> {
  const served = parts.catalog.stored('', 'resourcequotas')!;
  const quotas = served.collection!;
  await parts.objects.update(quotas, key, (newest) => {
    const next = change(newest.object as Quota);
    if (next === undefined) return newest.object;
    recordServerWrite(served, newest.object, next, 'status', parts.clock.now());
    return freeze(quotas.codec.canonical(next));
  });
}

/** What another quota refused is given back. */
function refunded(quota: Quota, delta: Amounts): KubeObject | undefined {
  const used = quota.status?.used;
  if (used === undefined) return undefined;
  const next = thaw(quota) as KubeObject & ResourceQuota;
  next.status!.used = { ...used };
  for (const [name, amount] of delta) {
    if (used[name] === undefined || quota.status?.hard?.[name] === undefined) continue;
    const left = subtractQuantities(parseQuantity(used[name]), amount);
    next.status!.used[name] = formatQuantity(compareQuantities(left, zero) < 0 ? zero : left);
  }
  return next;
}

/** The last of the plugins: nothing may refuse after it has counted. */
export function resourceQuota(config: Readonly<Record<string, unknown>> | undefined): AdmissionPlugin {
  const limited = limitedResources(config);
  return {
    name: 'ResourceQuota',
    concerns: (request, parts) =>
      isCounted(request) && (limited.length > 0 || quotasIn(parts, request.namespace).length > 0),
    validate: (request, parts) => check(request, parts, limited),
  };
}

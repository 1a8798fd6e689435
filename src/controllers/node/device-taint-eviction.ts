// Owns deleting pods whose allocated devices have NoExecute taints that their claims do not, or no longer, tolerate (KEP-5055).
import { withCondition } from '../../api/judge/conditions.ts';
import { toleratedSeconds } from '../../api/judge/taints.ts';
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type {
  DeviceRequestAllocationResult,
  DeviceTaint,
  DeviceTaintRule,
  ResourceClaim,
} from '../../api/generated/resource.v1.ts';
import { deviceTaintRules, pods, resourceClaims, resourceSlices } from '../../api/generated/resources.ts';
import { isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { millisOf, timeOf } from '../../api/time.ts';
import { type Again, type Controller, type ControllerContext, watching } from '../framework/controller.ts';
import { disruptionPatch, endPod } from '../framework/disruption-target.ts';

type Result = Frozen<DeviceRequestAllocationResult>;

const why = {
  reason: 'DeletionByDeviceTaintManager',
  message: 'Device Taint manager: deleting due to NoExecute taint',
};
const podIndex = 'consumer';
const poolIndex = 'pool';
/** Keys of rules, in a queue whose other keys are pods. */
const rulePrefix = 'rule:';

interface Eviction {
  readonly atMs: number;
  /** Uids of the rules that ask for it. */
  readonly rules: ReadonlySet<string>;
}

/** Empty selectors match all; one without any criterion matches nothing. */
export function ruleMatches({ spec }: Frozen<DeviceTaintRule>, { driver, pool, device }: Result): boolean {
  const wanted = spec.deviceSelector;
  if (wanted === undefined) return false;
  const fits = (value: string | undefined, actual: string) => value === undefined || value === actual;
  return fits(wanted.driver, driver) && fits(wanted.pool, pool) && fits(wanted.device, device);
}

/** When a device must be left because of the taint; infinity when the claim tolerates it. */
function leaveAtMs(taint: Frozen<DeviceTaint>, { tolerations }: Result, sinceMs: number): number {
  if (taint.effect !== 'NoExecute') return Number.POSITIVE_INFINITY;
  return sinceMs + (toleratedSeconds([taint as never], tolerations as never) ?? 0) * 1000;
}

export function deviceTaintEvictionController(context: ControllerContext): Controller {
  const { clock } = context;
  const podCache = context.informers.informer(pods);
  const claims = context.informers.informer(resourceClaims);
  const slices = context.informers.informer(resourceSlices);
  const rules = context.informers.informer(deviceTaintRules);
  const podWriter = context.informers.writer(pods);
  const ruleWriter = context.informers.writer(deviceTaintRules);
  const recorder = context.events.recorder('device-taint-eviction-controller');
  /** Rule's uid → uids of the pods that went because of it, since this process began. */
  const evicted = new Map<string, Set<string>>();
  const poolOf = ({ driver, pool }: { readonly driver: string; readonly pool: string }) => `${driver}/${pool}`;
  claims.addIndex(podIndex, ({ status }) => (status?.reservedFor ?? []).map(({ uid }) => uid));
  claims.addIndex(poolIndex, (claim) => resultsOf(claim).map(poolOf));
  slices.addIndex(poolIndex, ({ spec }) => [poolOf({ driver: spec.driver, pool: spec.pool.name })]);

  function taintsOf(result: Result): { taint: Frozen<DeviceTaint>; sinceMs: number; rule?: string }[] {
    const own = slices
      .indexed(poolIndex, poolOf(result))
      .flatMap(({ spec, metadata }) =>
        (spec.devices ?? [])
          .filter(({ name }) => name === result.device)
          .flatMap(({ taints = [] }) =>
            taints.map((taint) => ({ taint, sinceMs: millisOf(taint.timeAdded ?? metadata.creationTimestamp ?? '') })),
          ),
      );
    const ruled = rules.list().flatMap((rule) => {
      const { taint } = rule.spec;
      if (!taint || isTerminating(rule) || !ruleMatches(rule, result)) return [];
      const sinceMs = millisOf(taint.timeAdded ?? rule.metadata.creationTimestamp ?? '');
      return [{ taint, sinceMs, rule: rule.metadata.uid }];
    });
    return [...own, ...ruled];
  }

  function evictionOf(pod: Frozen<Pod>): Eviction | undefined {
    let atMs = Number.POSITIVE_INFINITY;
    const asking = new Set<string>();
    for (const claim of claims.indexed(podIndex, pod.metadata.uid))
      for (const result of resultsOf(claim))
        for (const { taint, sinceMs, rule } of taintsOf(result)) {
          const leave = leaveAtMs(taint, result, sinceMs);
          if (leave === Number.POSITIVE_INFINITY) continue;
          atMs = Math.min(atMs, leave);
          if (rule !== undefined) asking.add(rule);
        }
    return atMs === Number.POSITIVE_INFINITY ? undefined : { atMs, rules: asking };
  }

  function consumers(claim: Frozen<ResourceClaim>): ObjectKey[] {
    const { namespace = '' } = claim.metadata;
    return (claim.status?.reservedFor ?? [])
      .filter(({ resource, apiGroup = '' }) => resource === 'pods' && apiGroup === '')
      .map(({ name }) => ({ namespace, name }));
  }

  const allRules = (): ObjectKey[] => rules.list().map(({ metadata }) => ruleKey(metadata.name));

  function* onRule(rule: Frozen<DeviceTaintRule>, previous?: Frozen<DeviceTaintRule>): Generator<ObjectKey> {
    if (previous && previous.metadata.generation === rule.metadata.generation) return;
    if (rules.get({ namespace: '', name: rule.metadata.name }) === undefined) evicted.delete(rule.metadata.uid);
    yield ruleKey(rule.metadata.name);
    for (const claim of claims.list()) if (resultsOf(claim).length > 0) yield* consumers(claim);
  }

  /** Says on a rule how far its evictions are. */
  async function noteRule(name: string, signal: AbortSignal): Promise<void> {
    const rule = rules.get({ namespace: '', name });
    if (!rule || rule.spec.taint?.effect !== 'NoExecute') return;
    const waiting = podCache
      .list()
      .filter((pod) => !isPodFinished(pod) && evictionOf(pod)?.rules.has(rule.metadata.uid));
    const count = waiting.length;
    const spaces = new Set(waiting.map(({ metadata }) => metadata.namespace)).size;
    const gone = evicted.get(rule.metadata.uid)?.size ?? 0;
    const plural = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`;
    const condition = {
      type: 'EvictionInProgress',
      status: count > 0 ? 'True' : 'False',
      reason: count > 0 ? 'PodsPendingEviction' : 'Completed',
      message:
        count > 0
          ? `${plural(count, 'pod')} ${count === 1 ? 'needs' : 'need'} to be evicted in ${plural(spaces, 'namespace')}.`
          : `${plural(gone, 'pod')} evicted since starting the controller.`,
      observedGeneration: rule.metadata.generation!,
    };
    const before = (rule.status?.conditions ?? []) as NonNullable<DeviceTaintRule['status']['conditions']>;
    const conditions = withCondition(before, condition, timeOf(clock.now()));
    if (conditions === before) return;
    await ruleWriter.updateStatus({ ...rule, status: { ...rule.status, conditions } } as DeviceTaintRule, { signal });
  }

  async function evict(pod: Frozen<Pod>, eviction: Eviction, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    recorder.event(pod, 'Normal', 'DeviceTaintManagerEviction', `Marking for deletion Pod ${namespace}/${name}`);
    const marked = disruptionPatch(pod, why, undefined, clock.now(), false);
    if (marked) {
      const metadata = { name, namespace, uid };
      const body = { apiVersion: 'v1', kind: 'Pod', metadata, status: marked };
      const fieldManager = 'device-taint-eviction-controller';
      await podWriter.patch(
        keyOf(pod),
        { type: 'apply', body },
        { subresource: 'status', fieldManager, force: true, signal },
      );
    }
    await endPod(podWriter, pod, undefined, undefined, signal);
    for (const rule of eviction.rules) {
      const known = evicted.get(rule) ?? new Set();
      evicted.set(rule, known.add(uid));
    }
  }

  return {
    name: 'device-taint-eviction-controller',
    watches: [
      watching(rules, onRule),
      watching(claims, (claim, previous) => [
        ...consumers(claim),
        ...(previous === undefined ? [] : consumers(previous)),
        ...(resultsOf(claim).length > 0 ? allRules() : []),
      ]),
      watching(slices, ({ spec }) =>
        claims.indexed(poolIndex, poolOf({ driver: spec.driver, pool: spec.pool.name })).flatMap(consumers),
      ),
      watching(podCache, (pod, previous) => {
        if (!pod.spec.resourceClaims?.length || (previous && isPodFinished(pod) === isPodFinished(previous))) return [];
        return [keyOf(pod), ...allRules()];
      }),
    ],
    async reconcile(key, signal): Promise<Again | undefined> {
      try {
        if (key.name.startsWith(rulePrefix)) {
          await noteRule(key.name.slice(rulePrefix.length), signal);
          return undefined;
        }
        const pod = podCache.get(key);
        if (!pod || isTerminating(pod) || isPodFinished(pod)) return undefined;
        const eviction = evictionOf(pod);
        if (eviction === undefined) return undefined;
        const leftMs = eviction.atMs - clock.now();
        if (leftMs > 0) return { afterMs: leftMs };
        await evict(pod, eviction, signal);
        return undefined;
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (isConflict(error)) return { afterMs: 100 };
        throw error;
      }
    },
  };
}

function ruleKey(name: string): ObjectKey {
  return { namespace: '', name: rulePrefix + name };
}

function resultsOf(claim: Frozen<ResourceClaim>): readonly Result[] {
  return claim.status?.allocation?.devices?.results ?? [];
}

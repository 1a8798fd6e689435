// Owns the decisions of the daemon set controller: which nodes run a pod, what is made and deleted, how an update goes on. Pure.
import { scaledValue } from '../../api/int-or-string.ts';
import { podSelectsNode } from '../../api/judge/node-selection.ts';
import { untolerated } from '../../api/judge/taints.ts';
import type { Frozen } from '../../api/meta.ts';
import type { DaemonSet, DaemonSetStatus } from '../../api/generated/apps.v1.ts';
import type { Node, Pod, PodSpec, Toleration } from '../../api/generated/core.v1.ts';
import { isPodAvailable, isPodReady, isTerminating } from '../../api/pod-readiness.ts';

/** Daemons stay on nodes in trouble (documentation: "DaemonSet, Taints and tolerations"). */
function daemonTolerations(spec: Frozen<PodSpec>): Toleration[] {
  const always: [key: string, effect: string][] = [
    ['node.kubernetes.io/not-ready', 'NoExecute'],
    ['node.kubernetes.io/unreachable', 'NoExecute'],
    ['node.kubernetes.io/disk-pressure', 'NoSchedule'],
    ['node.kubernetes.io/memory-pressure', 'NoSchedule'],
    ['node.kubernetes.io/pid-pressure', 'NoSchedule'],
    ['node.kubernetes.io/unschedulable', 'NoSchedule'],
  ];
  if (spec.hostNetwork) always.push(['node.kubernetes.io/network-unavailable', 'NoSchedule']);
  const given = (spec.tolerations ?? []).map((toleration) => ({ ...toleration }));
  const isGiven = (key: string, effect: string) =>
    given.some(
      (one) =>
        one.key === key && one.effect === effect && one.operator === 'Exists' && one.tolerationSeconds === undefined,
    );
  const added = always
    .filter(([key, effect]) => !isGiven(key, effect))
    .map(([key, effect]): Toleration => ({ key, operator: 'Exists', effect }));
  return [...given, ...added];
}

/** The pod is bound to its node by affinity, so that the scheduler still judges resources. */
export function daemonPodSpec(spec: Frozen<PodSpec>, nodeName: string): PodSpec {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }];
  return {
    ...(spec as PodSpec),
    tolerations: daemonTolerations(spec),
    affinity: {
      ...(spec.affinity as PodSpec['affinity']),
      nodeAffinity: {
        ...(spec.affinity?.nodeAffinity as NonNullable<PodSpec['affinity']>['nodeAffinity']),
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
      },
    },
  };
}

/** The node a daemon pod is for, also before it is bound. */
export function targetNode(pod: Frozen<Pod>): string {
  if (pod.spec.nodeName) return pod.spec.nodeName;
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  for (const { matchFields } of terms ?? [])
    for (const { key, operator, values } of matchFields ?? [])
      if (key === 'metadata.name' && operator === 'In' && values?.length === 1) return values[0]!;
  return '';
}

export interface Fitness {
  readonly shouldRun: boolean;
  readonly mayStay: boolean;
}

function fitness(daemonSet: Frozen<DaemonSet>, node: Frozen<Node>): Fitness {
  const spec = daemonSet.spec.template.spec as Frozen<PodSpec>;
  if (spec.nodeName && spec.nodeName !== node.metadata.name) return { shouldRun: false, mayStay: false };
  if (!podSelectsNode(spec, { name: node.metadata.name, labels: node.metadata.labels }))
    return { shouldRun: false, mayStay: false };
  const tolerations = daemonTolerations(spec);
  const taints = (node.spec.taints ?? []).filter(({ effect }) => effect !== 'PreferNoSchedule');
  if (!untolerated(taints, tolerations)) return { shouldRun: true, mayStay: true };
  const executes = untolerated(taints, tolerations, ({ effect }) => effect === 'NoExecute');
  return { shouldRun: false, mayStay: executes === undefined };
}

export interface Situation {
  readonly daemonSet: Frozen<DaemonSet>;
  readonly nodes: readonly Frozen<Node>[];
  readonly podsOf: ReadonlyMap<string, readonly Frozen<Pod>[]>;
  readonly isUpdated: (pod: Frozen<Pod>) => boolean;
  readonly nowMs: number;
}

export interface DaemonPlan {
  readonly create: readonly string[];
  readonly remove: readonly Frozen<Pod>[];
  /** Ended pods that are replaced, with back-off. */
  readonly failed: readonly Frozen<Pod>[];
}

const byAge = (a: Frozen<Pod>, b: Frozen<Pod>): number =>
  a.metadata.creationTimestamp < b.metadata.creationTimestamp
    ? -1
    : a.metadata.creationTimestamp > b.metadata.creationTimestamp
      ? 1
      : 0;

/** Brings each node to one pod or none, whatever template the pods have. */
export function planNodes(situation: Situation): DaemonPlan {
  const { daemonSet, nodes, podsOf, isUpdated, nowMs } = situation;
  const surge = updateBounds(situation).surge;
  const [create, remove, failed]: [string[], Frozen<Pod>[], Frozen<Pod>[]] = [[], [], []];
  const known = new Set<string>();
  for (const node of nodes) {
    known.add(node.metadata.name);
    const pods = podsOf.get(node.metadata.name) ?? [];
    const { shouldRun, mayStay } = fitness(daemonSet, node);
    if (!mayStay) {
      remove.push(...pods.filter((pod) => !isTerminating(pod)));
      continue;
    }
    const ended = pods.filter(
      (pod) => !isTerminating(pod) && ['Failed', 'Succeeded'].includes(pod.status?.phase ?? ''),
    );
    failed.push(...ended);
    const running = pods.filter((pod) => !ended.includes(pod)).sort(byAge);
    const alive = running.filter((pod) => !isTerminating(pod));
    if (pods.length === 0 && shouldRun) create.push(node.metadata.name);
    else if (ended.length === 0 && alive.length > 1)
      remove.push(...surplus(alive, surge > 0, isUpdated, daemonSet, nowMs));
  }
  for (const [name, pods] of podsOf)
    if (!known.has(name)) remove.push(...pods.filter((pod) => !isTerminating(pod) && !pod.spec.nodeName));
  return { create, remove, failed };
}

/** All but the oldest; while surging the oldest of the new template may stand beside the oldest of the old one until it is available. */
function surplus(
  alive: readonly Frozen<Pod>[],
  surges: boolean,
  isUpdated: (pod: Frozen<Pod>) => boolean,
  daemonSet: Frozen<DaemonSet>,
  nowMs: number,
): Frozen<Pod>[] {
  if (!surges) return alive.slice(1);
  const old = alive.find((pod) => !isUpdated(pod));
  const fresh = alive.find(isUpdated);
  const isDone = fresh && isPodAvailable(fresh, daemonSet.spec.minReadySeconds ?? 0, nowMs);
  return alive.filter((pod) => pod !== fresh && (pod !== old || isDone));
}

function updateBounds({ daemonSet, nodes }: Pick<Situation, 'daemonSet' | 'nodes'>): {
  surge: number;
  unavailable: number;
} {
  const { type, rollingUpdate } = daemonSet.spec.updateStrategy ?? {};
  if (type === 'OnDelete') return { surge: 0, unavailable: 0 };
  const desired = nodes.filter((node) => fitness(daemonSet, node).shouldRun).length;
  const surge = scaledValue(rollingUpdate?.maxSurge ?? 0, desired, true);
  const unavailable = scaledValue(rollingUpdate?.maxUnavailable ?? 1, desired, true);
  return { surge, unavailable: surge === 0 && unavailable === 0 && desired > 0 ? 1 : unavailable };
}

/** One step of a rolling update. Nodes without a pod, or with two, are the business of planNodes and count as unavailable. */
export function planUpdate(situation: Situation): DaemonPlan {
  const { daemonSet, nodes, podsOf, isUpdated, nowMs } = situation;
  const { surge, unavailable } = updateBounds(situation);
  const isAvailable = (pod: Frozen<Pod>) => isPodAvailable(pod, daemonSet.spec.minReadySeconds ?? 0, nowMs);
  const targets = nodes.filter((node) => fitness(daemonSet, node).shouldRun);
  const pairs = targets.map(({ metadata: { name } }) => {
    const alive = [...(podsOf.get(name) ?? [])].filter((pod) => !isTerminating(pod)).sort(byAge);
    return { name, old: alive.find((pod) => !isUpdated(pod)), fresh: alive.find(isUpdated) };
  });
  return surge > 0 ? planSurge(pairs, surge, isAvailable) : planReplacement(pairs, unavailable, isAvailable);
}

interface Pair {
  readonly name: string;
  readonly old: Frozen<Pod> | undefined;
  readonly fresh: Frozen<Pod> | undefined;
}

function planReplacement(
  pairs: readonly Pair[],
  unavailable: number,
  isAvailable: (pod: Frozen<Pod>) => boolean,
): DaemonPlan {
  let missing = 0;
  const broken: Frozen<Pod>[] = [];
  const candidates: Frozen<Pod>[] = [];
  for (const { old, fresh } of pairs) {
    if (old && !fresh) {
      if (isAvailable(old)) candidates.push(old);
      else {
        broken.push(old);
        missing++;
      }
    } else if (!fresh || old || !isAvailable(fresh)) missing++;
  }
  return { create: [], remove: [...broken, ...candidates.slice(0, Math.max(0, unavailable - missing))], failed: [] };
}

function planSurge(pairs: readonly Pair[], surge: number, isAvailable: (pod: Frozen<Pod>) => boolean): DaemonPlan {
  let surging = 0;
  const [urgent, candidates, done]: [string[], string[], Frozen<Pod>[]] = [[], [], []];
  for (const { name, old, fresh } of pairs) {
    if (!old) continue;
    if (!fresh) (isAvailable(old) ? candidates : urgent).push(name);
    else if (isAvailable(fresh)) done.push(old);
    else surging++;
  }
  return { create: [...urgent, ...candidates.slice(0, Math.max(0, surge - surging))], remove: done, failed: [] };
}

export function planStatus(situation: Situation): DaemonSetStatus {
  const { daemonSet, nodes, podsOf, isUpdated, nowMs } = situation;
  let [desired, current, misscheduled, ready, available, updated] = [0, 0, 0, 0, 0, 0];
  for (const node of nodes) {
    const pods = [...(podsOf.get(node.metadata.name) ?? [])].sort(byAge);
    const [oldest] = pods;
    if (!fitness(daemonSet, node).shouldRun) {
      if (oldest) misscheduled++;
      continue;
    }
    desired++;
    if (!oldest) continue;
    current++;
    if (isPodReady(oldest)) {
      ready++;
      if (isPodAvailable(oldest, daemonSet.spec.minReadySeconds ?? 0, nowMs)) available++;
    }
    if (isUpdated(oldest)) updated++;
  }
  const unavailable = desired - available;
  const { collisionCount, conditions } = daemonSet.status ?? {};
  return {
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: desired,
    numberReady: ready,
    observedGeneration: daemonSet.metadata.generation ?? 0,
    ...(updated > 0 && { updatedNumberScheduled: updated }),
    ...(available > 0 && { numberAvailable: available }),
    ...(unavailable > 0 && { numberUnavailable: unavailable }),
    ...(collisionCount !== undefined && { collisionCount }),
    ...(conditions && { conditions: conditions.map((condition) => ({ ...condition })) }),
  };
}

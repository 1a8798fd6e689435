// Owns DefaultPreemption: which less important pods would have to go so that this one fits, and asking them to. The plan is pure; the evictions run in the background.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/policy.v1.ts';
import { labelPredicate } from '../../api/selector.ts';
import { isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import type { ResourceClient } from '../../client/client.ts';
import { type Cycle, diagnosisMessage, type RefusedFilter } from '../framework/cycle.ts';
import { type Diagnosis, refusal, type SchedulerPlugin, type Snapshot, unresolvable } from '../framework/plugin.ts';
import type { NodeInfo } from '../node-info.ts';
import type { Nominator } from '../nominator.ts';
import type { PodInfo } from '../pod-info.ts';
import { filterNode } from '../schedule-pod.ts';
import { conditionOrder } from '../status-writer.ts';
import type { WaitingPods } from '../waiting-pods.ts';

export interface DefaultPreemptionArgs {
  /** Of the nodes, so many candidates are tried at least; default 10. */
  readonly minCandidateNodesPercentage?: number;
  /** Default 100. */
  readonly minCandidateNodesAbsolute?: number;
}

export interface DefaultPreemptionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: ResourceClient<Pod>;
  readonly nominator: Nominator;
  readonly waiting: WaitingPods;
  readonly budgets: (namespace: string) => readonly Frozen<PodDisruptionBudget>[];
  readonly run: (name: string, task: (signal: AbortSignal) => Promise<void>) => void;
  readonly preempted: (preemptor: PodInfo, nodeName: string, victims: readonly PodInfo[]) => void;
  readonly whenSynced: (signal: AbortSignal) => Promise<void>;
}

export interface Candidate {
  readonly node: NodeInfo;
  /** The most important first. */
  readonly victims: readonly PodInfo[];
  readonly violations: number;
}

const unhelpful = unresolvable('Preemption is not helpful for scheduling');
const noVictims = refusal('No preemption victims found for incoming pod');

export function defaultPreemption(
  deps: DefaultPreemptionDeps,
  args: DefaultPreemptionArgs = {},
): SchedulerPlugin<undefined> {
  let offset = 0;
  return {
    name: 'DefaultPreemption',
    start: (signal) => deps.whenSynced(signal),
    postFilter(cycle, diagnosis, all) {
      const why = notEligible(cycle.pod, diagnosis, all, deps.nominator);
      if (why !== undefined) return { message: `preemption: ${why}` };
      const limit = candidatesToTry(all.nodes.length, args);
      const { candidates, refused } = findCandidates(cycle, diagnosis, all, deps, limit, offset++);
      const best = pickCandidate(candidates, deps.clock.now());
      if (best === undefined) {
        const text = diagnosisMessage(all.nodes.length, { byNode: refused, absent: unhelpful, plugins: new Set() });
        return { message: `preemption: ${text}`, nominatedNodeName: '' };
      }
      evict(cycle.pod, best, deps);
      const count = best.victims.length;
      return {
        nominatedNodeName: best.node.name,
        message: `preemption: found a potential placement for pod on node ${best.node.name}, preempting ${count} victims`,
      };
    },
  };
}

function candidatesToTry(nodes: number, args: DefaultPreemptionArgs): number {
  const share = Math.trunc((nodes * (args.minCandidateNodesPercentage ?? 10)) / 100);
  return Math.min(nodes, Math.max(share, args.minCandidateNodesAbsolute ?? 100));
}

/** Why this pod may not preempt now; undefined: it may. */
function notEligible(pod: PodInfo, diagnosis: Diagnosis, all: Snapshot, nominator: Nominator): string | undefined {
  if (pod.pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  const name = nominator.nodeOf(pod.uid) ?? pod.pod.status?.nominatedNodeName;
  const node = name === undefined || name === '' ? undefined : all.node(name);
  if (node === undefined || diagnosis.byNode.get(node)?.refused.unresolvable === true) return undefined;
  // Room is about to become free there: wait for it.
  for (const other of node.pods.values())
    if (other.priority < pod.priority && other.terminating && wasPreempted(other))
      return 'not eligible due to a terminating pod on the nominated node.';
  return undefined;
}

function wasPreempted({ pod }: PodInfo): boolean {
  return (
    pod.status?.conditions?.some(
      ({ type, status, reason }) =>
        type === 'DisruptionTarget' && status === 'True' && reason === 'PreemptionByScheduler',
    ) ?? false
  );
}

function findCandidates(
  cycle: Cycle,
  diagnosis: Diagnosis,
  all: Snapshot,
  deps: DefaultPreemptionDeps,
  limit: number,
  offset: number,
): { candidates: Candidate[]; refused: Map<NodeInfo, RefusedFilter> } {
  const refused = new Map<NodeInfo, RefusedFilter>();
  const candidates: Candidate[] = [];
  const possible = [...diagnosis.byNode].filter(([, { refused: why }]) => !why.unresolvable).map(([node]) => node);
  for (const [node, { refused: why }] of diagnosis.byNode)
    if (why.unresolvable) refused.set(node, { plugin: 'DefaultPreemption', refused: unhelpful });
  for (let at = 0; at < possible.length && candidates.length < limit; at++) {
    const node = possible[(at + offset) % possible.length]!;
    const result = victimsOn(cycle, node, deps);
    if ('victims' in result) candidates.push(result);
    else refused.set(node, result);
  }
  // In the cluster's order, so that equals are decided the same way whatever the offset.
  const order = new Map(possible.map((node, at) => [node, at]));
  candidates.sort((a, b) => order.get(a.node)! - order.get(b.node)!);
  return { candidates, refused };
}

/** More important first, then who runs longer. */
function byImportance(a: PodInfo, b: PodInfo): number {
  return b.priority - a.priority || startOf(a, Infinity) - startOf(b, Infinity);
}

function startOf({ pod }: PodInfo, absent: number): number {
  const start = pod.status?.startTime;
  return start === undefined ? absent : Date.parse(start as unknown as string);
}

/** Takes all less important pods away, then lets as many come back as still leave room, the important ones first. */
function victimsOn(cycle: Cycle, node: NodeInfo, deps: DefaultPreemptionDeps): Candidate | RefusedFilter {
  const { pod } = cycle;
  const potential = [...node.pods.values()].filter(({ priority }) => priority < pod.priority);
  if (potential.length === 0) return { plugin: 'DefaultPreemption', refused: noVictims };
  const trial = cycle.clone();
  const copy = node.clone();
  for (const other of potential) trial.removePod(other, copy);
  const why = filterNode(trial, copy, deps.nominator);
  if (why !== undefined) return why;
  const { violating, rest } = splitByBudget(potential.toSorted(byImportance), deps.budgets);
  const victims: PodInfo[] = [];
  const reprieve = (other: PodInfo): boolean => {
    trial.addPod(other, copy);
    if (filterNode(trial, copy, deps.nominator) === undefined) return true;
    trial.removePod(other, copy);
    victims.push(other);
    return false;
  };
  const violations = violating.filter((other) => !reprieve(other)).length;
  for (const other of rest) reprieve(other);
  return { node, victims: victims.toSorted(byImportance), violations };
}

function splitByBudget(
  pods: readonly PodInfo[],
  budgetsOf: DefaultPreemptionDeps['budgets'],
): { violating: PodInfo[]; rest: PodInfo[] } {
  const left = new Map<Frozen<PodDisruptionBudget>, number>();
  const violating: PodInfo[] = [];
  const rest: PodInfo[] = [];
  for (const pod of pods) {
    let violates = false;
    for (const budget of Object.keys(pod.labels).length === 0 ? [] : budgetsOf(pod.namespace)) {
      if (!labelPredicate(budget.spec.selector)(pod.labels)) continue;
      // Already on its way out with the budget's consent.
      if (budget.status?.disruptedPods?.[pod.name] !== undefined) continue;
      const allowed = (left.get(budget) ?? budget.status?.disruptionsAllowed ?? 0) - 1;
      left.set(budget, allowed);
      if (allowed < 0) violates = true;
    }
    (violates ? violating : rest).push(pod);
  }
  return { violating, rest };
}

/** The criteria one after another; the first of equals. */
function pickCandidate(candidates: readonly Candidate[], nowMs: number): Candidate | undefined {
  const highest = ({ victims }: Candidate) => victims[0]?.priority ?? -Infinity;
  const earliest = (candidate: Candidate) =>
    Math.min(
      ...candidate.victims.filter(({ priority }) => priority === highest(candidate)).map((pod) => startOf(pod, nowMs)),
    );
  // Every victim weighs something, however low its priority.
  const sum = ({ victims }: Candidate) => victims.reduce((total, { priority }) => total + priority + 2 ** 31, 0);
  const criteria: ((candidate: Candidate) => number)[] = [
    ({ violations }) => violations,
    highest,
    sum,
    ({ victims }) => victims.length,
    (candidate) => -earliest(candidate),
  ];
  let left = candidates;
  for (const criterion of criteria) {
    if (left.length <= 1) break;
    const values = left.map(criterion);
    const lowest = Math.min(...values);
    left = left.filter((_, at) => values[at] === lowest);
  }
  return left[0];
}

function evict(preemptor: PodInfo, { node, victims }: Candidate, deps: DefaultPreemptionDeps): void {
  deps.preempted(preemptor, node.name, victims);
  // Less important pods that were promised this node must look for another.
  const outdone = deps.nominator
    .on(node.name)
    .filter(({ priority, uid }) => priority < preemptor.priority && uid !== preemptor.uid);
  for (const { uid } of outdone) deps.nominator.remove(uid);
  deps.run('preemption', async (signal) => {
    for (const { namespace, name } of outdone)
      await ignoringGone(
        deps.pods.patch(
          { namespace, name },
          { type: 'strategic', body: { status: { nominatedNodeName: null } } },
          { subresource: 'status', fieldManager: 'kube-scheduler', signal },
        ),
      );
    try {
      await Promise.all(victims.map((victim) => evictOne(preemptor, victim, deps, signal)));
    } catch (error) {
      if (signal.aborted) throw error;
      // The promise is void: the pod is tried again when something else changes.
      deps.nominator.remove(preemptor.uid);
      deps.logger.error('preemption failed', {
        pod: `${preemptor.namespace}/${preemptor.name}`,
        node: node.name,
        error,
      });
    }
  });
}

async function evictOne(
  preemptor: PodInfo,
  victim: PodInfo,
  deps: DefaultPreemptionDeps,
  signal: AbortSignal,
): Promise<void> {
  const key = { namespace: victim.namespace, name: victim.name };
  // Not bound yet: it just does not go there.
  if (deps.waiting.pods().some(({ uid }) => uid === victim.uid)) {
    deps.waiting.reject(victim.uid, refusal('preempted'));
    return;
  }
  if (victim.terminating) return;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'PreemptionByScheduler',
    message: `${preemptor.pod.spec.schedulerName ?? 'default-scheduler'}: preempting to accommodate a higher priority pod`,
    lastProbeTime: null,
    lastTransitionTime: timeOf(deps.clock.now()),
    ...(victim.pod.metadata.generation !== undefined && { observedGeneration: victim.pod.metadata.generation }),
  };
  await ignoringGone(
    deps.pods.patch(
      key,
      {
        type: 'strategic',
        body: {
          metadata: { uid: victim.uid },
          status: { ...conditionOrder(victim.pod, 'DisruptionTarget'), conditions: [condition] },
        },
      },
      { subresource: 'status', fieldManager: 'kube-scheduler', signal },
    ),
  );
  await ignoringGone(deps.pods.delete(key, { preconditions: { uid: victim.uid }, signal }));
}

async function ignoringGone(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

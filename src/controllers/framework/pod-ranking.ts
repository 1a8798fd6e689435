// Owns which pods go first when there are too many (documentation: "ReplicaSet, Scaling a ReplicaSet"; KEP-2255 for the cost annotation). Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { isPodReady, podCondition } from '../../api/pod-readiness.ts';
import { maybeMillisOf } from '../../api/time.ts';

const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** The `count` pods to delete. `relatedOnNode` is how many pods of the same workload share each pod's node. */
export function podsToDelete(
  candidates: readonly Frozen<Pod>[],
  count: number,
  nowMs: number,
  relatedOnNode: (nodeName: string) => number = () => 0,
): Frozen<Pod>[] {
  if (count >= candidates.length) return [...candidates];
  const compare = (a: Frozen<Pod>, b: Frozen<Pod>): number => {
    const [nodeA, nodeB] = [a.spec.nodeName ?? '', b.spec.nodeName ?? ''];
    const readyA = isPodReady(a);
    return (
      Number(nodeA !== '') - Number(nodeB !== '') ||
      (phaseRank[a.status?.phase ?? ''] ?? 0) - (phaseRank[b.status?.phase ?? ''] ?? 0) ||
      Number(readyA) - Number(isPodReady(b)) ||
      costOf(a) - costOf(b) ||
      relatedOnNode(nodeB) - relatedOnNode(nodeA) ||
      (readyA ? youngerFirst(readySince(a), readySince(b), nowMs, a, b) : 0) ||
      restarts(b) - restarts(a) ||
      youngerFirst(a.metadata.creationTimestamp, b.metadata.creationTimestamp, nowMs, a, b)
    );
  };
  return [...candidates].sort(compare).slice(0, count);
}

function costOf(pod: Frozen<Pod>): number {
  const text = pod.metadata.annotations?.[deletionCost];
  return text !== undefined && /^-?(0|[1-9]\d*)$/.test(text) ? Number(text) : 0;
}

function readySince(pod: Frozen<Pod>): string | undefined {
  return podCondition(pod, 'Ready')?.lastTransitionTime;
}

/** Ages of one power of two count as equal (KEP-2185), so that chance, by uid, spreads the loss over zones. */
function youngerFirst(
  a: string | undefined,
  b: string | undefined,
  nowMs: number,
  podA: Frozen<Pod>,
  podB: Frozen<Pod>,
): number {
  if (a === b) return 0;
  const rank = (time: string | undefined) => {
    const seconds = (nowMs - (maybeMillisOf(time) ?? nowMs)) / 1000;
    return seconds <= 0 ? -1 : Math.floor(Math.log2(seconds * 1e9));
  };
  return rank(a) - rank(b) || (podA.metadata.uid < podB.metadata.uid ? -1 : 1);
}

function restarts(pod: Frozen<Pod>): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map((container) => container.restartCount));
}

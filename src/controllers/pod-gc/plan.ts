// Owns which pods are garbage and why. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import { isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import type { DisruptionReason } from '../framework/disruption-target.ts';

export interface Garbage {
  readonly pod: Frozen<Pod>;
  readonly why: DisruptionReason | undefined;
}

const outOfService = 'node.kubernetes.io/out-of-service';

export interface GarbageInput {
  readonly pods: readonly Frozen<Pod>[];
  readonly nodes: ReadonlyMap<string, Frozen<Node>>;
  /** Names of nodes that have been missing for longer than the quarantine. */
  readonly missing: ReadonlySet<string>;
  readonly threshold: number;
}

export function planGarbage({ pods, nodes, missing, threshold }: GarbageInput): Garbage[] {
  const garbage: Garbage[] = [];
  const finished: Frozen<Pod>[] = [];
  for (const pod of pods) {
    const node = pod.spec.nodeName ?? '';
    if (node !== '' && missing.has(node))
      garbage.push({ pod, why: { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' } });
    else if (node === '' && isTerminating(pod)) garbage.push({ pod, why: undefined });
    else if (node !== '' && isTerminating(pod) && isOutOfService(nodes.get(node)))
      garbage.push({ pod, why: { reason: 'DeletionByPodGC', message: 'PodGC: node is out-of-service' } });
    else if (isPodFinished(pod) && !isTerminating(pod)) finished.push(pod);
  }
  const surplus = threshold > 0 ? finished.length - threshold : 0;
  if (surplus > 0) {
    finished.sort((a, b) => {
      const [evictedA, evictedB] = [a, b].map((pod) => Number(pod.status?.reason === 'Evicted'));
      return evictedB! - evictedA! || (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1);
    });
    garbage.push(...finished.slice(0, surplus).map((pod) => ({ pod, why: undefined })));
  }
  return garbage;
}

function isOutOfService(node: Frozen<Node> | undefined): boolean {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  return (
    ready !== undefined &&
    ready.status !== 'True' &&
    (node?.spec.taints?.some(({ key }) => key === outOfService) ?? false)
  );
}

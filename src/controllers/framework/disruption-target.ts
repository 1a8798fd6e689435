// Owns marking a pod as about to be ended by the control plane (KEP-3329), and ending it.
import { type Frozen, keyOf } from '../../api/meta.ts';
import type { Pod, PodStatus } from '../../api/generated/core.v1.ts';
import { podCondition } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import type { ResourceClient } from '../../client/client.ts';

export interface DisruptionReason {
  readonly reason: string;
  readonly message: string;
}

/** The patch of status that adds the condition, and with `phase` also sets the phase; undefined when all is there already. */
export function disruptionPatch(
  pod: Frozen<Pod>,
  why: DisruptionReason | undefined,
  phase: string | undefined,
  nowMs: number,
  sayGeneration = true,
): Partial<PodStatus> | undefined {
  const marked = podCondition(pod, 'DisruptionTarget')?.status === 'True';
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    ...why,
    lastTransitionTime: timeOf(nowMs),
    ...(sayGeneration && pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
  };
  const patch: Partial<PodStatus> = {
    ...(phase !== undefined && phase !== pod.status?.phase && { phase }),
    ...(why && !marked && { conditions: [condition] }),
  };
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Marks the pod and deletes it; one that is gone or was replaced is no failure. */
export async function endPod(
  client: ResourceClient<Pod>,
  pod: Frozen<Pod>,
  status: Partial<PodStatus> | undefined,
  gracePeriodSeconds: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (status) {
      const body = { metadata: { uid: pod.metadata.uid }, status };
      await client.patch(keyOf(pod), { type: 'strategic', body }, { subresource: 'status', signal });
    }
    await client.delete(keyOf(pod), {
      preconditions: { uid: pod.metadata.uid },
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      signal,
    });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

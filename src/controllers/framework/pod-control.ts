// Owns making and deleting pods for workloads: from templates, in growing batches, with the events that upstream writes.
import type { Frozen, KubeObject, ResourceRef } from '../../api/meta.ts';
import { keyOf } from '../../api/meta.ts';
import type { Pod, PodTemplateSpec } from '../../api/generated/core.v1.ts';
import { pods } from '../../api/generated/resources.ts';
import { isNotFound, isStatusError } from '../../api/status-error.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { ControllerContext } from './controller.ts';
import { controllerReference } from './owners.ts';

export type NewPod = Omit<Pod, 'metadata' | 'status'> & { metadata: Partial<Pod['metadata']>; status?: Pod['status'] };

export interface PodControl {
  readonly client: ResourceClient<Pod>;
  /** Creates one pod; a failure is recorded as an event on the owner and thrown. */
  create(owner: Frozen<KubeObject>, pod: NewPod, signal: AbortSignal): Promise<Frozen<Pod>>;
  /** Deletes one pod; one that is gone already is no failure. */
  delete(owner: Frozen<KubeObject>, pod: Frozen<Pod>, signal: AbortSignal): Promise<void>;
}

export function podControl(context: ControllerContext, recorder: EventRecorder): PodControl {
  const client = context.informers.writer(pods);
  return {
    client,
    async create(owner, pod, signal) {
      try {
        const made = await client.create(pod as Frozen<Pod>, { signal });
        recorder.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${made.metadata.name}`);
        return made;
      } catch (error) {
        if (!signal.aborted && !isNamespaceTerminating(error))
          recorder.event(owner, 'Warning', 'FailedCreate', `Error creating: ${(error as Error).message}`);
        throw error;
      }
    },
    async delete(owner, pod, signal) {
      const { uid } = pod.metadata;
      try {
        await client.delete(keyOf(pod), { preconditions: { uid }, signal });
        recorder.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
      } catch (error) {
        if (isNotFound(error) || isStatusError(error, 'Conflict')) return;
        if (!signal.aborted)
          recorder.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${(error as Error).message}`);
        throw error;
      }
    },
  };
}

export function podFromTemplate(
  ref: ResourceRef,
  owner: Frozen<KubeObject>,
  template: Frozen<PodTemplateSpec>,
): NewPod & { metadata: { namespace: string } } {
  const { labels, annotations, finalizers } = (template.metadata ?? {}) as Frozen<Pod['metadata']>;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: owner.metadata.namespace ?? '',
      generateName: `${owner.metadata.name}-`,
      ...(labels && { labels: { ...labels } }),
      ...(annotations && { annotations: { ...annotations } }),
      ...(finalizers && { finalizers: [...finalizers] }),
      ownerReferences: [controllerReference(ref, owner)],
    },
    // Shared with the template: it is only read.
    spec: template.spec as Pod['spec'],
  };
}

/** A namespace that is going away takes no new objects; nothing to complain about. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isStatusError(error, 'Forbidden') &&
    error.status.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') === true
  );
}

/** Runs 1, 2, 4, … calls side by side and stops at the first batch with a failure: a refused owner costs one request. */
export async function inGrowingBatches(
  count: number,
  call: (at: number) => Promise<unknown>,
): Promise<{ succeeded: number; error: unknown }> {
  let succeeded = 0;
  for (let size = 1, done = 0; done < count; size *= 2) {
    const batch = Math.min(size, count - done);
    const first = done;
    const results = await Promise.allSettled(Array.from({ length: batch }, (_, at) => call(first + at)));
    done += batch;
    const failed = results.find((result) => result.status === 'rejected');
    succeeded += results.filter((result) => result.status === 'fulfilled').length;
    if (failed) return { succeeded, error: failed.reason };
  }
  return { succeeded, error: undefined };
}

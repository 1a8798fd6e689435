// Owns making the claims of pods' generic ephemeral volumes (KEP-1698); they go with their pod.
import { type Frozen, keyOf, type KubeObject, type ObjectKey } from '../../api/meta.ts';
import type { Pod, Volume } from '../../api/generated/core.v1.ts';
import { persistentVolumeClaims, pods } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isAlreadyExists } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, watching } from '../framework/controller.ts';
import { controllerReference, isControlledBy, ownedBy } from '../framework/owners.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';

export function ephemeralVolumeController(context: ControllerContext): Controller {
  const podCache = context.informers.informer(pods);
  const claims = context.informers.informer(persistentVolumeClaims);
  const writer = context.informers.writer(persistentVolumeClaims);
  const recorder = context.events.recorder('ephemeral_volume');
  const wanting = (pod: Frozen<Pod>): ObjectKey[] =>
    !isTerminating(pod) && pod.spec.volumes?.some(({ ephemeral }) => ephemeral) ? [keyOf(pod)] : [];

  async function make(pod: Frozen<Pod>, volume: Frozen<Volume>, signal: AbortSignal): Promise<void> {
    const key = { namespace: pod.metadata.namespace ?? '', name: `${pod.metadata.name}-${volume.name}` };
    const known = claims.get(key);
    if (known) {
      // Someone else's claim of that name must not be used in its place.
      if (isControlledBy(known as Frozen<KubeObject>, pod)) return;
      const message = `PVC ${key.namespace}/${key.name} was not created for pod ${pod.metadata.name}`;
      recorder.event(pod, 'Warning', 'FailedBinding', `ephemeral volume: ${message}`);
      throw new Error(message);
    }
    const { metadata, spec } = volume.ephemeral!.volumeClaimTemplate!;
    const { labels, annotations } = (metadata ?? {}) as Frozen<Pod['metadata']>;
    const ownerReferences = [controllerReference(pods, pod)];
    const claim = {
      metadata: { ...key, ...(labels && { labels }), ...(annotations && { annotations }), ownerReferences },
      spec,
    };
    try {
      await writer.create(claim as never, { signal });
    } catch (error) {
      if (isNamespaceTerminating(error) || isAlreadyExists(error)) return;
      recorder.event(
        pod,
        'Warning',
        'FailedBinding',
        `ephemeral volume controller failed to create ${key.name}: ${(error as Error).message}`,
      );
      throw error;
    }
  }

  return {
    name: 'ephemeral-volume-controller',
    watches: [watching(podCache, wanting), ownedBy(pods, claims)],
    async reconcile(key, signal) {
      const pod = podCache.get(key);
      if (!pod || isTerminating(pod)) return undefined;
      for (const volume of pod.spec.volumes ?? [])
        if (volume.ephemeral?.volumeClaimTemplate) await make(pod, volume, signal);
      return undefined;
    },
  };
}

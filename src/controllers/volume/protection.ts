// Owns keeping claims and volumes that are in use: their protection finalizers go only when nobody uses them any more.
import { type Frozen, type KubeObject, type ObjectKey } from '../../api/meta.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/core.v1.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from '../../api/generated/resources.ts';
import { isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import type { ResourceClient } from '../../client/client.ts';
import { type Controller, type ControllerContext, self, watching } from '../framework/controller.ts';

const claimFinalizer = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'kubernetes.io/pv-protection';
const claimIndex = 'claim';

/** "namespace/name" of the claims that a pod uses, those of its ephemeral volumes too. */
export function claimsOfPod(pod: Frozen<Pod>): string[] {
  const { namespace = '', name } = pod.metadata;
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim) return [`${namespace}/${volume.persistentVolumeClaim.claimName}`];
    return volume.ephemeral ? [`${namespace}/${name}-${volume.name}`] : [];
  });
}

/** A pod that was never scheduled does not hold its claims; one that has ended does, until it is gone. */
export function claimProtectionController(context: ControllerContext): Controller {
  const claims = context.informers.informer(persistentVolumeClaims);
  const podCache = context.informers.informer(pods);
  const writer = context.informers.writer(persistentVolumeClaims);
  podCache.addIndex(claimIndex, claimsOfPod);

  function* ofPod(pod: Frozen<Pod>, previous?: Frozen<Pod>): Generator<ObjectKey> {
    // New, gone, terminating or ended just now: only then does a claim's use change.
    if (previous && !isTerminating(pod) && isPodFinished(pod) === isPodFinished(previous)) return;
    for (const text of claimsOfPod(pod)) {
      const [namespace = '', name = ''] = text.split('/');
      yield { namespace, name };
    }
  }

  async function isUsed(claim: Frozen<PersistentVolumeClaim>, signal: AbortSignal): Promise<boolean> {
    const text = `${claim.metadata.namespace}/${claim.metadata.name}`;
    const uses = (pod: Frozen<Pod>) => pod.spec.nodeName !== undefined && pod.spec.nodeName !== '';
    if (podCache.indexed(claimIndex, text).some(uses)) return true;
    // The cache may not have the newest pod yet, and a claim that is gone does not come back.
    const live = await context.client.resource(pods).list({ namespace: claim.metadata.namespace ?? '', signal });
    return live.items.some((pod) => uses(pod) && claimsOfPod(pod).includes(text));
  }

  /** A bound claim says whether pods that have not ended name it. */
  async function noteUse(claim: Frozen<PersistentVolumeClaim>, signal: AbortSignal): Promise<void> {
    if (claim.status?.phase !== 'Bound') return;
    const text = `${claim.metadata.namespace}/${claim.metadata.name}`;
    const isInUse = podCache.indexed(claimIndex, text).some((pod) => !isPodFinished(pod));
    const status = isInUse ? 'False' : 'True';
    const others = (claim.status.conditions ?? []).filter((condition) => condition.type !== 'Unused');
    const known = claim.status.conditions?.find((condition) => condition.type === 'Unused');
    if (known?.status === status) return;
    const condition = {
      type: 'Unused',
      status,
      lastTransitionTime: timeOf(context.clock.now()),
      reason: isInUse ? 'PodUsingPVC' : 'NoPodsUsingPVC',
      message: isInUse ? 'A pod is currently referencing this PVC' : 'No pods are currently referencing this PVC',
    };
    const next = { ...claim, status: { ...claim.status, conditions: [...others, condition] } };
    try {
      await writer.updateStatus(next as Frozen<PersistentVolumeClaim>, { signal });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  return {
    name: 'persistentvolumeclaim-protection-controller',
    watches: [self(claims), watching(podCache, ofPod)],
    async reconcile(key, signal) {
      const claim = claims.get(key);
      if (!claim) return undefined;
      if (!isTerminating(claim)) {
        await setFinalizer(writer, claim, claimFinalizer, true, signal);
        await noteUse(claims.get(key) ?? claim, signal);
      } else if (has(claim, claimFinalizer) && !(await isUsed(claim, signal)))
        await setFinalizer(writer, claim, claimFinalizer, false, signal);
      return undefined;
    },
  };
}

export function volumeProtectionController(context: ControllerContext): Controller {
  const volumes = context.informers.informer(persistentVolumes);
  const writer = context.informers.writer(persistentVolumes);
  const isUsed = (volume: Frozen<PersistentVolume>) => volume.status?.phase === 'Bound';
  return {
    name: 'persistentvolume-protection-controller',
    watches: [self(volumes)],
    async reconcile(key, signal) {
      const volume = volumes.get(key);
      if (!volume) return undefined;
      if (!isTerminating(volume)) await setFinalizer(writer, volume, volumeFinalizer, true, signal);
      else if (!isUsed(volume)) await setFinalizer(writer, volume, volumeFinalizer, false, signal);
      return undefined;
    },
  };
}

function has(obj: Frozen<KubeObject>, finalizer: string): boolean {
  return obj.metadata.finalizers?.includes(finalizer) ?? false;
}

export async function setFinalizer<T extends KubeObject>(
  writer: ResourceClient<T>,
  obj: Frozen<T>,
  finalizer: string,
  wanted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const typed = obj as Frozen<KubeObject>;
  if (has(typed, finalizer) === wanted) return;
  const others = (typed.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  const finalizers = wanted ? [...others, finalizer] : others;
  const next = { ...obj, metadata: { ...typed.metadata, finalizers } } as unknown as Frozen<T>;
  try {
    await writer.update(next, { signal });
  } catch (error) {
    // A conflict brings the newer version soon, and with it the next look.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

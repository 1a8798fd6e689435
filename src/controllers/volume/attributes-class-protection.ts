// Owns keeping VolumeAttributesClasses that claims or volumes name: their finalizer goes when none does any more.
import type { Frozen, ObjectKey } from '../../api/meta.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core.v1.ts';
import { persistentVolumeClaims, persistentVolumes, volumeAttributesClasses } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { type Controller, type ControllerContext, self, watching } from '../framework/controller.ts';
import { setFinalizer } from './protection.ts';

const finalizer = 'kubernetes.io/vac-protection';
const classIndex = 'attributes class';

function classesOfClaim({ spec, status }: Frozen<PersistentVolumeClaim>): string[] {
  const names = [
    spec.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name): name is string => name !== undefined && name !== ''))];
}

function classesOfVolume({ spec }: Frozen<PersistentVolume>): string[] {
  return spec.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [];
}

export function attributesClassProtectionController(context: ControllerContext): Controller {
  const classes = context.informers.informer(volumeAttributesClasses);
  const claims = context.informers.informer(persistentVolumeClaims);
  const volumes = context.informers.informer(persistentVolumes);
  const writer = context.informers.writer(volumeAttributesClasses);
  claims.addIndex(classIndex, classesOfClaim);
  volumes.addIndex(classIndex, classesOfVolume);
  const keysOf =
    <T>(names: (obj: T) => string[]) =>
    (obj: T, previous?: T): ObjectKey[] =>
      [...names(obj), ...(previous === undefined ? [] : names(previous))].map((name) => ({ namespace: '', name }));

  /** The server's word counts: a class that is gone does not come back for a claim that was just made. */
  async function isUsed(name: string, signal: AbortSignal): Promise<boolean> {
    if (claims.indexed(classIndex, name).length > 0 || volumes.indexed(classIndex, name).length > 0) return true;
    const live = await context.client.resource(persistentVolumeClaims).list({ signal });
    return live.items.some((claim) => classesOfClaim(claim).includes(name));
  }

  return {
    name: 'volumeattributesclass-protection-controller',
    watches: [self(classes), watching(claims, keysOf(classesOfClaim)), watching(volumes, keysOf(classesOfVolume))],
    async reconcile(key, signal) {
      const one = classes.get(key);
      if (!one) return undefined;
      if (!isTerminating(one)) await setFinalizer(writer, one, finalizer, true, signal);
      else if (!(await isUsed(key.name, signal))) await setFinalizer(writer, one, finalizer, false, signal);
      return undefined;
    },
  };
}

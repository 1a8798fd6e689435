// Owns which volume a claim gets: the smallest that has all it asks for, one reserved for it first. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core.v1.ts';
import { labelPredicate } from '../../api/selector.ts';
import { compareQuantities, type Quantity, tryParseQuantity, zero } from '../../api/quantity.ts';
import { isTerminating } from '../../api/pod-readiness.ts';

type Claim = Frozen<PersistentVolumeClaim>;
type Volume = Frozen<PersistentVolume>;

/** The older annotation wins over the field, as upstream. */
export function classOf(obj: Claim | Volume): string {
  return obj.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? obj.spec.storageClassName ?? '';
}

/** Whether the volume's claimRef names this claim; a reference without uid is the administrator's reservation. */
export function isReservedFor(volume: Volume, claim: Claim): boolean {
  const ref = volume.spec.claimRef;
  if (ref?.name !== claim.metadata.name || ref.namespace !== claim.metadata.namespace) return false;
  return !ref.uid || ref.uid === claim.metadata.uid;
}

const size = (text: string | undefined): Quantity => tryParseQuantity(text ?? '0') ?? zero;
const capacityOf = (volume: Volume): Quantity => size(volume.spec.capacity?.['storage']);

function suits(volume: Volume, claim: Claim): boolean {
  const { accessModes = [], volumeMode = 'Filesystem', resources, selector } = claim.spec;
  return (
    (volume.spec.volumeMode ?? 'Filesystem') === volumeMode &&
    classOf(volume) === classOf(claim) &&
    accessModes.every((mode) => volume.spec.accessModes?.includes(mode)) &&
    compareQuantities(capacityOf(volume), size(resources?.requests?.['storage'])) >= 0 &&
    (!selector || labelPredicate(selector)(volume.metadata.labels)) &&
    (claim.spec.volumeAttributesClassName ?? '') === (volume.spec.volumeAttributesClassName ?? '')
  );
}

/** `waits`: the claim's class binds only when a pod is there; then just a reserved volume will do. */
export function findVolume(claim: Claim, volumes: readonly Volume[], waits: boolean): Volume | undefined {
  const reserved = volumes.find((volume) => isReservedFor(volume, claim) && !isTerminating(volume));
  if (reserved || waits) return reserved;
  return volumes
    .filter((volume) => !volume.spec.claimRef && !isTerminating(volume))
    .filter((volume) => volume.status?.phase === 'Available' && suits(volume, claim))
    .sort((a, b) => compareQuantities(capacityOf(a), capacityOf(b)) || (a.metadata.name < b.metadata.name ? -1 : 1))[0];
}

// Owns what becomes of a ResourceClaim: whose reservations end, when its devices are given back, when it goes. Pure.
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { ResourceClaim } from '../../api/generated/resource.v1.ts';
import { isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import { controllerOf } from '../framework/owners.ts';

export const protectionFinalizer = 'resource.kubernetes.io/delete-protection';
export const podClaimAnnotation = 'resource.kubernetes.io/pod-claim-name';
/** As many pods may share a claim. */
export const mostConsumers = 256;

/** Its devices are not needed any more: it has ended, or goes before it was ever given a node. */
export function isDone(pod: Frozen<Pod>): boolean {
  return isPodFinished(pod) || (isTerminating(pod) && !pod.spec.nodeName);
}

export interface ClaimPlan {
  /** The new status; undefined: as it is. */
  readonly status?: ResourceClaim['status'];
  /** To be written after the status. */
  readonly dropFinalizer: boolean;
  /** The pod that it was made for needs it no more. */
  readonly remove: boolean;
}

/** `isGone` says of a consumer that it is no more or is done; other consumers than pods stay. */
export function planClaim(
  claim: Frozen<ResourceClaim>,
  isGone: (uid: string) => boolean,
  ownerIsDone: boolean,
): ClaimPlan {
  const reserved = claim.status?.reservedFor ?? [];
  const left = reserved.filter(
    ({ apiGroup = '', resource, uid }) => apiGroup !== '' || resource !== 'pods' || !isGone(uid),
  );
  const isAllocated = claim.status?.allocation !== undefined;
  const gaveBack = isAllocated && left.length === 0 && (reserved.length > 0 || isTerminating(claim) || ownerIsDone);
  const changes = left.length !== reserved.length || gaveBack;
  const { allocation, devices, reservedFor: _, ...rest } = (claim.status ?? {}) as ResourceClaim['status'] & object;
  const status = {
    ...rest,
    ...(left.length > 0 && { reservedFor: left as NonNullable<ResourceClaim['status']>['reservedFor'] & object }),
    ...(!gaveBack && allocation && { allocation }),
    ...(!gaveBack && devices && { devices }),
  };
  const isFree = left.length === 0 && (!isAllocated || gaveBack);
  const isProtected = claim.metadata.finalizers?.includes(protectionFinalizer) ?? false;
  return {
    ...(changes && { status }),
    dropFinalizer: isProtected && isFree && (gaveBack || isTerminating(claim)),
    remove: ownerIsDone && isFree && !isTerminating(claim),
  };
}

/** The uid of the pod that the claim was made for from a template. */
export function podOf(claim: Frozen<ResourceClaim>): Frozen<{ name: string; uid: string }> | undefined {
  const owner = controllerOf(claim as Frozen<KubeObject>);
  return owner?.kind === 'Pod' && owner.apiVersion === 'v1' ? owner : undefined;
}

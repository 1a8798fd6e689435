// Owns the words of ownership: who controls an object, and how a reference to an owner is made.
import type { ObjectMeta, OwnerReference } from '../generated/meta.v1.ts';
import type { Frozen } from '../meta.ts';

interface Owned {
  readonly metadata: Frozen<Partial<ObjectMeta>>;
}

/** The one reference with controller: true. */
export function controllerOf(object: Owned): Frozen<OwnerReference> | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** Compares uids: names are used again. */
export function isControlledBy(object: Owned, owner: Owned): boolean {
  const uid = controllerOf(object)?.uid;
  return uid !== undefined && uid === owner.metadata.uid;
}

/** The reference of a controller to itself: deletion of the owner in the foreground waits for the object. */
export function controllerReference(
  owner: Owned & { readonly apiVersion: string; readonly kind: string },
): OwnerReference {
  const { name = '', uid = '' } = owner.metadata;
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

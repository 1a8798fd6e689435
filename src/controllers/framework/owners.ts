// Owns the relation of dependents to their controller: references, lookup by it, adoption and release.
import { apiVersionOf, type Frozen, keyOf, type KubeObject, type ObjectKey, type ResourceRef } from '../../api/meta.ts';
import type { OwnerReference } from '../../api/generated/meta.v1.ts';
import type { LabelPredicate } from '../../api/selector.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isNotFound, isStatusError } from '../../api/status-error.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { Informer } from '../../client/informer.ts';
import { type Watch, watching } from './controller.ts';

export function controllerOf(obj: Frozen<KubeObject>): Frozen<OwnerReference> | undefined {
  return obj.metadata.ownerReferences?.find((owner) => owner.controller);
}

export function isControlledBy(obj: Frozen<KubeObject>, owner: Frozen<KubeObject>): boolean {
  return controllerOf(obj)?.uid === owner.metadata.uid;
}

export function controllerReference(ref: ResourceRef, owner: Frozen<KubeObject>): OwnerReference {
  return {
    apiVersion: apiVersionOf(ref),
    kind: ref.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

const controllerIndex = 'controller';

/** Indexes dependents by their controller's uid, and those without one by namespace, so that owners need not scan. */
export function indexByController<T extends KubeObject>(informer: Informer<T>): void {
  informer.addIndex(controllerIndex, (obj) => {
    const typed = obj as unknown as Frozen<KubeObject>;
    return [controllerOf(typed)?.uid ?? orphansOf(typed.metadata.namespace ?? '')];
  });
}

export function controlledBy<T extends KubeObject>(informer: Informer<T>, uid: string): readonly Frozen<T>[] {
  return informer.indexed(controllerIndex, uid);
}

function orphansOf(namespace: string): string {
  return `/${namespace}`;
}

/**
 * Wakes owners of kind `ref` for changes of their dependents, also the former owner of one that was released;
 * for an orphan those owners that `adopters` names.
 */
export function ownedBy<T extends KubeObject>(
  ref: ResourceRef,
  informer: Informer<T>,
  adopters: (orphan: Frozen<T>) => Iterable<ObjectKey> = () => [],
): Watch {
  return watching(informer, (obj, previous) => {
    const keys: ObjectKey[] = [];
    const typed = obj as unknown as Frozen<KubeObject>;
    const owner = controllerOf(typed);
    const former = previous && controllerOf(previous as unknown as Frozen<KubeObject>);
    for (const one of former && former.uid !== owner?.uid ? [owner, former] : [owner])
      if (one?.kind === ref.kind && one.apiVersion.split('/')[0] === apiVersionOf(ref).split('/')[0])
        keys.push({ namespace: typed.metadata.namespace ?? '', name: one.name });
    if (!owner && !isTerminating(typed)) keys.push(...adopters(obj));
    return keys;
  });
}

export interface Claim<T extends KubeObject> {
  readonly owner: Frozen<KubeObject>;
  readonly ref: ResourceRef;
  readonly matches: LabelPredicate;
  readonly informer: Informer<T>;
  /** A writer of the informer's factory. */
  readonly client: ResourceClient<T>;
  /** Extra condition for adopting. */
  readonly adoptable?: (obj: Frozen<T>) => boolean;
  /** Reads the owner from the server: adoption by a deleted owner would be undone by garbage collection with the object. */
  readonly current: () => Promise<Frozen<KubeObject>>;
  /** Finalizers that released objects lose and adopted ones gain. */
  readonly finalizer?: string;
  readonly signal: AbortSignal;
}

/** The owner's dependents, after adopting matching orphans and releasing those which no longer match. */
export async function claimed<T extends KubeObject>(claim: Claim<T>): Promise<Frozen<T>[]> {
  const { owner, matches, informer } = claim;
  const { uid, namespace = '' } = owner.metadata;
  const mine: Frozen<T>[] = [];
  for (const obj of controlledBy(informer, uid)) {
    const typed = obj as unknown as Frozen<KubeObject>;
    if (matches(typed.metadata.labels)) mine.push(obj);
    else if (!isTerminating(owner)) await release(claim, obj);
  }
  if (isTerminating(owner)) return mine;
  let mayAdopt: Promise<boolean> | undefined;
  for (const obj of informer.indexed(controllerIndex, orphansOf(namespace))) {
    const typed = obj as unknown as Frozen<KubeObject>;
    if (isTerminating(typed) || !matches(typed.metadata.labels) || claim.adoptable?.(obj) === false) continue;
    mayAdopt ??= claim.current().then((now) => now.metadata.uid === uid && !isTerminating(now));
    if (!(await mayAdopt)) break;
    const adopted = await adopt(claim, obj);
    if (adopted) mine.push(adopted);
  }
  return mine;
}

async function adopt<T extends KubeObject>(claim: Claim<T>, obj: Frozen<T>): Promise<Frozen<T> | undefined> {
  const { metadata } = obj as unknown as Frozen<KubeObject>;
  const ownerReferences = [controllerReference(claim.ref, claim.owner)];
  const finalizers = claim.finalizer && { finalizers: [claim.finalizer] };
  const body = { metadata: { uid: metadata.uid, ownerReferences, ...finalizers } };
  try {
    return await claim.client.patch(keyOf({ metadata }), { type: 'strategic', body }, { signal: claim.signal });
  } catch (error) {
    if (isNotFound(error) || isStatusError(error, 'Invalid')) return undefined;
    throw error;
  }
}

async function release<T extends KubeObject>(claim: Claim<T>, obj: Frozen<T>): Promise<void> {
  const { metadata } = obj as unknown as Frozen<KubeObject>;
  const body = {
    metadata: {
      uid: metadata.uid,
      ownerReferences: [{ $patch: 'delete', uid: claim.owner.metadata.uid }],
      ...(claim.finalizer && { '$deleteFromPrimitiveList/finalizers': [claim.finalizer] }),
    },
  };
  try {
    await claim.client.patch(keyOf({ metadata }), { type: 'strategic', body }, { signal: claim.signal });
  } catch (error) {
    // Gone, or another object of that name: nothing to release. Invalid: its owner references are being deleted already.
    if (!isNotFound(error) && !isStatusError(error, 'Invalid')) throw error;
  }
}

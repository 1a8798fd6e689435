// Owns the graph of who owns whom, as the informers report it, and which nodes must be looked at after each change. Pure.
import type { Frozen, KubeObject, ResourceRef } from '../../api/meta.ts';
import type { OwnerReference } from '../../api/generated/meta.v1.ts';

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';

export interface GraphNode {
  readonly uid: string;
  readonly ref: ResourceRef;
  readonly namespace: string;
  readonly name: string;
  owners: readonly Frozen<OwnerReference>[];
  isDeleting: boolean;
  finalizers: readonly string[];
}

/** What a change asks for: nodes whose owners must be checked, and owners whose dependents must be let go. */
export interface Attention {
  readonly check: Set<string>;
  readonly orphan: Set<string>;
}

export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
  /** Owner's uid → its dependents, known also before (and after) the owner itself. */
  readonly #dependents = new Map<string, Set<GraphNode>>();

  get size(): number {
    return this.#nodes.size;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  dependentsOf(uid: string): readonly GraphNode[] {
    return [...(this.#dependents.get(uid) ?? [])];
  }

  /** Those that hold up the owner's foreground deletion. */
  blockersOf(uid: string): readonly GraphNode[] {
    return this.dependentsOf(uid).filter((node) =>
      node.owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion),
    );
  }

  observe(ref: ResourceRef, obj: Frozen<KubeObject>): Attention {
    const attention: Attention = { check: new Set(), orphan: new Set() };
    const { metadata } = obj;
    const known = this.#nodes.get(metadata.uid);
    const node: GraphNode = known ?? {
      uid: metadata.uid,
      ref,
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      owners: [],
      isDeleting: false,
      finalizers: [],
    };
    if (!known) this.#nodes.set(node.uid, node);
    this.#setOwners(node, metadata.ownerReferences ?? [], attention);
    this.#setDeletion(node, metadata.deletionTimestamp !== undefined, metadata.finalizers ?? [], attention);
    // An owner that we do not know, or know as something else, may never have been there.
    if (!known && node.owners.some((owner) => !isOwner(this.#nodes.get(owner.uid), node, owner)))
      attention.check.add(node.uid);
    return attention;
  }

  forget(uid: string): Attention {
    const attention: Attention = { check: new Set(), orphan: new Set() };
    const node = this.#nodes.get(uid);
    if (!node) return attention;
    this.#nodes.delete(uid);
    for (const dependent of this.dependentsOf(uid)) attention.check.add(dependent.uid);
    this.#setOwners(node, [], attention);
    return attention;
  }

  #setOwners(node: GraphNode, owners: readonly Frozen<OwnerReference>[], attention: Attention): void {
    const before = node.owners;
    node.owners = owners;
    for (const owner of before) {
      const after = owners.find((one) => one.uid === owner.uid);
      if (!after) this.#unlink(owner.uid, node);
      // No longer blocking: the owner's foreground deletion may go on.
      const unblocked = owner.blockOwnerDeletion && !after?.blockOwnerDeletion;
      if (unblocked && isForeground(this.#nodes.get(owner.uid))) attention.check.add(owner.uid);
    }
    for (const owner of owners) {
      const known = this.#dependents.get(owner.uid);
      if (known) known.add(node);
      else this.#dependents.set(owner.uid, new Set([node]));
      if (!before.some((one) => one.uid === owner.uid) && isForeground(this.#nodes.get(owner.uid)))
        attention.check.add(node.uid);
    }
  }

  #unlink(owner: string, node: GraphNode): void {
    const dependents = this.#dependents.get(owner);
    dependents?.delete(node);
    if (dependents?.size === 0) this.#dependents.delete(owner);
  }

  #setDeletion(node: GraphNode, isDeleting: boolean, finalizers: readonly string[], attention: Attention): void {
    const was = { orphans: isOrphaning(node), foreground: isForeground(node) };
    node.isDeleting = isDeleting;
    node.finalizers = finalizers;
    if (isOrphaning(node) && !was.orphans) attention.orphan.add(node.uid);
    if (!isForeground(node) || was.foreground) return;
    for (const dependent of this.dependentsOf(node.uid)) attention.check.add(dependent.uid);
    attention.check.add(node.uid);
  }
}

/** Being deleted, and waiting for its blocking dependents to go first. */
export function isForeground(node: GraphNode | undefined): boolean {
  return node !== undefined && node.isDeleting && node.finalizers.includes(foregroundFinalizer);
}

/** Being deleted, and waiting for its dependents to be let go. */
export function isOrphaning(node: GraphNode): boolean {
  return node.isDeleting && node.finalizers.includes(orphanFinalizer);
}

/** References name kind, name and (by the dependent's own) namespace beside the uid: all must fit. */
export function isOwner(known: GraphNode | undefined, dependent: GraphNode, owner: Frozen<OwnerReference>): boolean {
  if (known?.name !== owner.name || known.ref.kind !== owner.kind) return false;
  return known.namespace === '' || known.namespace === dependent.namespace;
}

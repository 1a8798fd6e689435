// Owns what a kind may take along with a write: addresses and ports, in the same transaction and given back when it fails.
import type { Frozen, KubeObject } from '../api/meta.ts';
import type { Together } from './storage/together.ts';

/** What a write takes along. */
export interface Taken {
  /** Called with the object as it is going to be stored. */
  with?(object: Frozen<KubeObject>): Together;
  /** Called once, whether the write was made or not; never for dry runs of updates. */
  done?(written: boolean): Promise<void> | void;
}

/**
 * Hooks of one collection; each may change the object that is about to be prepared, validated and stored, and throws StatusError to
 * refuse. The object is not validated yet: a hook must bear anything that fits the schema.
 */
export interface StoreHook {
  readonly group: string;
  readonly resource: string;
  create?(obj: KubeObject, how: { readonly dryRun: boolean }): Promise<Taken | undefined>;
  update?(next: KubeObject, prev: Frozen<KubeObject>, how: { readonly dryRun: boolean }): Promise<Taken | undefined>;
  /** What goes with the object. */
  delete?(obj: Frozen<KubeObject>): Together | undefined;
}

export function hookFor(
  hooks: readonly StoreHook[],
  { group, plural }: { readonly group: string; readonly plural: string },
): StoreHook | undefined {
  return hooks.find((hook) => hook.group === group && hook.resource === plural);
}

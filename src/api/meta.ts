// Owns the words that every object shares: kinds, keys, references, and the deep read-only view.
import { isSharedJson } from './codec/shared-json.ts';
import type { ListMeta, ObjectMeta } from './generated/meta.v1.ts';

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

export interface KubeList<T> {
  apiVersion: string;
  kind: string;
  metadata: ListMeta;
  items: T[];
}

/** Deep read-only: what caches hand out. To change it, clone it. */
export type Frozen<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends (infer E)[]
    ? readonly Frozen<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Frozen<T[K]> }
      : T;

/** What a client may leave out when it creates an object. */
export type New<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata' | 'status' | 'spec'> & {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<ObjectMeta>;
} & (T extends { spec: infer S } ? { spec: S } : unknown) &
  (T extends { status: infer S } ? { status?: Partial<S> } : unknown);

/** A served collection: what a client, an informer and a controller name resources by. */
export interface ResourceRef<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: T['kind'];
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** "v1", "apps/v1". */
export function apiVersionOf(ref: { readonly group: string; readonly version: string }): string {
  return ref.group === '' ? ref.version : `${ref.group}/${ref.version}`;
}

export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** "pods", "deployments.apps": how errors, metrics and RBAC name a resource. */
export function groupResource(ref: { readonly group: string; readonly plural: string }): string {
  return ref.group === '' ? ref.plural : `${ref.plural}.${ref.group}`;
}

/** An object's place within its collection; namespace is empty for cluster-scoped kinds. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** "namespace/name", or "name" for cluster-scoped kinds. */
export function keyText(key: ObjectKey): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`;
}

export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

export function keyOf(obj: { readonly metadata: { readonly namespace?: string; readonly name: string } }): ObjectKey {
  return { namespace: obj.metadata.namespace ?? '', name: obj.metadata.name };
}

/** A mutable deep copy of a frozen object (plain JSON values only). */
export function thaw<T>(obj: Frozen<T>): T {
  return copy(obj) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key];
    // Sets of managed fields are shared by many objects, and never changed in place.
    setOwn(result, key, key === 'fieldsV1' && isSharedJson(inner) ? inner : copy(inner));
  }
  return result;
}

/** Sets an own property even for `__proto__`, which strangers' JSON may contain. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

/** Freezes deeply, in place. */
export function freeze<T>(obj: T): Frozen<T> {
  if (typeof obj === 'object' && obj !== null && !Object.isFrozen(obj)) {
    Object.freeze(obj);
    if (Array.isArray(obj)) for (let at = 0; at < obj.length; at++) freeze(obj[at]);
    else for (const key in obj) freeze(obj[key]);
  }
  return obj as Frozen<T>;
}

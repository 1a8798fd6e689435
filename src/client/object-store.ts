// Owns an informer's memory: the newest known version of each object, found by key or by index. Holds, never copies or changes objects.
import { type Frozen, keyOf, keyText, type KubeObject, type ObjectKey } from '../api/meta.ts';

/** The values under which an object is found in an index. */
export type IndexFunction<T extends KubeObject> = (obj: Frozen<T>) => readonly string[];

/** What readers see of an informer's memory. */
export interface Lister<T extends KubeObject> {
  get(key: ObjectKey): Frozen<T> | undefined;
  /** All, or those of one namespace; in no particular order. */
  list(namespace?: string): readonly Frozen<T>[];
  /** Those with `value` in the named index, which must have been added. */
  indexed(index: string, value: string): readonly Frozen<T>[];
  readonly size: number;
}

/** Resource versions of one server compare as integers (KEP-5504). */
export function compareResourceVersions(a: string, b: string): number {
  return a.length !== b.length ? a.length - b.length : a < b ? -1 : a > b ? 1 : 0;
}

interface Index<T extends KubeObject> {
  readonly of: IndexFunction<T>;
  readonly values: Map<string, Map<string, Frozen<T>>>;
}

const namespaceIndex = 'namespace';

export class ObjectStore<T extends KubeObject> implements Lister<T> {
  readonly #objects = new Map<string, Frozen<T>>();
  readonly #indexes = new Map<string, Index<T>>();

  constructor() {
    this.addIndex(namespaceIndex, (obj) => (obj.metadata.namespace ? [obj.metadata.namespace] : []));
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): Frozen<T> | undefined {
    return this.#objects.get(keyText(key));
  }

  list(namespace?: string): readonly Frozen<T>[] {
    return namespace ? this.indexed(namespaceIndex, namespace) : [...this.#objects.values()];
  }

  indexed(index: string, value: string): readonly Frozen<T>[] {
    const found = this.#indexes.get(index);
    if (!found) throw new Error(`no index named ${index}`);
    const bucket = found.values.get(value);
    return bucket ? [...bucket.values()] : [];
  }

  /** Does nothing when there is one of that name. Existing objects are indexed at once. */
  addIndex(name: string, of: IndexFunction<T>): void {
    if (this.#indexes.has(name)) return;
    const index: Index<T> = { of, values: new Map() };
    this.#indexes.set(name, index);
    for (const [key, obj] of this.#objects) enter(index, key, obj);
  }

  /** Returns what was there before. */
  set(obj: Frozen<T>): Frozen<T> | undefined {
    const key = keyText(keyOf(obj as unknown as KubeObject));
    const before = this.#objects.get(key);
    this.#objects.set(key, obj);
    for (const index of this.#indexes.values()) {
      if (before) leave(index, key, before);
      enter(index, key, obj);
    }
    return before;
  }

  delete(key: ObjectKey): Frozen<T> | undefined {
    const text = keyText(key);
    const before = this.#objects.get(text);
    if (!before) return undefined;
    this.#objects.delete(text);
    for (const index of this.#indexes.values()) leave(index, text, before);
    return before;
  }
}

function enter<T extends KubeObject>(index: Index<T>, key: string, obj: Frozen<T>): void {
  for (const value of index.of(obj)) {
    const bucket = index.values.get(value);
    if (bucket) bucket.set(key, obj);
    else index.values.set(value, new Map([[key, obj]]));
  }
}

function leave<T extends KubeObject>(index: Index<T>, key: string, obj: Frozen<T>): void {
  for (const value of index.of(obj)) {
    const bucket = index.values.get(value);
    bucket?.delete(key);
    if (bucket?.size === 0) index.values.delete(value);
  }
}

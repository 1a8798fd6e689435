// Owns the shared cache of one collection: fed by a reflector, read by listers, listened to by handlers.
import { deferred } from '../base/task-group.ts';
import { type Frozen, keyOf, keyText, type KubeObject, type ObjectKey, type ResourceRef } from '../api/meta.ts';
import type { ResourceClient, WatchEvent } from './client.ts';
import { compareResourceVersions, type IndexFunction, type Lister, ObjectStore } from './object-store.ts';
import { reflect, type ReflectorOptions, type ReflectorSink } from './reflector.ts';

/** Called synchronously, in the order of changes, after the cache holds the change. Must not throw and must not block. */
export interface InformerHandler<T extends KubeObject> {
  added?(obj: Frozen<T>): void;
  updated?(next: Frozen<T>, previous: Frozen<T>): void;
  /** `obj` is the last known version. */
  deleted?(obj: Frozen<T>): void;
}

export interface Informer<T extends KubeObject> extends Lister<T> {
  readonly ref: ResourceRef<T>;
  /** True once the cache has held the whole collection. */
  readonly synced: boolean;
  /** Resolves when synced; rejects with the signal's reason. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Hears of everything there is (as added) and of every change from now on. Returns how to stop listening. */
  on(handler: InformerHandler<T>): () => void;
  addIndex(name: string, of: IndexFunction<T>): void;
  /**
   * Puts the server's answer to a write into the cache, so that the writer reads its own writes at once instead of counting
   * expectations. An answer that the watch has already passed is ignored.
   */
  wrote(obj: Frozen<T>): void;
}

export class SharedInformer<T extends KubeObject> implements Informer<T>, ReflectorSink<T> {
  readonly ref: ResourceRef<T>;
  readonly #client: ResourceClient<T>;
  readonly #options: ReflectorOptions;
  readonly #store = new ObjectStore<T>();
  readonly #handlers = new Set<InformerHandler<T>>();
  readonly #synced = deferred();
  #isSynced = false;
  /** What the watch has shown us for certain. */
  #seenVersion = '';

  constructor(client: ResourceClient<T>, options: ReflectorOptions) {
    this.ref = client.ref;
    this.#client = client;
    this.#options = options;
  }

  run(signal: AbortSignal): Promise<void> {
    return reflect(this.#client, this, this.#options, signal);
  }

  get synced(): boolean {
    return this.#isSynced;
  }

  get size(): number {
    return this.#store.size;
  }

  get(key: ObjectKey): Frozen<T> | undefined {
    return this.#store.get(key);
  }

  list(namespace?: string): readonly Frozen<T>[] {
    return this.#store.list(namespace);
  }

  indexed(index: string, value: string): readonly Frozen<T>[] {
    return this.#store.indexed(index, value);
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#store.addIndex(name, of);
  }

  whenSynced(signal?: AbortSignal): Promise<void> {
    if (this.#isSynced || !signal) return this.#synced.promise;
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason as Error);
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      void this.#synced.promise.then(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }

  on(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const obj of this.#store.list()) handler.added?.(obj);
    return () => void this.#handlers.delete(handler);
  }

  wrote(obj: Frozen<T>): void {
    if (!this.#isSynced) return;
    const version = versionOf(obj);
    if (compareResourceVersions(version, this.#seenVersion) > 0) this.#put(obj);
  }

  replace(items: readonly Frozen<T>[], resourceVersion: string): void {
    const listed = new Set<string>();
    for (const item of items) {
      listed.add(keyText(keyOf(item as unknown as KubeObject)));
      this.#put(item);
    }
    for (const obj of this.#store.list()) {
      const newer = compareResourceVersions(versionOf(obj), resourceVersion) > 0;
      if (!newer && !listed.has(keyText(keyOf(obj as unknown as KubeObject)))) this.#drop(obj);
    }
    this.#seenVersion = resourceVersion;
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#synced.resolve();
  }

  event(event: WatchEvent<T>): void {
    if (event.type === 'DELETED') this.#drop(event.object);
    else if (event.type !== 'BOOKMARK') this.#put(event.object);
    this.#seenVersion = versionOf(event.object);
  }

  #put(obj: Frozen<T>): void {
    const before = this.#store.get(keyOf(obj as unknown as KubeObject));
    if (before && compareResourceVersions(versionOf(obj), versionOf(before)) <= 0) return;
    this.#store.set(obj);
    const replaced = before && uidOf(before) !== uidOf(obj);
    for (const handler of this.#handlers) {
      if (replaced) handler.deleted?.(before);
      if (before && !replaced) handler.updated?.(obj, before);
      else handler.added?.(obj);
    }
  }

  #drop(obj: Frozen<T>): void {
    const key = keyOf(obj as unknown as KubeObject);
    const before = this.#store.get(key);
    // A newer version means that the name was taken again before we heard that it was free.
    if (!before || compareResourceVersions(versionOf(before), versionOf(obj)) > 0) return;
    this.#store.delete(key);
    for (const handler of this.#handlers) handler.deleted?.(obj);
  }
}

function versionOf(obj: unknown): string {
  return (obj as KubeObject).metadata.resourceVersion;
}

function uidOf(obj: unknown): string {
  return (obj as KubeObject).metadata.uid;
}

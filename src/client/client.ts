// Owns the client's interface: typed access to resources over any transport.
import type { DeleteOptions, Patch, WatchEventType } from './options.ts';
import type { Frozen, KubeObject, New, ObjectKey, ResourceRef } from '../api/meta.ts';

export interface WatchEvent<T> {
  readonly type: WatchEventType;
  /** For BOOKMARK only metadata.resourceVersion (and annotations) are set. ERROR events are thrown as StatusError instead. */
  readonly object: Frozen<T>;
}

export interface ListResult<T> {
  readonly resourceVersion: string;
  /** Pass as `continue` for the next page; empty at the end. */
  readonly continue: string;
  readonly remainingItemCount?: number;
  readonly items: readonly Frozen<T>[];
}

export interface ListOptions {
  /** Absent or empty: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
  readonly signal?: AbortSignal;
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  readonly allowWatchBookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

export interface WriteOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  /** For apply patches. */
  readonly force?: boolean;
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
  readonly signal?: AbortSignal;
  /** "status", "scale", "binding", … */
  readonly subresource?: string;
}

/** Access to one resource. All methods throw StatusError for what the server refuses. Answers are frozen and may be shared. */
export interface ResourceClient<T extends KubeObject> {
  readonly ref: ResourceRef<T>;
  get(
    key: ObjectKey,
    options?: { readonly resourceVersion?: string; readonly signal?: AbortSignal },
  ): Promise<Frozen<T>>;
  list(options?: ListOptions): Promise<ListResult<T>>;
  /** Ends when the server ends it or the signal aborts. */
  watch(options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create(obj: New<T> | Frozen<New<T>>, options?: WriteOptions): Promise<Frozen<T>>;
  /** Refused with Conflict unless metadata.resourceVersion (when set) is the newest. */
  update(obj: T | Frozen<T>, options?: WriteOptions): Promise<Frozen<T>>;
  updateStatus(obj: T | Frozen<T>, options?: WriteOptions): Promise<Frozen<T>>;
  patch(key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<Frozen<T>>;
  /** The object as the server answered it (a pod that is now terminating, say); undefined when it answered a Status. */
  delete(key: ObjectKey, options?: DeleteOptions): Promise<Frozen<T> | undefined>;
  deleteCollection(list: ListOptions, options?: DeleteOptions): Promise<void>;
  /** POSTs to a subresource: `pods/binding`, `pods/eviction`, `serviceaccounts/token`. */
  createSubresource<B extends object, A = unknown>(
    key: ObjectKey,
    subresource: string,
    body: B,
    options?: WriteOptions,
  ): Promise<A>;
}

export interface Client {
  resource<T extends KubeObject>(ref: ResourceRef<T>): ResourceClient<T>;
  /** Any path, for discovery and what has no typed form: the parsed JSON answer. */
  raw(
    method: string,
    path: string,
    options?: {
      readonly body?: unknown;
      readonly contentType?: string;
      readonly accept?: string;
      readonly signal?: AbortSignal;
    },
  ): Promise<unknown>;
}

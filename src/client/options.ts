// Owns the small words of requests: patches, deletion, watch event types.

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

export type Patch =
  | { readonly type: 'json'; readonly operations: readonly unknown[] }
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'strategic'; readonly body: object }
  | { readonly type: 'apply'; readonly body: object };

export const patchContentTypes: Readonly<Record<Patch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

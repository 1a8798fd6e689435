// Owns the paths and queries of the REST API as clients write them; knows no transport.
import { apiVersionOf, type ResourceRef } from '../api/meta.ts';
import type { ListOptions, WatchOptions, WriteOptions } from './client.ts';

type Place = Pick<ResourceRef, 'group' | 'version' | 'plural' | 'namespaced'>;

/** "/apis/apps/v1/namespaces/default/deployments/web/status". An empty namespace means all of them. */
export function resourcePath(ref: Place, namespace: string, name = '', subresource = ''): string {
  let path = ref.group === '' ? `/api/${ref.version}` : `/apis/${apiVersionOf(ref)}`;
  if (ref.namespaced && namespace !== '') path += `/namespaces/${encodeURIComponent(namespace)}`;
  path += `/${ref.plural}`;
  if (name !== '') path += `/${encodeURIComponent(name)}`;
  if (subresource !== '') path += `/${subresource}`;
  return path;
}

export function listQuery(options: ListOptions): URLSearchParams {
  const query = new URLSearchParams();
  if (options.labelSelector) query.set('labelSelector', options.labelSelector);
  if (options.fieldSelector) query.set('fieldSelector', options.fieldSelector);
  if (options.limit) query.set('limit', String(options.limit));
  if (options.continue) query.set('continue', options.continue);
  if (options.resourceVersion !== undefined) query.set('resourceVersion', options.resourceVersion);
  if (options.resourceVersionMatch) query.set('resourceVersionMatch', options.resourceVersionMatch);
  return query;
}

export function watchQuery(options: WatchOptions): URLSearchParams {
  const query = listQuery(options);
  query.set('watch', 'true');
  if (options.allowWatchBookmarks) query.set('allowWatchBookmarks', 'true');
  if (options.sendInitialEvents !== undefined) query.set('sendInitialEvents', String(options.sendInitialEvents));
  if (options.timeoutSeconds !== undefined) query.set('timeoutSeconds', String(options.timeoutSeconds));
  return query;
}

export function writeQuery(options: WriteOptions): URLSearchParams | undefined {
  if (!options.dryRun && !options.fieldManager && !options.force && !options.fieldValidation) return undefined;
  const query = new URLSearchParams();
  if (options.dryRun) query.set('dryRun', 'All');
  if (options.fieldManager) query.set('fieldManager', options.fieldManager);
  if (options.force) query.set('force', 'true');
  if (options.fieldValidation) query.set('fieldValidation', options.fieldValidation);
  return query;
}

// Owns the typed client over a transport: requests as paths and bodies, answers as objects. Knows no sockets and no retries.
import {
  apiVersionOf,
  type Frozen,
  keyOf,
  type KubeList,
  type KubeObject,
  type New,
  type ObjectKey,
  type ResourceRef,
} from '../api/meta.ts';
import type { Status } from '../api/generated/meta.v1.ts';
import { StatusError } from '../api/status-error.ts';
import type {
  Client,
  ListOptions,
  ListResult,
  ResourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { type DeleteOptions, type Patch, patchContentTypes, type WatchEventType } from './options.ts';
import { listQuery, resourcePath, watchQuery, writeQuery } from './paths.ts';
import type { Transport, TransportRequest } from './transport.ts';

export function client(transport: Transport): Client {
  const known = new Map<string, ResourceClient<KubeObject>>();
  return {
    resource<T extends KubeObject>(ref: ResourceRef<T>): ResourceClient<T> {
      const id = `${ref.group}/${ref.version}/${ref.plural}`;
      const found = known.get(id) ?? (resourceClient(transport, ref) as unknown as ResourceClient<KubeObject>);
      known.set(id, found);
      return found as unknown as ResourceClient<T>;
    },
    raw(method, path, options = {}) {
      const mark = path.indexOf('?');
      return transport.call({
        method: method as TransportRequest['method'],
        path: mark < 0 ? path : path.slice(0, mark),
        ...(mark >= 0 && { query: new URLSearchParams(path.slice(mark + 1)) }),
        ...options,
      });
    },
  };
}

function resourceClient<T extends KubeObject>(transport: Transport, ref: ResourceRef<T>): ResourceClient<T> {
  const send = (
    method: TransportRequest['method'],
    path: string,
    body: unknown,
    options: WriteOptions,
    contentType?: string,
  ): Promise<Frozen<T>> =>
    transport.call({
      method,
      path,
      body,
      ...optional('query', writeQuery(options)),
      ...optional('contentType', contentType),
      ...optional('signal', options.signal),
    }) as Promise<Frozen<T>>;

  const put = (obj: T | Frozen<T>, subresource: string, options: WriteOptions): Promise<Frozen<T>> => {
    const { namespace, name } = keyOf(obj);
    return send('PUT', resourcePath(ref, namespace, name, subresource), withType(ref, obj), options);
  };

  return {
    ref,
    get: (key, options = {}) =>
      transport.call({
        method: 'GET',
        path: resourcePath(ref, key.namespace, key.name),
        ...optional('query', options.resourceVersion ? listQuery(options) : undefined),
        ...optional('signal', options.signal),
      }) as Promise<Frozen<T>>,
    list: (options = {}) => list(transport, ref, options),
    watch: (options = {}) => watch(transport, ref, options),
    create: (obj: New<T> | Frozen<New<T>>, options: WriteOptions = {}) => {
      const { metadata: meta } = obj as { readonly metadata: { readonly namespace?: string; readonly name?: string } };
      const path = resourcePath(ref, meta.namespace ?? '', options.subresource ? meta.name : '', options.subresource);
      return send('POST', path, withType(ref, obj), options);
    },
    update: (obj, options = {}) => put(obj, options.subresource ?? '', options),
    updateStatus: (obj, options = {}) => put(obj, 'status', options),
    patch: (key: ObjectKey, patch: Patch, options: WriteOptions = {}) =>
      send(
        'PATCH',
        resourcePath(ref, key.namespace, key.name, options.subresource),
        patch.type === 'json' ? patch.operations : patch.body,
        options,
        patchContentTypes[patch.type],
      ),
    async delete(key, options = {}) {
      const answer = (await transport.call({
        method: 'DELETE',
        path: resourcePath(ref, key.namespace, key.name),
        body: deleteBody(options),
        ...optional('signal', options.signal),
      })) as Frozen<T> | Frozen<Status>;
      return answer.kind === 'Status' && ref.kind !== ('Status' as T['kind']) ? undefined : (answer as Frozen<T>);
    },
    async deleteCollection(options, deletion = {}) {
      await transport.call({
        method: 'DELETE',
        path: resourcePath(ref, options.namespace ?? ''),
        query: listQuery(options),
        body: deleteBody(deletion),
        ...optional('signal', deletion.signal ?? options.signal),
      });
    },
    createSubresource: <B extends object, A>(
      key: ObjectKey,
      subresource: string,
      body: B,
      options: WriteOptions = {},
    ) => send('POST', resourcePath(ref, key.namespace, key.name, subresource), body, options) as unknown as Promise<A>,
  };
}

async function list<T extends KubeObject>(
  transport: Transport,
  ref: ResourceRef<T>,
  options: ListOptions,
): Promise<ListResult<T>> {
  const answer = (await transport.call({
    method: 'GET',
    path: resourcePath(ref, options.namespace ?? ''),
    query: listQuery(options),
    ...optional('signal', options.signal),
  })) as Frozen<KubeList<T>>;
  const { resourceVersion, continue: more, remainingItemCount } = answer.metadata;
  return {
    resourceVersion: resourceVersion ?? '',
    continue: more ?? '',
    ...optional('remainingItemCount', remainingItemCount),
    items: (answer.items ?? []).map((item) => withType(ref, item as Frozen<T>)),
  };
}

async function* watch<T extends KubeObject>(
  transport: Transport,
  ref: ResourceRef<T>,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const events = transport.watch({
    method: 'GET',
    path: resourcePath(ref, options.namespace ?? ''),
    query: watchQuery(options),
    ...optional('signal', options.signal),
  });
  for await (const { type, object } of events) {
    if (type === 'ERROR') throw new StatusError(object as Status);
    yield { type: type as WatchEventType, object: object as Frozen<T> };
  }
}

/** Items of lists carry no kind on the wire; objects in caches must. */
function withType<T extends object>(ref: ResourceRef, obj: T): T {
  const typed = obj as { readonly apiVersion?: string; readonly kind?: string };
  if (typed.kind !== undefined && typed.apiVersion !== undefined) return obj;
  return Object.freeze({ ...obj, apiVersion: apiVersionOf(ref), kind: ref.kind });
}

function deleteBody(options: DeleteOptions): object | undefined {
  const { gracePeriodSeconds, propagationPolicy, preconditions, dryRun } = options;
  if (gracePeriodSeconds === undefined && !propagationPolicy && !preconditions && !dryRun) return undefined;
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...optional('gracePeriodSeconds', gracePeriodSeconds),
    ...optional('propagationPolicy', propagationPolicy),
    ...optional('preconditions', preconditions),
    ...(dryRun && { dryRun: ['All'] }),
  };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}

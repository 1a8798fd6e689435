// Owns a small API server in memory for controller tests: versions, watches, conflicts, status, finalizers. No defaults, no validation, no authority.
import { type Frozen, freeze, type KubeObject, type ResourceRef, thaw } from '../api/meta.ts';
import { alreadyExists, badRequest, conflict, notFound, statusError } from '../api/status-error.ts';
import { deferred } from '../base/task-group.ts';
import type { Clock } from '../base/clock.ts';
import { type Random, randomSuffix, randomUuid } from '../base/random.ts';
import type { Transport, TransportRequest } from '../client/transport.ts';
import * as resources from '../api/generated/resources.ts';

export interface MemoryApi extends Transport {
  /** All requests so far, "POST /api/v1/namespaces/default/pods": what a controller did. */
  readonly requests: string[];
  /** Adds resources (custom ones) to those of the generated list. */
  serve(ref: ResourceRef): void;
  /** The next request for which `when` is true fails with `error`. */
  failOnce(when: (request: TransportRequest) => boolean, error: Error): void;
  /** Ends every open watch, as a server that restarts does. */
  endWatches(): void;
  /** Forgets history: watches from before now are refused with 410. */
  compact(): void;
}

interface Target {
  readonly ref: ResourceRef;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

interface Change {
  readonly type: string;
  readonly object: Frozen<KubeObject>;
  readonly previous?: Frozen<KubeObject>;
  readonly resource: string;
  readonly version: number;
}

type Mutable = KubeObject & { spec?: Record<string, unknown>; status?: unknown };

export function memoryApi(options: { readonly clock: Clock; readonly random: Random }): MemoryApi {
  return new Memory(options.clock, options.random);
}

class Memory implements MemoryApi {
  readonly requests: string[] = [];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #refs = new Map<string, ResourceRef>();
  readonly #objects = new Map<string, Map<string, Frozen<KubeObject>>>();
  readonly #history: Change[] = [];
  readonly #failures: { when: (request: TransportRequest) => boolean; error: Error }[] = [];
  #version = 1;
  #compacted = 0;
  #wake = deferred();
  #epoch = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    for (const ref of Object.values(resources)) this.serve(ref as unknown as ResourceRef);
  }

  serve(ref: ResourceRef): void {
    this.#refs.set(`${ref.group}/${ref.version}/${ref.plural}`, ref);
  }

  failOnce(when: (request: TransportRequest) => boolean, error: Error): void {
    this.#failures.push({ when, error });
  }

  endWatches(): void {
    this.#epoch++;
    this.#signal();
  }

  compact(): void {
    this.#compacted = this.#version;
    this.#history.length = 0;
  }

  async call(request: TransportRequest): Promise<Frozen<unknown>> {
    request.signal?.throwIfAborted();
    await Promise.resolve();
    this.requests.push(`${request.method} ${request.path}`);
    const failing = this.#failures.findIndex(({ when }) => when(request));
    if (failing >= 0) throw this.#failures.splice(failing, 1)[0]!.error;
    const discovery = this.#discovery(request.path);
    if (discovery) return freeze(discovery) as Frozen<unknown>;
    const target = this.#target(request.path);
    if (target.subresource !== '' && !['status', 'finalize'].includes(target.subresource))
      return this.#postSubresource(target, request);
    switch (request.method) {
      case 'GET':
        return target.name === '' ? this.#list(target, request.query) : this.#existing(target);
      case 'POST':
        return this.#create(target, request.body as Mutable);
      case 'PUT':
        return this.#update(target, thaw<Mutable>(request.body as Frozen<Mutable>));
      case 'PATCH':
        return this.#patch(target, request);
      case 'DELETE':
        return target.name === '' ? this.#deleteAll(target, request) : this.#delete(target, request.body);
    }
  }

  async *watch(request: TransportRequest): AsyncGenerator<{ type: string; object: unknown }> {
    const { ref, namespace } = this.#target(request.path);
    const query = request.query ?? new URLSearchParams();
    const resource = idOf(ref);
    const matches = selection(namespace, query);
    let from = Number(query.get('resourceVersion') ?? this.#version);
    const epoch = this.#epoch;
    if (query.get('sendInitialEvents') === 'true') {
      from = this.#version;
      const objects = [...this.#collection(resource).values()].filter(matches);
      for (const object of objects) yield { type: 'ADDED', object };
      yield { type: 'BOOKMARK', object: bookmark(ref, from) };
    } else if (from < this.#compacted) throw statusError('Expired', 'too old resource version');
    let aborted = request.signal?.aborted ?? false;
    request.signal?.addEventListener('abort', () => {
      aborted = true;
      this.#signal();
    });
    for (let next = this.#history.findIndex((change) => change.version > from); ; ) {
      while (next >= 0 && next < this.#history.length) {
        const change = this.#history[next++]!;
        const event = change.resource === resource && change.version > from ? seen(change, matches) : undefined;
        if (event) yield event;
        if (aborted || epoch !== this.#epoch) return;
      }
      if (next < 0) next = this.#history.length;
      const wake = this.#wake.promise;
      if (aborted || epoch !== this.#epoch) return;
      if (next >= this.#history.length) await wake;
      if (next > this.#history.length) next = this.#history.length;
    }
  }

  #signal(): void {
    const wake = this.#wake;
    this.#wake = deferred();
    wake.resolve();
  }

  #collection(resource: string): Map<string, Frozen<KubeObject>> {
    const found = this.#objects.get(resource) ?? new Map<string, Frozen<KubeObject>>();
    this.#objects.set(resource, found);
    return found;
  }

  #commit(target: Target, type: 'ADDED' | 'MODIFIED' | 'DELETED', obj: KubeObject): Frozen<KubeObject> {
    const version = ++this.#version;
    obj.metadata.resourceVersion = String(version);
    const object = freeze(obj);
    const collection = this.#collection(idOf(target.ref));
    const key = `${obj.metadata.namespace ?? ''}/${obj.metadata.name}`;
    const previous = collection.get(key);
    if (type === 'DELETED') collection.delete(key);
    else collection.set(key, object);
    this.#history.push({ type, object, ...(previous && { previous }), resource: idOf(target.ref), version });
    this.#signal();
    return object;
  }

  #discovery(path: string): object | undefined {
    const groups = new Set([...this.#refs.values()].map((ref) => `${ref.group}/${ref.version}`));
    if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] };
    if (path === '/apis')
      return {
        kind: 'APIGroupList',
        groups: [...groups]
          .filter((id) => !id.startsWith('/'))
          .map((id) => {
            const [name, version] = id.split('/');
            const entry = { groupVersion: id, version };
            return { name, versions: [entry], preferredVersion: entry };
          }),
      };
    const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)$/.exec(path);
    if (!match) return undefined;
    const refs = [...this.#refs.values()].filter((ref) => ref.group === (match[1] ?? '') && ref.version === match[2]);
    return {
      kind: 'APIResourceList',
      groupVersion: match[1] ? `${match[1]}/${match[2]}` : match[2],
      resources: refs.map((ref) => ({
        name: ref.plural,
        singularName: ref.kind.toLowerCase(),
        namespaced: ref.namespaced,
        kind: ref.kind,
        verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      })),
    };
  }

  #target(path: string): Target {
    const parts = path.split('/').map(decodeURIComponent).slice(1);
    const [group, version] = parts[0] === 'api' ? ['', parts[1]] : [parts[1], parts[2]];
    const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
    const scoped = rest[0] === 'namespaces' && rest.length > 2 && this.#refs.has(`${group}/${version}/${rest[2]}`);
    const [plural, name = '', ...subresource] = scoped ? rest.slice(2) : rest;
    const ref = this.#refs.get(`${group}/${version}/${plural}`);
    if (!ref) throw statusError('NotFound', 'the server could not find the requested resource');
    return { ref, namespace: scoped ? rest[1]! : '', name, subresource: subresource.join('/') };
  }

  #existing(target: Target): Frozen<KubeObject> {
    const found = this.#collection(idOf(target.ref)).get(`${target.namespace}/${target.name}`);
    if (!found) throw notFound(target.ref, target.name);
    return found;
  }

  #list(target: Target, query = new URLSearchParams()): Frozen<unknown> {
    const items = [...this.#collection(idOf(target.ref)).values()].filter(selection(target.namespace, query));
    return freeze({
      apiVersion: 'v1',
      kind: `${target.ref.kind}List`,
      metadata: { resourceVersion: String(this.#version) },
      items,
    });
  }

  #create(target: Target, body: Mutable): Frozen<KubeObject> {
    const obj = thaw<Mutable>(body as Frozen<Mutable>);
    const meta = obj.metadata;
    if (target.namespace) meta.namespace = target.namespace;
    if (!meta.name && meta.generateName) meta.name = meta.generateName + randomSuffix(this.#random);
    if (!meta.name) throw badRequest('name or generateName is required');
    if (target.ref.namespaced && target.ref.group + target.ref.plural !== 'namespaces') {
      const namespace = this.#collection('/namespaces').get(`/${meta.namespace}`);
      if (namespace?.metadata.deletionTimestamp)
        throw statusError('Forbidden', 'namespace is being terminated', {
          causes: [{ reason: 'NamespaceTerminating', message: '', field: 'metadata.namespace' }],
        });
    }
    if (this.#collection(idOf(target.ref)).has(`${meta.namespace ?? ''}/${meta.name}`))
      throw alreadyExists(target.ref, meta.name);
    meta.uid = randomUuid(this.#random);
    meta.creationTimestamp = this.#timestamp();
    meta.generation = 1;
    if (target.ref.kind === 'Namespace') obj.spec = { finalizers: ['kubernetes'] };
    return this.#commit(target, 'ADDED', obj);
  }

  #update(target: Target, next: Mutable): Frozen<KubeObject> {
    const before = this.#existing(target) as Frozen<Mutable>;
    const given = next.metadata.resourceVersion;
    if (given && given !== before.metadata.resourceVersion)
      throw conflict(target.ref, target.name, 'the object has been modified');
    if (next.metadata.uid && next.metadata.uid !== before.metadata.uid)
      throw conflict(target.ref, target.name, 'the UID does not match');
    const merged = mergeBySubresource(target.subresource, next, before);
    merged.metadata.uid = before.metadata.uid;
    merged.metadata.creationTimestamp = before.metadata.creationTimestamp;
    if (JSON.stringify(sorted(merged)) === JSON.stringify(sorted(before))) return before;
    if (JSON.stringify(merged.spec) !== JSON.stringify(before.spec))
      merged.metadata.generation = (before.metadata.generation ?? 0) + 1;
    return this.#commit(target, this.#isGone(target.ref, merged) ? 'DELETED' : 'MODIFIED', merged);
  }

  #isGone(ref: ResourceRef, obj: Mutable): boolean {
    if (!obj.metadata.deletionTimestamp || obj.metadata.finalizers?.length) return false;
    if (ref.kind === 'Namespace') return ((obj.spec?.['finalizers'] as unknown[] | undefined)?.length ?? 0) === 0;
    return (obj.metadata.deletionGracePeriodSeconds ?? 0) === 0;
  }

  #patch(target: Target, request: TransportRequest): Frozen<KubeObject> {
    const type = request.contentType ?? '';
    if (type.includes('json-patch')) throw badRequest('the in-memory API takes merge and strategic patches only');
    const before = this.#existing(target);
    const next = mergePatch(thaw(before), request.body, type.includes('strategic')) as Mutable;
    return this.#update(target, next);
  }

  #delete(target: Target, body: unknown): Frozen<unknown> {
    const options = (body ?? {}) as {
      gracePeriodSeconds?: number;
      propagationPolicy?: string;
      preconditions?: { uid?: string; resourceVersion?: string };
    };
    const before = this.#existing(target);
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (
      (uid && uid !== before.metadata.uid) ||
      (resourceVersion && resourceVersion !== before.metadata.resourceVersion)
    )
      throw conflict(target.ref, target.name, 'Precondition failed');
    const obj = thaw<Mutable>(before as Frozen<Mutable>);
    const { metadata } = obj;
    const finalizer = { Foreground: 'foregroundDeletion', Orphan: 'orphan' }[options.propagationPolicy ?? ''];
    if (finalizer && !metadata.finalizers?.includes(finalizer))
      metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
    const assigned = target.ref.kind === 'Pod' && obj.spec?.['nodeName'];
    const grace = assigned
      ? (options.gracePeriodSeconds ?? (obj.spec?.['terminationGracePeriodSeconds'] as number | undefined) ?? 30)
      : 0;
    if (
      metadata.deletionTimestamp &&
      grace >= (metadata.deletionGracePeriodSeconds ?? 0) &&
      !this.#isGone(target.ref, obj)
    )
      return before;
    metadata.deletionTimestamp ??= this.#timestamp(grace);
    metadata.deletionGracePeriodSeconds = grace;
    return this.#commit(target, this.#isGone(target.ref, obj) ? 'DELETED' : 'MODIFIED', obj);
  }

  #deleteAll(target: Target, request: TransportRequest): Frozen<unknown> {
    const matches = selection(target.namespace, request.query ?? new URLSearchParams());
    for (const obj of [...this.#collection(idOf(target.ref)).values()].filter(matches))
      this.#delete({ ...target, namespace: obj.metadata.namespace ?? '', name: obj.metadata.name }, request.body);
    return freeze({ apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Success' });
  }

  #postSubresource(target: Target, request: TransportRequest): Frozen<unknown> {
    const before = this.#existing(target);
    if (target.subresource === 'approval')
      return this.#update({ ...target, subresource: 'status' }, thaw<Mutable>(request.body as Frozen<Mutable>));
    if (target.subresource !== 'binding') throw badRequest(`the in-memory API has no ${target.subresource}`);
    const pod = thaw<Mutable>(before as Frozen<Mutable>);
    const body = request.body as { target: { name: string } };
    pod.spec = { ...pod.spec, nodeName: body.target.name };
    this.#commit(target, 'MODIFIED', pod);
    return freeze({ apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Success' });
  }

  #timestamp(laterSeconds = 0): string {
    return `${new Date(this.#clock.now() + laterSeconds * 1000).toISOString().slice(0, 19)}Z`;
  }
}

function idOf(ref: ResourceRef): string {
  return `${ref.group}/${ref.plural}`;
}

function bookmark(ref: ResourceRef, version: number): object {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  return freeze({ kind: ref.kind, metadata: { resourceVersion: String(version), annotations } });
}

/** What a watcher with a selection sees of a change: objects that leave it are deleted, those that enter it added. */
function seen(
  change: Change,
  matches: (obj: Frozen<KubeObject>) => boolean,
): { type: string; object: unknown } | undefined {
  const after = change.type !== 'DELETED' && matches(change.object);
  const before = change.previous !== undefined && matches(change.previous);
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', object: change.object };
  return before ? { type: 'DELETED', object: change.object } : undefined;
}

function selection(namespace: string, query: URLSearchParams): (obj: Frozen<KubeObject>) => boolean {
  const labels = terms(query.get('labelSelector'));
  const fields = terms(query.get('fieldSelector'));
  return (obj) =>
    (namespace === '' || obj.metadata.namespace === namespace) &&
    labels.every(([key, value, negated]) => (obj.metadata.labels?.[key] === value) !== negated) &&
    fields.every(([path, value, negated]) => (String(at(obj, path) ?? '') === value) !== negated);
}

function terms(text: string | null): [string, string, boolean][] {
  return (text ?? '')
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const match = /^([^=!]+)(!?)==?(.*)$|^([^=!]+)(!)=(.*)$/.exec(term);
      if (!match) throw badRequest(`the in-memory API takes = and != selectors only, not ${term}`);
      return [match[1] ?? match[4]!, match[3] ?? match[6]!, (match[2] ?? match[5]) === '!'];
    });
}

function at(obj: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], obj);
}

function mergeBySubresource(subresource: string, next: Mutable, before: Frozen<Mutable>): Mutable {
  if (subresource === '' && next.kind === 'Namespace') return { ...next, spec: thaw(before).spec ?? {} };
  if (subresource === '') {
    if ('status' in before) return { ...next, status: thaw(before).status };
    const { status: _ignored, ...rest } = next;
    return rest;
  }
  const kept = thaw<Mutable>(before);
  if (subresource === 'status') {
    kept.status = next.status;
    // As upstream's deployments/status, through which revisions are annotated.
    if (next.metadata.annotations) kept.metadata.annotations = next.metadata.annotations;
  } else if (next.spec) kept.spec = next.spec;
  return kept;
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).filter(([key, inner]) => key !== 'resourceVersion' && inner !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, sorted(inner)]));
}

/** RFC 7396; in strategic patches conditions merge by type, owners by uid, finalizers as a set, all other lists are replaced. */
function mergePatch(target: unknown, patch: unknown, strategic: boolean, field = ''): unknown {
  const mergeKey = { conditions: 'type', ownerReferences: 'uid' }[field];
  if (Array.isArray(patch) && strategic && mergeKey) {
    const entries = patch as Record<string, unknown>[];
    const kept = ((target ?? []) as Record<string, unknown>[]).filter(
      (old) => !entries.some((one) => one[mergeKey] === old[mergeKey]),
    );
    return [...kept, ...entries.filter((one) => one['$patch'] !== 'delete')];
  }
  if (Array.isArray(patch) && strategic && field === 'finalizers')
    return [...new Set([...((target ?? []) as unknown[]), ...(patch as unknown[])])];
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result = (typeof target === 'object' && target !== null ? { ...target } : {}) as Record<string, unknown>;
  const dropped = (patch as Record<string, unknown>)['$deleteFromPrimitiveList/finalizers'] as string[] | undefined;
  if (dropped)
    result['finalizers'] = ((result['finalizers'] ?? []) as string[]).filter((one) => !dropped.includes(one));
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value, strategic, key);
  }
  return result;
}

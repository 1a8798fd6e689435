// Owns server-side apply as a request: who asks, the configuration as it was sent, an object made where there is none. Merging is the API room's.
import { applyConfiguration } from '../../api/apply/apply.ts';
import type { ApplyResult } from '../../api/apply/apply.ts';
import type { WriteContext } from '../../api/apply/update.ts';
import { decodeCbor } from '../../api/codec/cbor.ts';
import { plainValue } from '../../api/codec/json-parse.ts';
import { parseYaml } from '../../api/codec/yaml.ts';
import { apiVersionOf, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { badRequest, conflict, isNotFound } from '../../api/status-error.ts';
import type { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { checkKind, checkName, complain, contentTypeOf, nameless } from './body.ts';
import { checkNamespace, createObject } from './create.ts';
import { applyAllDefaults, decodeValue, type Expected, schemaOfKind } from './decode.ts';
import { NotConvertible, setManagedFields, withConversions, writeContext } from './field-managers.ts';
import { type WriteOptions, writeOptions } from './options.ts';
import { fromStorage, toStorage } from './strategy.ts';
import { change, isAbout } from './update.ts';

const yamlType = 'application/apply-patch+yaml';
const cborType = 'application/apply-patch+cbor';

/** CBOR counts where it is on. */
export function isApply(request: ApiRequest): boolean {
  const type = contentTypeOf(request);
  return type === yamlType || (type === cborType && request.cbor === true);
}

export interface Applied {
  /** Of the kind that was asked for; otherwise as it was sent. */
  readonly configuration: KubeObject;
  readonly manager: string;
  readonly options: WriteOptions;
  /** What Strict refuses of the text: told of once all else is well. */
  readonly problems: readonly string[];
}

/** Throws StatusError for a request without a manager and for bodies of another kind. */
export async function readApplied(request: ApiRequest, kind: Expected): Promise<Applied> {
  const options = writeOptions(request, 'PatchOptions', true);
  const manager = request.query.get('fieldManager')!;
  const { value, problems } = await readConfiguration(request);
  const configuration = value as KubeObject;
  if (typeof configuration !== 'object' || configuration === null || Array.isArray(configuration))
    throw badRequest('the body must be an object');
  if (configuration.kind !== kind.kind || configuration.apiVersion !== apiVersionOf(kind))
    throw badRequest(`invalid object type: ${configuration.apiVersion ?? ''}, Kind=${configuration.kind ?? ''}`);
  return { configuration, manager, options, problems };
}

async function readConfiguration(request: ApiRequest): Promise<{ value: unknown; problems: readonly string[] }> {
  const { body } = request;
  if (body === undefined) throw badRequest('the request has no body');
  if (body.type === 'object') return { value: body.object, problems: [] };
  const bytes = await body.read();
  if (contentTypeOf(request) === cborType) return { value: decodeCbor(bytes), problems: [] };
  const parsed = parseYaml(bytes);
  return { value: plainValue(parsed), problems: parsed.problems };
}

/** `configuration` merged into what is there, in the stored version, with its managers noted. */
export async function mergeInto(
  served: Served,
  request: ApiRequest,
  { configuration, manager, options, problems }: Applied,
  live: Frozen<KubeObject> | undefined,
  subresource = request.info.subresource,
): Promise<KubeObject> {
  const context = writeContext(served, subresource, request.arrivedMs);
  if (context === undefined) throw badRequest('the kind has no schema to apply by');
  const from = live === undefined ? undefined : fromStorage(served, live);
  const settle = (convert: WriteContext['convert']): ApplyResult =>
    applyConfiguration({
      ...context,
      ...(convert && { convert }),
      live: from,
      applied: configuration,
      manager,
      force: options.force === true,
      kind: served.resource.kind,
    });
  const result =
    served.resource.conversion === undefined
      ? settle(context.convert)
      : await withConversions(served, context, settle).catch(refuseUnconvertible);
  complain(request, problems, options.fieldValidation, configuration);
  if (from !== undefined && result.object === from) {
    // What changes nothing completes nothing either.
    const kept = toStorage(served, thaw(from) as KubeObject);
    setManagedFields(kept, result.managedFields);
    return kept;
  }
  const { object, inexact } = decodeValue(
    { value: result.object, problems: [], oddNumbers: false },
    served.resource,
    true,
  );
  if (inexact !== undefined) request.inexact = inexact;
  const next =
    schemaOfKind(served.resource) === undefined ? (thaw(object as Frozen<KubeObject>) as KubeObject) : object;
  // Custom kinds have filled in what is missing as they read.
  if (served.resource.decode === undefined) applyAllDefaults(served.resource, next, request.arrivedMs);
  const stored = toStorage(served, checkKind(next, served.resource));
  setManagedFields(stored, result.managedFields);
  return stored;
}

function refuseUnconvertible(error: unknown): never {
  throw error instanceof NotConvertible ? badRequest(`failed to convert the object: ${error.message}`) : error;
}

/** Throws Conflict when the configuration is of another version of the object. */
export function checkAppliedVersion({ configuration }: Applied, entry: Entry, served: Served): void {
  const wanted = configuration.metadata?.resourceVersion ?? '';
  if (wanted !== '' && wanted !== '0' && wanted !== String(entry.revision))
    throw conflict(
      served.resource,
      entry.object.metadata.name,
      'the object has been modified; please apply your changes to the latest version and try again',
    );
}

export async function apply(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const applied = await readApplied(request, served.resource);
  const { configuration, options } = applied;
  const { name, subresource } = request.info;
  const merge = async (live: Frozen<KubeObject> | undefined): Promise<KubeObject> => {
    const next = await mergeInto(served, request, applied, live);
    checkPlace(configuration, request, served.resource.namespaced);
    return next;
  };
  try {
    return await change(parts, request, served, options, async (entry) => {
      const next = await merge(entry.object);
      checkAppliedVersion(applied, entry, served);
      return { next, recorded: true };
    });
  } catch (error) {
    if (!isNotFound(error) || subresource !== '' || !isAbout(error, name)) throw error;
    const object = await merge(undefined);
    if (!configuration.metadata?.name) throw nameless(request);
    const { uid } = configuration.metadata;
    if (uid)
      throw conflict(
        served.resource,
        name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    const metadata: Partial<KubeObject['metadata']> = object.metadata;
    delete metadata.resourceVersion;
    return createObject(parts, request, served, object, options, true);
  }
}

/** What a configuration says of its place must be that of the request. Looked at when it is merged: conflicts are told first. */
function checkPlace(applied: KubeObject, request: ApiRequest, namespaced: boolean): void {
  const metadata = applied.metadata as KubeObject['metadata'] | undefined | null;
  if (metadata === undefined || metadata === null) return;
  if (typeof metadata !== 'object') throw badRequest('metadata must be an object');
  if (metadata.name === '') throw nameless(request);
  if (metadata.name) checkName(metadata.name, request);
  if (namespaced && metadata.namespace) checkNamespace(metadata.namespace, request.info.namespace);
}

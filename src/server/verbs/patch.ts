// Owns PATCH: the four kinds of patches by media type, over the API room's pure functions; the rest is the flow of updates.
import { type ParsedJson, parseJson, plainValue } from '../../api/codec/json-parse.ts';
import { decodeCbor } from '../../api/codec/cbor.ts';
import { parseYaml } from '../../api/codec/yaml.ts';
import { applyConfiguration } from '../../api/apply/apply.ts';
import type { ApplyResult } from '../../api/apply/apply.ts';
import type { WriteContext } from '../../api/apply/update.ts';
import { applyJsonPatch, unknownJsonPatchMembers } from '../../api/patch/json-patch.ts';
import { applyMergePatch } from '../../api/patch/merge-patch.ts';
import { applyStrategicPatch } from '../../api/patch/strategic-patch.ts';
import {
  badRequest,
  conflict,
  invalid,
  isNotFound,
  statusError,
  isStatusError,
  type StatusError,
} from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { apiVersionOf, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { Schema } from '../../api/schema/schema.ts';
import type { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { checkKind, complain, contentTypeOf, notOf } from './body.ts';
import { createObject, fitNamespace } from './create.ts';
import { NotConvertible, schemaFor, setManagedFields, withConversions, writeContext } from './field-managers.ts';
import { writeOptions } from './options.ts';
import type { FieldValidation, WriteOptions } from './options.ts';
import { applyAllDefaults, type Decoded, decodeValue, type Expected, schemaOfKind } from './decode.ts';
import { fromStorage, rulesOf, toStorage } from './strategy.ts';
import { change, checkVersion } from './update.ts';

const jsonType = 'application/json-patch+json';
const mergeType = 'application/merge-patch+json';
const strategicType = 'application/strategic-merge-patch+json';
const applyType = 'application/apply-patch+yaml';
/** Where CBOR is on. */
const applyCborType = 'application/apply-patch+cbor';

/** The parsed body of a patch. */
async function readPatch(request: ApiRequest, form: 'json' | 'yaml' | 'cbor'): Promise<ParsedJson> {
  const { body } = request;
  if (body === undefined) throw badRequest('the request has no body');
  if (body.type === 'object') return { value: body.object, problems: [], oddNumbers: false };
  const bytes = await body.read();
  if (form === 'cbor') return { value: decodeCbor(bytes), problems: [], oddNumbers: false };
  const parsed = form === 'yaml' ? parseYaml(bytes) : parseJson(bytes);
  const value = plainValue(parsed);
  const lost = parsed.exactness?.lost;
  if (lost !== undefined) request.inexact = lost;
  return { value, problems: parsed.problems, oddNumbers: false, ...(parsed.sorted && { sorted: true }) };
}

/** Sends the type of a patch to what it does; throws UnsupportedMediaType for any other, and for strategic patches of custom kinds. */
function patcher(
  type: string,
  schema: Schema | undefined,
  custom: boolean,
): (object: unknown, patch: unknown) => unknown {
  if (type === jsonType) return applyJsonPatch;
  if (type === mergeType) return applyMergePatch;
  if (type === strategicType && schema !== undefined && !custom)
    return (object, patch) => applyStrategicPatch(object, patch, schema);
  const supported = custom ? [jsonType, mergeType, applyType] : [jsonType, mergeType, strategicType, applyType];
  throw statusError(
    'UnsupportedMediaType',
    // The router refuses it upstream, for kinds that it knows.
    custom
      ? `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`
      : '415: Unsupported Media Type',
    custom ? undefined : {},
  );
}

/** What is wrong with the outcome is the patch's fault: 422 with the cause `patch`. */
function badPatch(detail: string): StatusError {
  const { reason, message, field } = fieldError.invalid('patch', '', detail);
  return statusError('Invalid', ` "" is invalid: ${field}: ${message}`, { causes: [{ reason, message, field }] });
}

function decodePatched(patched: ParsedJson, resource: Expected): Decoded {
  try {
    const decoded = decodeValue(patched, resource);
    const { apiVersion } = decoded.object;
    if (resource.decode !== undefined && apiVersion !== apiVersionOf(resource) && apiVersion)
      throw notOf(resource.group, decoded.object, 'apiVersion', `must be ${apiVersionOf(resource)}`);
    checkKind(decoded.object, resource);
    return decoded;
  } catch (error) {
    throw isStatusError(error, 'BadRequest') ? badPatch(error.message) : error;
  }
}

export async function patch(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const type = contentTypeOf(request);
  if (type === applyType) return apply(parts, request, served, 'yaml');
  if (type === applyCborType && request.cbor === true) return apply(parts, request, served, 'cbor');
  const run = patcher(type, schemaFor(served), served.custom);
  const options = writeOptions(request, 'PatchOptions');
  if (request.query.has('force'))
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [
      fieldError.forbidden('force', 'may not be specified for non-apply patch'),
    ]);
  const body = await readPatch(request, 'json');
  const problems =
    type === jsonType
      ? [...body.problems, ...problemsCarriedOver(body), ...unknownJsonPatchMembers(body.value)]
      : body.problems;
  const rules = rulesOf(served);
  return change(parts, request, served, options, async (entry) => {
    const current = fromStorage(served, entry.object);
    const patched = run(current, body.value);
    if (typeof patched !== 'object' || patched === null || Array.isArray(patched))
      throw badRequest('the patch leaves no object');
    const decoded = decodePatched({ value: patched, problems, oddNumbers: false }, served.resource);
    if (options.fieldValidation === 'Strict' && decoded.problems.length > 0)
      throw badPatch(`strict decoding error: ${decoded.problems.join(', ')}`);
    const object =
      schemaOfKind(served.resource) === undefined
        ? (thaw(patched as Frozen<KubeObject>) as KubeObject)
        : decoded.object;
    complain(request, decoded.problems, options.fieldValidation, object);
    const next = checkKind(object, served.resource);
    checkPatchedIdentity(next, entry);
    applyAllDefaults(served.resource, next, request.arrivedMs);
    return { next: toStorage(served, next), recorded: false };
  });

  function checkPatchedIdentity(next: KubeObject, entry: Entry): void {
    const prev = entry.object;
    if ((next.metadata.name ?? '') === '') throw badRequest('the patch takes the name away');
    checkVersion(next.metadata.resourceVersion ?? '', entry, served);
    if (next.metadata.name !== prev.metadata.name)
      throw badRequest(
        `the name of the object (${next.metadata.name}) does not match the name on the URL (${prev.metadata.name})`,
      );
    fitNamespace(next, served.resource.namespaced, prev.metadata.namespace ?? '');
    const uid = next.metadata.uid ?? '';
    if (uid !== '' && uid !== prev.metadata.uid)
      throw invalid(rules, prev.metadata.name, [fieldError.invalid('metadata.uid', uid, 'field is immutable')]);
  }
}

const duplicateInValue = /^duplicate field "\[(\d+)\]\.value\.(.+)"$/;

/** What stands twice in the value of an operation stands twice in the outcome as well, and is told there again. */
function problemsCarriedOver({ value, problems }: ParsedJson): string[] {
  return problems.flatMap((problem) => {
    const found = duplicateInValue.exec(problem);
    const operation = found === null || !Array.isArray(value) ? undefined : (value[Number(found[1])] as unknown);
    const { op, path } = (operation ?? {}) as { readonly op?: unknown; readonly path?: unknown };
    if ((op !== 'add' && op !== 'replace') || typeof path !== 'string') return [];
    const place = path.split('/').slice(1).join('.');
    return [`duplicate field "${place === '' ? '' : `${place}.`}${found![2]}"`];
  });
}

/** For views of an object that are kinds of their own (Scale). */
export async function patchOther(
  request: ApiRequest,
  current: Frozen<KubeObject>,
  kind: { readonly group: string; readonly version: string; readonly kind: string },
  validation: FieldValidation,
): Promise<KubeObject> {
  const type = contentTypeOf(request);
  const schema = schemaOf(`${kind.group}/${kind.version}`, kind.kind);
  const body = await readPatch(request, type === applyType ? 'yaml' : 'json');
  const patched =
    type === applyType ? applyMergePatch(current, body.value) : patcher(type, schema, false)(current, body.value);
  const { object, problems } = decodePatched(
    { value: patched as never, problems: body.problems, oddNumbers: false },
    kind,
  );
  if (validation === 'Strict' && problems.length > 0) throw badPatch(`strict decoding error: ${problems.join(', ')}`);
  complain(request, problems, validation, object);
  return checkKind(object, kind);
}

async function apply(parts: Parts, request: ApiRequest, served: Served, form: 'yaml' | 'cbor'): Promise<ApiAnswer> {
  const options = writeOptions(request, 'PatchOptions');
  const manager = request.query.get('fieldManager') ?? '';
  if (manager === '')
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [
      fieldError.required('fieldManager', 'is required for apply patch'),
    ]);
  const context = writeContext(served, request.info.subresource, request.arrivedMs);
  if (context === undefined) throw badRequest('the kind has no schema to apply by');
  const body = await readPatch(request, form);
  const applied = body.value as KubeObject;
  if (typeof applied !== 'object' || applied === null || Array.isArray(applied))
    throw badRequest('the body must be an object');
  complain(request, body.problems, options.fieldValidation, applied);
  const merge = async (live: Frozen<KubeObject> | undefined): Promise<KubeObject> => {
    const settle = (convert: WriteContext['convert']): ApplyResult =>
      applyConfiguration({
        ...context,
        ...(convert && { convert }),
        live: live === undefined ? undefined : fromStorage(served, live),
        applied,
        manager,
        force: options.force === true,
        kind: served.resource.kind,
      });
    const result =
      served.resource.conversion === undefined
        ? settle(context.convert)
        : await withConversions(served, context, settle).catch(refuseUnconvertible);
    checkPlace(applied, request, served.resource.namespaced);
    const { object } = decodeValue({ value: result.object, problems: [], oddNumbers: false }, served.resource, true);
    const next =
      schemaOfKind(served.resource) === undefined ? (thaw(object as Frozen<KubeObject>) as KubeObject) : object;
    // Custom kinds have filled in what is missing as they read.
    if (served.resource.decode === undefined) applyAllDefaults(served.resource, next, request.arrivedMs);
    const stored = toStorage(served, checkKind(next, served.resource));
    setManagedFields(stored, result.managedFields);
    return stored;
  };
  try {
    return await change(parts, request, served, options, async (entry) => {
      const wanted = applied.metadata?.resourceVersion ?? '';
      if (wanted !== '' && wanted !== String(entry.revision))
        throw conflict(
          rulesOf(served),
          request.info.name,
          'the object has been modified; please apply your changes to the latest version and try again',
        );
      return { next: await merge(entry.object), recorded: true };
    });
  } catch (error) {
    if (!isNotFound(error) || request.info.subresource !== '' || aboutOther(error, request)) throw error;
    const created = await merge(undefined);
    const { name, uid } = applied.metadata ?? {};
    if (!name) throw badRequest('name must be provided');
    if (uid)
      throw conflict(
        rulesOf(served),
        request.info.name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    return createApplied(parts, request, served, options, created);
  }
}

function refuseUnconvertible(error: unknown): never {
  throw error instanceof NotConvertible ? badRequest(`failed to convert the object: ${error.message}`) : error;
}

function aboutOther(error: unknown, request: ApiRequest): boolean {
  return (error as { status?: { details?: { name?: string } } }).status?.details?.name !== request.info.name;
}

async function createApplied(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  options: WriteOptions,
  object: KubeObject,
): Promise<ApiAnswer> {
  const metadata: Partial<KubeObject['metadata']> = object.metadata;
  delete metadata.resourceVersion;
  return createObject(parts, request, served, object, options, true);
}

/** What an applied body says of its place must be that of the request. Looked at when it is merged: conflicts are told first. */
function checkPlace({ metadata }: KubeObject, request: ApiRequest, namespaced: boolean): void {
  const { name, namespace } = request.info;
  const given = metadata as KubeObject['metadata'] | undefined | null;
  if (given?.name && given.name !== name)
    throw badRequest(`the name of the object (${given.name}) does not match the name on the URL (${name})`);
  if (namespaced && given?.namespace && given.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

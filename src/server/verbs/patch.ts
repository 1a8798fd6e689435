// Owns PATCH: the kinds of patches by media type, over the API room's pure functions; the rest is the flow of updates. Apply is apply.ts'.
import { type ParsedJson, parseJson, plainNumbers, plainValue } from '../../api/codec/json-parse.ts';
import { applyJsonPatch, unknownJsonPatchMembers } from '../../api/patch/json-patch.ts';
import { applyMergePatch } from '../../api/patch/merge-patch.ts';
import { applyStrategicPatch } from '../../api/patch/strategic-patch.ts';
import { badRequest, statusError, isStatusError, type StatusError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { apiVersionOf, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Schema } from '../../api/schema/schema.ts';
import type { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { apply, isApply } from './apply.ts';
import { checkName, checkWritten, complain, contentTypeOf, nameless, notOf } from './body.ts';
import { fitNamespace } from './create.ts';
import { writeOptions } from './options.ts';
import type { WriteOptions } from './options.ts';
import { applyAllDefaults, type Decoded, decodeValue, type Expected, schemaOfKind } from './decode.ts';
import { fromStorage, toStorage } from './strategy.ts';
import { change, checkVersion } from './update.ts';

const jsonType = 'application/json-patch+json';
const mergeType = 'application/merge-patch+json';
const strategicType = 'application/strategic-merge-patch+json';
const applyType = 'application/apply-patch+yaml';

/** The parsed body of a patch. */
async function readPatch(request: ApiRequest, type: string): Promise<ParsedJson> {
  const { body } = request;
  if (body === undefined) throw badRequest('the request has no body');
  if (body.type === 'object') return { value: body.object, problems: [], oddNumbers: false };
  const parsed = parseJson(await body.read());
  // A JSON patch may test how numbers are written.
  return type === jsonType ? parsed : { ...parsed, value: plainValue(parsed), oddNumbers: false };
}

/** The types of patches that a kind takes. CBOR's is for who asks where it is on: `isApply`. */
const patchTypes: readonly string[] = [jsonType, mergeType, strategicType, applyType];
const customPatchTypes: readonly string[] = [jsonType, mergeType, applyType];

/** Whether what is sent is a patch of a type that is taken: all else is refused before anything is looked at. */
export function isPatchType(request: ApiRequest, custom: boolean): boolean {
  return isApply(request) || (custom ? customPatchTypes : patchTypes).includes(contentTypeOf(request));
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
  throw statusError(
    'UnsupportedMediaType',
    // The router refuses it upstream, for kinds that it knows.
    custom
      ? `the body of the request was in an unknown format - accepted media types include: ${customPatchTypes.join(', ')}`
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
      throw notOf(groupOf(apiVersion), decoded.object, 'apiVersion', `must be ${apiVersionOf(resource)}`);
    checkWritten(decoded.object, resource);
    return decoded;
  } catch (error) {
    throw isStatusError(error, 'BadRequest') ? badPatch(error.message) : error;
  }
}

/** "apps/v1" is of apps, "v1" of the core. */
const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion.split('/')[0]! : '');

export async function patch(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  if (isApply(request)) return apply(parts, request, served);
  const { options, run } = await readRun(request, served.resource, served.custom);
  return change(parts, request, served, options, async (entry) => {
    const next = run(fromStorage(served, entry.object));
    checkPatchedIdentity(next, entry);
    applyAllDefaults(served.resource, next, request.arrivedMs);
    return { next: toStorage(served, next), recorded: false };
  });

  function checkPatchedIdentity(next: KubeObject, entry: Entry): void {
    if ((next.metadata.name ?? '') === '') throw nameless(request);
    checkVersion(next.metadata.resourceVersion ?? '', entry, served);
    checkName(next.metadata.name, request);
    fitNamespace(next, served.resource.namespaced, entry.object.metadata.namespace ?? '');
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

/** A patch as it is asked for, read once; run on each object that is the newest at that time. Throws StatusError. */
export async function readRun(
  request: ApiRequest,
  kind: Expected,
  custom: boolean,
): Promise<{ readonly options: WriteOptions; readonly run: (current: Frozen<KubeObject>) => KubeObject }> {
  const type = contentTypeOf(request);
  const patchTo = patcher(type, schemaOfKind(kind), custom);
  const options = writeOptions(request, 'PatchOptions');
  const body = await readPatch(request, type);
  const problems =
    type === jsonType
      ? [...body.problems, ...problemsCarriedOver(body), ...unknownJsonPatchMembers(body.value)]
      : body.problems;
  const run = (current: Frozen<KubeObject>): KubeObject => {
    const patched = patchTo(current, body.value);
    if (typeof patched !== 'object' || patched === null || Array.isArray(patched))
      throw type === jsonType
        ? statusError('Invalid', 'the patch leaves no object', {})
        : badPatch('the patch leaves no object');
    // A strategic patch is of the kind at hand, whatever it says of that.
    const given = type === strategicType ? { ...patched, ...typeOf(kind) } : patched;
    const { apiVersion = '', kind: said = '' } = given as Partial<KubeObject>;
    if (kind.decode !== undefined && said === '') throw badPatch("Object 'Kind' is missing in the outcome");
    if (apiVersion === '') throw nameless(request);
    const decoded = decodePatched(
      { value: given, problems, oddNumbers: body.oddNumbers, patched: type !== jsonType },
      kind,
    );
    if (decoded.inexact !== undefined) request.inexact = decoded.inexact;
    if (options.fieldValidation === 'Strict' && decoded.problems.length > 0)
      throw badPatch(`strict decoding error: ${decoded.problems.join(', ')}`);
    const object =
      schemaOfKind(kind) === undefined
        ? (thaw(plainNumbers(patched) as Frozen<KubeObject>) as KubeObject)
        : decoded.object;
    complain(request, decoded.problems, options.fieldValidation, object);
    return checkWritten(object, kind);
  };
  return { options, run };
}

function typeOf(kind: Expected): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

// Owns objects as bytes in the negotiated form: single objects, lists, watch frames. Uses what entries hold already.
import { writeJson } from '../../api/codec/json-write.ts';
import { encodeCbor } from '../../api/codec/cbor.ts';
import { writeYaml } from '../../api/codec/yaml-write.ts';
import { encodeProtobuf, encodeWatchFrame } from '../../api/codec/protobuf.ts';
import { schemaOf, schemaOfType } from '../../api/schema/builtin.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { statusError } from '../../api/status-error.ts';
import { apiVersionOf } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Status } from '../../api/generated/meta.v1.ts';
import type { SharedEvent } from '../cache/change.ts';
import type { Entry } from '../cache/entry.ts';
import type { ListAnswer } from '../request.ts';
import type { Served } from '../served/served.ts';
import { versionView } from './version-view.ts';
import { listView, objectView } from './view.ts';
import type { Form } from './form.ts';
import { jsonParts, protobufParts } from './list-parts.ts';
import { mediaTypes } from './form.ts';

export interface Encoded {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Any plain object, without caching. */
export function encodeValue(value: unknown, form: Form): Buffer {
  switch (form.media) {
    case 'protobuf':
      return protobufOf(value);
    case 'yaml':
      return Buffer.from(writeYaml(value));
    case 'cbor':
      return encodeCbor(value);
    default:
      // Upstream ends no indented document with a new line.
      return Buffer.from(form.pretty ? writeJson(value, 2) : `${writeJson(value)}\n`);
  }
}

/** The words of discovery are no kinds of a group version, but have their messages. */
const wordsOfDiscovery: ReadonlySet<string> = new Set(['APIGroup', 'APIGroupList', 'APIResourceList', 'APIVersions']);

function protobufSchema(apiVersion: string | undefined, kind: string): ObjectSchema | undefined {
  if (wordsOfDiscovery.has(kind) && (apiVersion === undefined || apiVersion === 'v1')) {
    const schema = schemaOfType(`meta.v1.${kind}`);
    return schema.type === 'object' ? schema : undefined;
  }
  return apiVersion === undefined ? undefined : (schemaOf(apiVersion, kind) ?? metadataSchema(kind));
}

/** Throws NotAcceptable for kinds that have no protobuf form (custom ones, and what is no kind). */
function protobufOf(value: unknown): Buffer {
  const { apiVersion, kind } = value as { apiVersion?: string; kind?: string };
  const schema = kind === undefined ? undefined : protobufSchema(apiVersion, kind);
  if (schema === undefined)
    throw statusError(
      'NotAcceptable',
      `object *${kind} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message`,
    );
  return encodeProtobuf(schema, value);
}

/** Metadata alone has a protobuf form, also for custom kinds (documentation of "Kubernetes API Concepts"). Tables have none. */
function metadataSchema(kind: string): ObjectSchema | undefined {
  if (kind !== 'PartialObjectMetadata' && kind !== 'PartialObjectMetadataList') return undefined;
  const schema = schemaOfType(`meta.v1.${kind}`);
  return schema.type === 'object' ? schema : undefined;
}

/** The entry's protobuf as the served version shows it. */
function entryProtobuf(entry: Entry, served: Served, isListed = false): Buffer {
  const form = `protobuf ${apiVersionOf(served.resource)}`;
  return entry.encoded(form, () => protobufOf(versionView(entry, served)), isListed);
}

/** The entry's JSON as the served version shows it, with a line end. */
function entryLine(entry: Entry, served: Served, isListed = false): Buffer {
  const { convert, conversion } = served.resource;
  if (convert === undefined && conversion === undefined) return entry.jsonLine(isListed);
  const version = apiVersionOf(served.resource);
  const line = (): Buffer => Buffer.from(`${writeJson(versionView(entry, served))}\n`);
  return entry.encoded(`json ${version}`, line, isListed);
}

export function encodeObject(
  object: Frozen<object>,
  entry: Entry | undefined,
  served: Served | undefined,
  form: Form,
  nowMs: number,
): Encoded {
  if (served !== undefined && form.as !== undefined) {
    const view = objectView(served, entry, object as Frozen<KubeObject>, form, nowMs);
    return { contentType: mediaTypes[form.media], body: encodeValue(view, form) };
  }
  const plain = form.as === undefined ? form : { ...form, as: undefined };
  if (entry !== undefined && served !== undefined && form.media === 'json' && !form.pretty)
    return { contentType: mediaTypes.json, body: entryLine(entry, served) };
  if (entry !== undefined && served !== undefined && form.media === 'protobuf')
    return { contentType: mediaTypes.protobuf, body: entryProtobuf(entry, served) };
  const value = entry !== undefined && served !== undefined ? versionView(entry, served) : object;
  return { contentType: mediaTypes[form.media], body: encodeValue(value, plain as Form) };
}

/** Longer lists are sent bit by bit. */
const wholeBytes = 4 * 1024 * 1024;
const wholeViews = 1000;

/** A list from the bytes its entries hold already: whole, or in parts when it is large. */
export function encodeList(
  served: Served,
  list: ListAnswer,
  form: Form,
  nowMs: number,
): Encoded | { readonly contentType: string; readonly parts: Iterable<Buffer> } {
  const { resource } = served;
  const metadata = {
    // Nothing is stored of kinds that are only asked.
    ...(list.resourceVersion !== '' && { resourceVersion: list.resourceVersion }),
    // Upstream writes lists of custom kinds from maps, not structs.
    ...((list.continue !== '' || (served.custom && form.as === undefined)) && { continue: list.continue }),
    ...(list.remainingItemCount !== undefined && { remainingItemCount: list.remainingItemCount }),
  };
  const contentType = mediaTypes[form.media];
  if (form.as !== undefined) {
    const view = listView(served, list.entries, metadata, form, nowMs);
    const { head, field, count, item } = view;
    if (form.media === 'json' && !form.pretty && count > wholeViews)
      return {
        contentType,
        parts: jsonParts(
          `${JSON.stringify(head).slice(0, -1)},"${field}":[`,
          count,
          (at) => Buffer.from(writeJson(item(at))),
          listEnd,
        ),
      };
    // A list that upstream never began to fill.
    const none =
      count === 0 && (form.as === 'PartialObjectMetadataList' || (resource.nullRows ?? resource.columns === undefined));
    const items = Array.from({ length: count }, (_, at) => item(at));
    return { contentType, body: encodeValue({ ...head, [field]: none ? null : items }, form) };
  }
  const head = { kind: resource.listKind ?? `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata };
  if (form.media === 'protobuf' && !served.custom) {
    const encoded = (entry: Entry): Buffer => entryProtobuf(entry, served, true);
    const parts = protobufParts({ ...head, items: [] } as typeof head, list.entries, encoded);
    if (parts !== undefined)
      return wholeEncodings(list.entries, encoded) === undefined
        ? { contentType, parts }
        : { contentType, body: Buffer.concat([...parts]) };
  }
  if (form.media !== 'json' || form.pretty) {
    const shown = list.entries.map((entry) => versionView(entry, served) as Frozen<KubeObject>);
    const items = served.custom ? shown : shown.map(untyped);
    return { contentType, body: encodeValue({ ...head, items }, form) };
  }
  const { entries } = list;
  const headText = `${JSON.stringify(head).slice(0, -1)},"items":[`;
  const known = knownBodies.get(entries);
  if (known?.body !== undefined && known.head === headText) return { contentType, body: known.body };
  const line = (entry: Entry): Buffer => entryLine(entry, served, true);
  const lines = wholeEncodings(entries, line);
  if (lines === undefined) {
    const typeMeta = served.custom ? undefined : typeMetaBytes(served.resource);
    return {
      contentType,
      parts: jsonParts(headText, entries.length, (at) => item(line(entries[at]!), typeMeta), listEnd),
    };
  }
  const body = listBody(headText, served, lines);
  knownBodies.set(entries, { head: headText, body: known?.head === headText ? body : undefined });
  return { contentType, body };
}

/** What a whole list is made of; undefined for one that is too large for it. Encodes no more than it takes to know. */
function wholeEncodings(entries: readonly Entry[], encoded: (entry: Entry) => Buffer): Buffer[] | undefined {
  let size = 0;
  const all: Buffer[] = [];
  for (const entry of entries) {
    const bytes = encoded(entry);
    size += bytes.length;
    if (size > wholeBytes) return undefined;
    all.push(bytes);
  }
  return all;
}

/** A line as an item: without its end, and without its kind when the list says that already. */
function item(line: Buffer, typeMeta: Buffer | undefined): Buffer {
  if (typeMeta === undefined || !startsWith(line, typeMeta)) return line.subarray(0, -1);
  return Buffer.concat([brace, line.subarray(typeMeta.length, -1)]);
}

const brace = Buffer.from('{');

/** By the array that the watch cache hands out again while nothing changes: what was asked for twice is likely asked for again. */
const knownBodies = new WeakMap<readonly Entry[], { readonly head: string; readonly body: Buffer | undefined }>();

function listBody(head: string, served: Served, lines: readonly Buffer[]): Buffer {
  const start = Buffer.from(head);
  const typeMeta = served.custom ? undefined : typeMetaBytes(served.resource);
  // A comma takes the place of each line end, and the brace that of the kind before it.
  let size = start.length + listEnd.length;
  for (const line of lines) size += line.length;
  const body = Buffer.allocUnsafe(size);
  let at = start.copy(body);
  for (const line of lines) {
    let from = 0;
    if (typeMeta !== undefined && startsWith(line, typeMeta)) {
      body[at++] = braceCode;
      from = typeMeta.length;
    }
    at += line.copy(body, at, from, line.length - 1);
    body[at++] = commaCode;
  }
  if (lines.length > 0) at--;
  at += listEnd.copy(body, at);
  return body.subarray(0, at);
}

/** Items of typed lists do not repeat what the list says of its kind; those of custom kinds do, as upstream's do. */
function typeMetaBytes(resource: Served['resource']): Buffer {
  const { kind } = resource;
  return Buffer.from(
    JSON.stringify({ kind, apiVersion: apiVersionOf(resource), metadata: 0 }).slice(0, -'"metadata":0}'.length),
  );
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length > start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0;
}

function untyped(object: Frozen<KubeObject>): object {
  const { kind: _, apiVersion: __, ...rest } = object;
  return rest;
}

const braceCode = 0x7b;
const commaCode = 0x2c;
const listEnd = Buffer.from(']}\n');
const frameEnd = Buffer.from('}\n');
const frameStarts: Readonly<Record<string, Buffer>> = Object.fromEntries(
  ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'].map((type) => [type, Buffer.from(`{"type":"${type}","object":`)]),
);

function viewName(served: Served, form: Form): string {
  const version = apiVersionOf(served.resource);
  return form.as === undefined ? version : `${version} ${form.as} ${form.asVersion} ${form.includeObject ?? ''}`;
}

/** One line of a JSON watch, shared by all watchers of the form. */
export function watchFrame(event: SharedEvent, served: Served, form: Form, nowMs: number, first: boolean): Buffer {
  const columns = first && form.as === 'Table';
  const name = `${form.media} ${viewName(served, form)}${columns ? ' columns' : ''}`;
  return event.frame(name, ({ type, entry }) => {
    if (form.media === 'protobuf')
      return encodeWatchFrame(
        type,
        form.as !== undefined
          ? protobufOf(objectView(served, entry, entry.object, form, nowMs, { columns, bookmark: type === 'BOOKMARK' }))
          : type === 'BOOKMARK'
            ? protobufOf(entry.object)
            : entryProtobuf(entry, served),
      );
    if (form.media === 'cbor')
      return encodeCbor({
        type,
        object:
          form.as !== undefined
            ? objectView(served, entry, entry.object, form, nowMs, { columns, bookmark: type === 'BOOKMARK' })
            : type === 'BOOKMARK'
              ? entry.object
              : versionView(entry, served),
      });
    if (form.as === undefined)
      return Buffer.concat([
        frameStarts[type]!,
        type === 'BOOKMARK' ? Buffer.from(JSON.stringify(entry.object)) : entryLine(entry, served).subarray(0, -1),
        frameEnd,
      ]);
    const view = objectView(served, entry, entry.object, form, nowMs, { columns, bookmark: type === 'BOOKMARK' });
    return Buffer.from(`${writeJson({ type, object: view })}\n`);
  });
}

export function errorFrame(status: Status, form: Form): Buffer {
  if (form.media === 'protobuf') return encodeWatchFrame('ERROR', protobufOf(status));
  if (form.media === 'cbor') return encodeCbor({ type: 'ERROR', object: status });
  return Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
}

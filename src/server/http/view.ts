// Owns the other ways to see objects: Tables (server-side printing) and metadata alone. Pure; knows no kind.

import { lazily } from '../../base/lazily.ts';
import { readFact } from '../facts.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { apiVersionOf } from '../../api/meta.ts';
import { badRequest, statusError } from '../../api/status-error.ts';
import type { Entry } from '../cache/entry.ts';
import type { Column, Resource } from '../resource.ts';
import type { Served } from '../served/served.ts';
import type { Form } from './form.ts';
import { versionView } from './version-view.ts';

type Metadata = Readonly<Record<string, unknown>>;

/** Seconds, minutes, hours, days: the largest that tells enough, as kubectl's AGE column shows it. */
export function durationText(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(hours / 24 / 365);
  if (hours < 24 * 365 * 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

const nameDescription =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names';
const createdDescription =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';

/** Kinds without columns of their own show these two. */
const plainColumns: readonly Column<KubeObject>[] = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: nameDescription,
    cell: (object) => object.metadata.name,
  },
  {
    name: 'Created At',
    type: 'date',
    description: createdDescription,
    cell: (object) => object.metadata.creationTimestamp,
  },
];

function columnsOf(resource: Resource): readonly Column<KubeObject>[] {
  return resource.columns ?? plainColumns;
}

/** Of built-in kinds as they are stored, not as their version has them. */
function partial(served: Served, stored: Frozen<KubeObject>, object: Frozen<KubeObject>, version: string): object {
  const { metadata } = served.custom ? object : stored;
  const shown = without(metadata, served.resource.withoutAnnotation);
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: shown };
}

function without(metadata: Frozen<KubeObject>['metadata'], annotation: string | undefined): object {
  if (annotation === undefined || metadata.annotations?.[annotation] === undefined) return metadata;
  const { annotations, ...rest } = metadata;
  const { [annotation]: _, ...others } = annotations!;
  return Object.keys(others).length === 0 ? rest : { ...metadata, annotations: others };
}

function row(
  served: Served,
  stored: Frozen<KubeObject>,
  object: Frozen<KubeObject>,
  form: Form,
  include: string,
  nowMs: number,
  bookmark: boolean,
): object {
  const rules = served.custom ? served.resource : (served.collection?.storage ?? served.resource);
  const seen = served.custom ? object : stored;
  const columns = columnsOf(rules);
  const conditions = bookmark ? [] : (rules.rowConditions?.(stored) ?? []);
  const cells = bookmark
    ? bookmarkCells(served, columns, stored, nowMs)
    : columns.map(({ cell }) => cell(seen, nowMs) ?? null);
  return {
    cells,
    ...(conditions.length > 0 && { conditions }),
    object: include === 'None' ? null : include === 'Object' ? object : partial(served, stored, object, form.asVersion),
  };
}

/** A bookmark is a row too: that of an object with nothing in it, as upstream prints it. Custom kinds have null there. */
function bookmarkCells(
  served: Served,
  columns: readonly Column<KubeObject>[],
  stored: Frozen<KubeObject>,
  nowMs: number,
): unknown[] {
  if (served.custom || served.resource.columns === undefined) return columns.map((_, at) => (at === 0 ? '' : null));
  const schema = schemaOf(apiVersionOf(served.resource), served.resource.kind);
  const empty = {
    ...(schema !== undefined && emptyStructs(schema)),
    ...stored,
    metadata: { ...stored.metadata, name: '' },
  } as Frozen<KubeObject>;
  return columns.map(({ cell }) => cell(empty, nowMs) ?? null);
}

/** The structs that a Go value has even when nothing is set: those that are no pointers. */
function emptyStructs(schema: ObjectSchema): Record<string, unknown> {
  const inner = schema.fields.filter((field) => field.schema.type === 'object' && !field.pointer);
  return Object.fromEntries(inner.map((field) => [field.name, emptyStructs(field.schema as ObjectSchema)]));
}

interface ColumnTexts {
  readonly texts: readonly string[];
  /** By "group/plural" and column, places in `texts`. */
  readonly columns: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const columnTexts = lazily(() => readFact('columns.json') as ColumnTexts);

function descriptionOf({ group, plural }: Resource, column: string): string {
  const { texts, columns } = columnTexts();
  const place = columns[`${group}/${plural}`]?.[column];
  return place === undefined ? '' : texts[place]!;
}

const knownDefinitions = new WeakMap<Served, readonly object[]>();

function definitions(served: Served): readonly object[] {
  let known = knownDefinitions.get(served);
  if (known === undefined) knownDefinitions.set(served, (known = makeDefinitions(served)));
  return known;
}

function makeDefinitions({ resource, collection, custom }: Served): readonly object[] {
  const announced = columnsOf(custom ? resource : (collection?.storage ?? resource)).filter(
    ({ unannounced }) => unannounced !== true,
  );
  return announced.map(({ name, type, format = '', description, priority = 0 }) => ({
    name,
    type,
    format,
    description: description ?? (custom ? '' : descriptionOf(resource, name)),
    priority,
  }));
}

export function objectView(
  served: Served,
  entry: Entry | undefined,
  object: Frozen<KubeObject>,
  form: Form,
  nowMs: number,
  { columns, bookmark }: { readonly columns: boolean; readonly bookmark: boolean } = { columns: true, bookmark: false },
): object {
  const shown = entry === undefined || bookmark ? object : (versionView(entry, served) as Frozen<KubeObject>);
  if (form.as === 'PartialObjectMetadata') return partial(served, object, shown, form.asVersion);
  if (form.as === 'PartialObjectMetadataList') throw notAcceptable();
  requireInclude(form);
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${form.asVersion}`,
    metadata: { resourceVersion: object.metadata.resourceVersion },
    columnDefinitions: columns ? definitions(served) : null,
    rows: [row(served, object, shown, form, form.includeObject ?? 'Metadata', nowMs, bookmark)],
  };
}

export interface ListView {
  readonly head: object;
  /** The field behind those of the head that holds the items. */
  readonly field: 'items' | 'rows';
  readonly count: number;
  item(at: number): object;
}

/** Its items are made one by one, so that nobody needs all of them at once. */
export function listView(
  served: Served,
  entries: readonly Entry[],
  metadata: Metadata,
  form: Form,
  nowMs: number,
): ListView {
  if (form.as === 'PartialObjectMetadata') throw notAcceptable();
  const apiVersion = `meta.k8s.io/${form.asVersion}`;
  const shown = (entry: Entry) => versionView(entry, served) as Frozen<KubeObject>;
  if (form.as === 'PartialObjectMetadataList')
    return {
      head: { kind: 'PartialObjectMetadataList', apiVersion, metadata },
      field: 'items',
      count: entries.length,
      item: (at) => partial(served, entries[at]!.object, shown(entries[at]!), form.asVersion),
    };
  requireInclude(form);
  const { rowOrder } = served.collection?.storage ?? served.resource;
  const sorted = rowOrder === undefined ? entries : [...entries].sort((a, b) => rowOrder(a.object, b.object));
  return {
    head: { kind: 'Table', apiVersion, metadata, columnDefinitions: definitions(served) },
    field: 'rows',
    count: sorted.length,
    item: (at) => {
      const entry = sorted[at]!;
      return row(served, entry.object, shown(entry), form, form.includeObject ?? 'Metadata', nowMs, false);
    },
  };
}

const includes: readonly (string | undefined)[] = [undefined, '', 'None', 'Metadata', 'Object'];

/** Throws BadRequest. As upstream has it, this is judged with the answer: what was asked for is done by then. */
export function requireInclude({ as, includeObject }: Form): void {
  if (as === 'Table' && !includes.includes(includeObject))
    throw badRequest(
      `includeObject of a Table is Metadata, Object, None or empty, not ${JSON.stringify(includeObject)}`,
    );
}

function notAcceptable(): Error {
  return statusError('NotAcceptable', 'the requested transformation is not possible for this answer');
}

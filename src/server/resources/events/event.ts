// Owns the kind Event in both its groups: stored as core/v1, where its fields have their old names.
import type * as core from '../../../api/generated/core.v1.ts';
import type * as modern from '../../../api/generated/events.v1.ts';
import { events, eventsV1Events } from '../../../api/generated/resources.ts';
import { type Frozen, type KubeObject, thaw } from '../../../api/meta.ts';
import { pathSegmentName } from '../../../api/names.ts';
import type { FieldError } from '../../../api/status-error.ts';
import { Problems } from '../../../api/validation/problems.ts';
import type { Column } from '../../resource.ts';
import { ageOf } from '../columns.ts';
import { defineResource } from '../define.ts';
import { validateEventBasics, validateStrictChange, validateStrictEvent } from './event-rules.ts';

const ttlSeconds = 3600;

/** Old name and new name of each field that has two. */
const names = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
] as const;

type Json = Record<string, unknown>;

function renamed(obj: Json, from: 0 | 1, apiVersion: string): Json {
  const to = from === 0 ? 1 : 0;
  const result: Json = { ...obj, apiVersion };
  for (const pair of names) {
    delete result[pair[from]];
    if (obj[pair[from]] !== undefined) result[pair[to]] = obj[pair[from]];
  }
  return result;
}

const toCore = (obj: Frozen<modern.Event>): core.Event =>
  renamed(thaw<modern.Event>(obj) as unknown as Json, 1, 'v1') as unknown as core.Event;

/** Empty names are written in core/v1 only. */
function toModern(obj: Frozen<core.Event>): modern.Event {
  const event = renamed(thaw<core.Event>(obj) as unknown as Json, 0, 'events.k8s.io/v1');
  for (const field of ['reportingController', 'reportingInstance']) if (event[field] === '') delete event[field];
  return event as unknown as modern.Event;
}

type Time = string | undefined;

const timeText = (time: unknown, nowMs: number): string => ageOf(time as Time, nowMs);

function lastSeen(event: Frozen<core.Event>, nowMs: number): string {
  if (event.series !== undefined) return timeText(event.series.lastObservedTime, nowMs);
  return event.lastTimestamp ? timeText(event.lastTimestamp, nowMs) : firstSeen(event, nowMs);
}

const firstSeen = (event: Frozen<core.Event>, nowMs: number): string =>
  timeText(event.firstTimestamp ? event.firstTimestamp : event.eventTime, nowMs);

function objectText({ involvedObject }: Frozen<core.Event>): string {
  const kind = (involvedObject?.kind ?? '').toLowerCase();
  return involvedObject?.name ? `${kind}/${involvedObject.name}` : kind;
}

function sourceText({ source, reportingComponent = '', reportingInstance = '' }: Frozen<core.Event>): string {
  const component = source?.component || reportingComponent;
  const instance = source?.host || reportingInstance;
  return instance === '' ? component : `${component}, ${instance}`;
}

const countOf = ({ series, count }: Frozen<core.Event>): number => series?.count ?? (count || 1);

const columns: readonly Column<core.Event>[] = [
  { name: 'Last Seen', type: 'string', cell: lastSeen },
  { name: 'Type', type: 'string', cell: ({ type }) => type ?? '' },
  { name: 'Reason', type: 'string', cell: ({ reason }) => reason ?? '' },
  { name: 'Object', type: 'string', cell: objectText },
  { name: 'Subobject', type: 'string', priority: 1, cell: ({ involvedObject }) => involvedObject?.fieldPath ?? '' },
  { name: 'Source', type: 'string', priority: 1, cell: sourceText },
  { name: 'Message', type: 'string', cell: ({ message }) => (message ?? '').trim() },
  { name: 'First Seen', type: 'string', priority: 1, cell: firstSeen },
  { name: 'Count', type: 'string', priority: 1, cell: countOf },
  { name: 'Name', type: 'string', format: 'name', priority: 1, cell: ({ metadata }) => metadata.name },
];

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

const selectable: Readonly<Record<string, (event: Frozen<core.Event>) => string>> = {
  ...Object.fromEntries(
    referenceFields.map((field) => [
      `involvedObject.${field}`,
      ({ involvedObject }: Frozen<core.Event>) => involvedObject?.[field] ?? '',
    ]),
  ),
  reason: ({ reason }) => reason ?? '',
  reportingComponent: ({ reportingComponent }) => reportingComponent ?? '',
  source: ({ source, reportingComponent }) => source?.component || (reportingComponent ?? ''),
  type: ({ type }) => type ?? '',
};

/** Upstream knows the fields of /api and of /apis apart: writes through one drop what was noted through the other (recorded). */
const sibling = (): undefined => undefined;

export const event = defineResource<core.Event>(events, {
  sibling,
  shortNames: ['ev'],
  metadataLater: true,
  defaultPropagation: 'unsupported',
  validateName: pathSegmentName,
  validate(obj) {
    const problems = new Problems();
    validateEventBasics(problems, obj, false);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next) {
    const problems = new Problems();
    validateEventBasics(problems, next, false);
    return problems.list;
  },
  selectable,
  columns,
  createOnUpdate: true,
  ttlSeconds,
});

/** What core/v1 asks as well comes before the metadata, what only this group asks comes after it. */
function place({ field }: FieldError, change: boolean): number {
  if (change) return 0;
  if (field.startsWith('metadata.')) return 1;
  const isBasic = /^(involvedObject|reporting|action$|reason$|message$)/.test(field);
  return isBasic ? 0 : 2;
}

/** The same collection through its own group. */
export const eventsEvent = defineResource<modern.Event>(eventsV1Events, {
  sibling,
  shortNames: ['ev'],
  validate(obj) {
    const problems = new Problems();
    const stored = toCore(obj) as Frozen<core.Event>;
    validateEventBasics(problems, stored, true);
    validateStrictEvent(problems, stored);
    return problems.list;
  },
  place,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    const [after, before] = [toCore(next) as Frozen<core.Event>, toCore(prev) as Frozen<core.Event>];
    validateEventBasics(problems, after, true);
    validateStrictChange(problems, after, before);
    return problems.list;
  },
  // Selectors see what is stored, by the names of this group.
  selectable: Object.fromEntries(
    Object.entries(selectable).flatMap(([field, read]) =>
      field === 'source'
        ? []
        : [
            [
              field.replace('involvedObject.', 'regarding.').replace('reportingComponent', 'reportingController'),
              (stored: Frozen<modern.Event>) => read(stored as unknown as Frozen<core.Event>),
            ],
          ],
    ),
  ),
  judgesItself: true,
  columns: columns.map((column) => ({
    ...column,
    cell: (obj: Frozen<modern.Event>, nowMs: number) => column.cell(toCore(obj) as Frozen<core.Event>, nowMs),
  })),
  convert: {
    toStorage: (obj) => toCore(obj),
    fromStorage: (obj) => toModern(obj as Frozen<KubeObject> as unknown as Frozen<core.Event>),
  },
  createOnUpdate: true,
  ttlSeconds,
});

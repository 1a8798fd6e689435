// Owns the validation of events: loose through core/v1, strict through events.k8s.io/v1. Fields go by their core names.
import type { Event } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { qualifiedName } from '../../../api/names.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';

const maxShort = 128;
const maxMessage = 1024;

/** `strict`: through events.k8s.io, where the reporting component has another name. */
export function validateEventBasics(problems: Problems, event: Frozen<Event>, strict: boolean): void {
  const own = event.metadata.namespace ?? '';
  const involved = event.involvedObject?.namespace ?? '';
  const wrongPlace = (): void =>
    problems.invalid('involvedObject.namespace', involved, 'does not match event.namespace');
  if (!event.eventTime) {
    if (involved === '' ? own !== '' && own !== 'default' : own !== involved) wrongPlace();
    return;
  }
  if (involved === '' && own !== 'default' && own !== 'kube-system') wrongPlace();
  const reporter = strict ? 'reportingController' : 'reportingComponent';
  const component = event.reportingComponent ?? '';
  if (component === '') problems.required(reporter);
  problems.each(reporter, component, qualifiedName(component));
  const short = (field: 'reportingInstance' | 'action' | 'reason'): void => {
    const text = event[field] ?? '';
    if (text === '') problems.required(field);
    if (text.length > maxShort) problems.invalid(field, '', `can have at most ${maxShort} characters`);
  };
  short('reportingInstance');
  short('action');
  short('reason');
  if ((event.message ?? '').length > maxMessage)
    problems.invalid('message', '', `can have at most ${maxMessage} characters`);
}

function validateSeries(problems: Problems, { series }: Frozen<Event>): void {
  if (series === undefined) return;
  if ((series.count ?? 0) < 2) problems.invalid('series.count', series.count ?? 0, 'should be at least 2');
  if (!series.lastObservedTime) problems.required('series.lastObservedTime');
}

/** New events must be whole, and free of what they replaced. */
export function validateStrictEvent(problems: Problems, event: Frozen<Event>): void {
  validateSeries(problems, event);
  if (!event.eventTime) problems.required('eventTime');
  if (event.type !== 'Normal' && event.type !== 'Warning')
    problems.invalid('type', event.type ?? '', 'has invalid value');
  for (const field of ['firstTimestamp', 'lastTimestamp'] as const)
    if (event[field]) problems.invalid(field, event[field], 'needs to be unset');
  if (event.count) problems.invalid('count', event.count, 'needs to be unset');
  if (event.source?.component || event.source?.host) problems.invalid('source', event.source, 'needs to be unset');
}

const immutable = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const;

/** Only the series of an event goes on. */
export function validateStrictChange(problems: Problems, next: Frozen<Event>, prev: Frozen<Event>): void {
  if (!next.eventTime && !prev.eventTime) return;
  validateSeries(problems, next);
  for (const field of immutable)
    problems.immutable(field === 'reportingComponent' ? 'reportingController' : field, next[field], prev[field], same);
  // An object that is named without anything said of it is not the same as none.
  if (same(next.related, prev.related) && (next.related === undefined) !== (prev.related === undefined))
    problems.invalid('related', next.related, 'field is immutable');
}

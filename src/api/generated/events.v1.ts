// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';

export interface Event {
  apiVersion: 'events.k8s.io/v1';
  kind: 'Event';
  metadata: meta_v1.ObjectMeta;
  eventTime: meta_v1.MicroTime;
  series?: EventSeries;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding?: core_v1.ObjectReference;
  related?: core_v1.ObjectReference;
  note?: string;
  type?: string;
  deprecatedSource?: core_v1.EventSource;
  deprecatedFirstTimestamp?: meta_v1.Time;
  deprecatedLastTimestamp?: meta_v1.Time;
  deprecatedCount?: number;
}

export interface EventList {
  apiVersion: 'events.k8s.io/v1';
  kind: 'EventList';
  metadata: meta_v1.ListMeta;
  items: Event[];
}

export interface EventSeries {
  count: number;
  lastObservedTime: meta_v1.MicroTime;
}

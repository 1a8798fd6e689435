// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';

export interface PriorityClass {
  apiVersion: 'scheduling.k8s.io/v1';
  kind: 'PriorityClass';
  metadata: meta_v1.ObjectMeta;
  value: number;
  globalDefault?: boolean;
  description?: string;
  preemptionPolicy?: core_v1.PreemptionPolicy;
}

export interface PriorityClassList {
  apiVersion: 'scheduling.k8s.io/v1';
  kind: 'PriorityClassList';
  metadata: meta_v1.ListMeta;
  items: PriorityClass[];
}

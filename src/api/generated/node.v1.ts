// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';

export interface Overhead {
  podFixed?: core_v1.ResourceList;
}

export interface RuntimeClass {
  apiVersion: 'node.k8s.io/v1';
  kind: 'RuntimeClass';
  metadata: meta_v1.ObjectMeta;
  handler: string;
  overhead?: Overhead;
  scheduling?: Scheduling;
}

export interface RuntimeClassList {
  apiVersion: 'node.k8s.io/v1';
  kind: 'RuntimeClassList';
  metadata: meta_v1.ListMeta;
  items: RuntimeClass[];
}

export interface Scheduling {
  nodeSelector?: Record<string, string>;
  tolerations?: core_v1.Toleration[];
}

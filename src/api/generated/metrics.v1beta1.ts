// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';

export interface ContainerMetrics {
  name: string;
  usage: core_v1.ResourceList;
}

export interface NodeMetrics {
  apiVersion: 'metrics.k8s.io/v1beta1';
  kind: 'NodeMetrics';
  metadata: meta_v1.ObjectMeta;
  timestamp: meta_v1.Time;
  window: meta_v1.Duration;
  usage: core_v1.ResourceList;
}

export interface NodeMetricsList {
  apiVersion: 'metrics.k8s.io/v1beta1';
  kind: 'NodeMetricsList';
  metadata: meta_v1.ListMeta;
  items: NodeMetrics[];
}

export interface PodMetrics {
  apiVersion: 'metrics.k8s.io/v1beta1';
  kind: 'PodMetrics';
  metadata: meta_v1.ObjectMeta;
  timestamp: meta_v1.Time;
  window: meta_v1.Duration;
  containers: ContainerMetrics[];
}

export interface PodMetricsList {
  apiVersion: 'metrics.k8s.io/v1beta1';
  kind: 'PodMetricsList';
  metadata: meta_v1.ListMeta;
  items: PodMetrics[];
}

// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export interface CrossVersionObjectReference {
  kind: string;
  name: string;
  apiVersion?: string;
}

export interface HorizontalPodAutoscaler {
  apiVersion: 'autoscaling/v1';
  kind: 'HorizontalPodAutoscaler';
  metadata: meta_v1.ObjectMeta;
  spec: HorizontalPodAutoscalerSpec;
  status: HorizontalPodAutoscalerStatus;
}

export interface HorizontalPodAutoscalerList {
  apiVersion: 'autoscaling/v1';
  kind: 'HorizontalPodAutoscalerList';
  metadata: meta_v1.ListMeta;
  items: HorizontalPodAutoscaler[];
}

export interface HorizontalPodAutoscalerSpec {
  scaleTargetRef: CrossVersionObjectReference;
  minReplicas?: number;
  maxReplicas: number;
  targetCPUUtilizationPercentage?: number;
}

export interface HorizontalPodAutoscalerStatus {
  observedGeneration?: number;
  lastScaleTime?: meta_v1.Time;
  currentReplicas: number;
  desiredReplicas: number;
  currentCPUUtilizationPercentage?: number;
}

export interface Scale {
  apiVersion: 'autoscaling/v1';
  kind: 'Scale';
  metadata: meta_v1.ObjectMeta;
  spec: ScaleSpec;
  status: ScaleStatus;
}

export interface ScaleSpec {
  replicas?: number;
}

export interface ScaleStatus {
  replicas: number;
  selector?: string;
}

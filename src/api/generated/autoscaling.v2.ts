// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as api_resource from './api.resource.ts';
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';

export interface ContainerResourceMetricSource {
  name: core_v1.ResourceName;
  target: MetricTarget;
  container: string;
}

export interface ContainerResourceMetricStatus {
  name: core_v1.ResourceName;
  current: MetricValueStatus;
  container: string;
}

export interface CrossVersionObjectReference {
  kind: string;
  name: string;
  apiVersion?: string;
}

export interface ExternalMetricSource {
  metric: MetricIdentifier;
  target: MetricTarget;
}

export interface ExternalMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
}

export interface HPAScalingPolicy {
  type: HPAScalingPolicyType;
  value: number;
  periodSeconds: number;
}

export type HPAScalingPolicyType = string;

export interface HPAScalingRules {
  stabilizationWindowSeconds?: number;
  selectPolicy?: ScalingPolicySelect;
  policies?: HPAScalingPolicy[];
  tolerance?: api_resource.Quantity;
}

export interface HorizontalPodAutoscaler {
  apiVersion: 'autoscaling/v2';
  kind: 'HorizontalPodAutoscaler';
  metadata: meta_v1.ObjectMeta;
  spec: HorizontalPodAutoscalerSpec;
  status: HorizontalPodAutoscalerStatus;
}

export interface HorizontalPodAutoscalerBehavior {
  scaleUp?: HPAScalingRules;
  scaleDown?: HPAScalingRules;
}

export interface HorizontalPodAutoscalerCondition {
  type: HorizontalPodAutoscalerConditionType;
  status: core_v1.ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
  observedGeneration?: number;
}

export type HorizontalPodAutoscalerConditionType = string;

export interface HorizontalPodAutoscalerList {
  apiVersion: 'autoscaling/v2';
  kind: 'HorizontalPodAutoscalerList';
  metadata: meta_v1.ListMeta;
  items: HorizontalPodAutoscaler[];
}

export interface HorizontalPodAutoscalerSpec {
  scaleTargetRef: CrossVersionObjectReference;
  minReplicas?: number;
  maxReplicas: number;
  metrics?: MetricSpec[];
  behavior?: HorizontalPodAutoscalerBehavior;
}

export interface HorizontalPodAutoscalerStatus {
  observedGeneration?: number;
  lastScaleTime?: meta_v1.Time;
  currentReplicas?: number;
  desiredReplicas: number;
  currentMetrics: MetricStatus[];
  conditions?: HorizontalPodAutoscalerCondition[];
}

export interface MetricIdentifier {
  name: string;
  selector?: meta_v1.LabelSelector;
}

export type MetricSourceType = string;

export interface MetricSpec {
  type: MetricSourceType;
  object?: ObjectMetricSource;
  pods?: PodsMetricSource;
  resource?: ResourceMetricSource;
  containerResource?: ContainerResourceMetricSource;
  external?: ExternalMetricSource;
}

export interface MetricStatus {
  type: MetricSourceType;
  object?: ObjectMetricStatus;
  pods?: PodsMetricStatus;
  resource?: ResourceMetricStatus;
  containerResource?: ContainerResourceMetricStatus;
  external?: ExternalMetricStatus;
}

export interface MetricTarget {
  type: MetricTargetType;
  value?: api_resource.Quantity;
  averageValue?: api_resource.Quantity;
  averageUtilization?: number;
}

export type MetricTargetType = string;

export interface MetricValueStatus {
  value?: api_resource.Quantity;
  averageValue?: api_resource.Quantity;
  averageUtilization?: number;
}

export interface ObjectMetricSource {
  describedObject: CrossVersionObjectReference;
  target: MetricTarget;
  metric: MetricIdentifier;
}

export interface ObjectMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
  describedObject: CrossVersionObjectReference;
}

export interface PodsMetricSource {
  metric: MetricIdentifier;
  target: MetricTarget;
}

export interface PodsMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
}

export interface ResourceMetricSource {
  name: core_v1.ResourceName;
  target: MetricTarget;
}

export interface ResourceMetricStatus {
  name: core_v1.ResourceName;
  current: MetricValueStatus;
}

export type ScalingPolicySelect = string;

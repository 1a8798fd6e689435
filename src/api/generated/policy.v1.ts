// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';
import type * as util_intstr from './util.intstr.ts';

export interface Eviction {
  apiVersion: 'policy/v1';
  kind: 'Eviction';
  metadata: meta_v1.ObjectMeta;
  deleteOptions?: meta_v1.DeleteOptions;
}

export interface PodDisruptionBudget {
  apiVersion: 'policy/v1';
  kind: 'PodDisruptionBudget';
  metadata: meta_v1.ObjectMeta;
  spec: PodDisruptionBudgetSpec;
  status: PodDisruptionBudgetStatus;
}

export interface PodDisruptionBudgetList {
  apiVersion: 'policy/v1';
  kind: 'PodDisruptionBudgetList';
  metadata: meta_v1.ListMeta;
  items: PodDisruptionBudget[];
}

export interface PodDisruptionBudgetSpec {
  minAvailable?: util_intstr.IntOrString;
  selector?: meta_v1.LabelSelector;
  maxUnavailable?: util_intstr.IntOrString;
  unhealthyPodEvictionPolicy?: UnhealthyPodEvictionPolicyType;
}

export interface PodDisruptionBudgetStatus {
  observedGeneration?: number;
  disruptedPods?: Record<string, meta_v1.Time>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: meta_v1.Condition[];
}

export type UnhealthyPodEvictionPolicyType = string;

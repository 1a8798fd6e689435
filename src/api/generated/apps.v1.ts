// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';
import type * as runtime from './runtime.ts';
import type * as util_intstr from './util.intstr.ts';

export interface ControllerRevision {
  apiVersion: 'apps/v1';
  kind: 'ControllerRevision';
  metadata: meta_v1.ObjectMeta;
  data: runtime.RawExtension;
  revision: number;
}

export interface ControllerRevisionList {
  apiVersion: 'apps/v1';
  kind: 'ControllerRevisionList';
  metadata: meta_v1.ListMeta;
  items: ControllerRevision[];
}

export interface DaemonSet {
  apiVersion: 'apps/v1';
  kind: 'DaemonSet';
  metadata: meta_v1.ObjectMeta;
  spec: DaemonSetSpec;
  status: DaemonSetStatus;
}

export interface DaemonSetCondition {
  type: DaemonSetConditionType;
  status: core_v1.ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type DaemonSetConditionType = string;

export interface DaemonSetList {
  apiVersion: 'apps/v1';
  kind: 'DaemonSetList';
  metadata: meta_v1.ListMeta;
  items: DaemonSet[];
}

export interface DaemonSetSpec {
  selector: meta_v1.LabelSelector;
  template: core_v1.PodTemplateSpec;
  updateStrategy?: DaemonSetUpdateStrategy;
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
}

export interface DaemonSetStatus {
  currentNumberScheduled: number;
  numberMisscheduled: number;
  desiredNumberScheduled: number;
  numberReady: number;
  observedGeneration?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
  collisionCount?: number;
  conditions?: DaemonSetCondition[];
}

export interface DaemonSetUpdateStrategy {
  type?: DaemonSetUpdateStrategyType;
  rollingUpdate?: RollingUpdateDaemonSet;
}

export type DaemonSetUpdateStrategyType = string;

export interface Deployment {
  apiVersion: 'apps/v1';
  kind: 'Deployment';
  metadata: meta_v1.ObjectMeta;
  spec: DeploymentSpec;
  status: DeploymentStatus;
}

export interface DeploymentCondition {
  type: DeploymentConditionType;
  status: core_v1.ConditionStatus;
  lastUpdateTime?: meta_v1.Time;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type DeploymentConditionType = string;

export interface DeploymentList {
  apiVersion: 'apps/v1';
  kind: 'DeploymentList';
  metadata: meta_v1.ListMeta;
  items: Deployment[];
}

export interface DeploymentSpec {
  replicas?: number;
  selector: meta_v1.LabelSelector;
  template: core_v1.PodTemplateSpec;
  strategy?: DeploymentStrategy;
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
  paused?: boolean;
  progressDeadlineSeconds?: number;
}

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  terminatingReplicas?: number;
  conditions?: DeploymentCondition[];
  collisionCount?: number;
}

export interface DeploymentStrategy {
  type?: DeploymentStrategyType;
  rollingUpdate?: RollingUpdateDeployment;
}

export type DeploymentStrategyType = string;

export type PersistentVolumeClaimRetentionPolicyType = string;

export type PodManagementPolicyType = string;

export interface ReplicaSet {
  apiVersion: 'apps/v1';
  kind: 'ReplicaSet';
  metadata: meta_v1.ObjectMeta;
  spec: ReplicaSetSpec;
  status: ReplicaSetStatus;
}

export interface ReplicaSetCondition {
  type: ReplicaSetConditionType;
  status: core_v1.ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type ReplicaSetConditionType = string;

export interface ReplicaSetList {
  apiVersion: 'apps/v1';
  kind: 'ReplicaSetList';
  metadata: meta_v1.ListMeta;
  items: ReplicaSet[];
}

export interface ReplicaSetSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector: meta_v1.LabelSelector;
  template?: core_v1.PodTemplateSpec;
}

export interface ReplicaSetStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: number;
  conditions?: ReplicaSetCondition[];
}

export interface RollingUpdateDaemonSet {
  maxUnavailable?: util_intstr.IntOrString;
  maxSurge?: util_intstr.IntOrString;
}

export interface RollingUpdateDeployment {
  maxUnavailable?: util_intstr.IntOrString;
  maxSurge?: util_intstr.IntOrString;
}

export interface RollingUpdateStatefulSetStrategy {
  partition?: number;
  maxUnavailable?: util_intstr.IntOrString;
}

export interface StatefulSet {
  apiVersion: 'apps/v1';
  kind: 'StatefulSet';
  metadata: meta_v1.ObjectMeta;
  spec: StatefulSetSpec;
  status: StatefulSetStatus;
}

export interface StatefulSetCondition {
  type: StatefulSetConditionType;
  status: core_v1.ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type StatefulSetConditionType = string;

export interface StatefulSetList {
  apiVersion: 'apps/v1';
  kind: 'StatefulSetList';
  metadata: meta_v1.ListMeta;
  items: StatefulSet[];
}

export interface StatefulSetOrdinals {
  start: number;
}

export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  whenDeleted?: PersistentVolumeClaimRetentionPolicyType;
  whenScaled?: PersistentVolumeClaimRetentionPolicyType;
}

export interface StatefulSetSpec {
  replicas?: number;
  selector: meta_v1.LabelSelector;
  template: core_v1.PodTemplateSpec;
  volumeClaimTemplates?: core_v1.PersistentVolumeClaim[];
  serviceName: string;
  podManagementPolicy?: PodManagementPolicyType;
  updateStrategy?: StatefulSetUpdateStrategy;
  revisionHistoryLimit?: number;
  minReadySeconds?: number;
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy;
  ordinals?: StatefulSetOrdinals;
}

export interface StatefulSetStatus {
  observedGeneration?: number;
  replicas: number;
  readyReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
  conditions?: StatefulSetCondition[];
  availableReplicas: number;
}

export interface StatefulSetUpdateStrategy {
  type?: StatefulSetUpdateStrategyType;
  rollingUpdate?: RollingUpdateStatefulSetStrategy;
}

export type StatefulSetUpdateStrategyType = string;

// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';
import type * as scheduling_v1alpha3 from './scheduling.v1alpha3.ts';
import type * as types from './types.ts';

export type CompletionMode = string;

export type ConcurrencyPolicy = string;

export interface CronJob {
  apiVersion: 'batch/v1';
  kind: 'CronJob';
  metadata: meta_v1.ObjectMeta;
  spec: CronJobSpec;
  status: CronJobStatus;
}

export interface CronJobList {
  apiVersion: 'batch/v1';
  kind: 'CronJobList';
  metadata: meta_v1.ListMeta;
  items: CronJob[];
}

export interface CronJobSpec {
  schedule: string;
  timeZone?: string;
  startingDeadlineSeconds?: number;
  concurrencyPolicy?: ConcurrencyPolicy;
  suspend?: boolean;
  jobTemplate: JobTemplateSpec;
  successfulJobsHistoryLimit?: number;
  failedJobsHistoryLimit?: number;
}

export interface CronJobStatus {
  active?: core_v1.ObjectReference[];
  lastScheduleTime?: meta_v1.Time;
  lastSuccessfulTime?: meta_v1.Time;
}

export interface Job {
  apiVersion: 'batch/v1';
  kind: 'Job';
  metadata: meta_v1.ObjectMeta;
  spec: JobSpec;
  status: JobStatus;
}

export interface JobCondition {
  type: JobConditionType;
  status: core_v1.ConditionStatus;
  lastProbeTime?: meta_v1.Time;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type JobConditionType = string;

export interface JobList {
  apiVersion: 'batch/v1';
  kind: 'JobList';
  metadata: meta_v1.ListMeta;
  items: Job[];
}

export interface JobSchedulingConfiguration {
  schedulingPolicy?: scheduling_v1alpha3.WorkloadPodGroupSchedulingPolicy;
  schedulingConstraints?: scheduling_v1alpha3.WorkloadPodGroupSchedulingConstraints;
  disruptionMode?: scheduling_v1alpha3.WorkloadPodGroupDisruptionMode;
  resourceClaims?: scheduling_v1alpha3.WorkloadPodGroupResourceClaim[];
}

export interface JobSpec {
  parallelism?: number;
  completions?: number;
  activeDeadlineSeconds?: number;
  podFailurePolicy?: PodFailurePolicy;
  successPolicy?: SuccessPolicy;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  selector?: meta_v1.LabelSelector;
  manualSelector?: boolean;
  template: core_v1.PodTemplateSpec;
  ttlSecondsAfterFinished?: number;
  completionMode?: CompletionMode;
  suspend?: boolean;
  podReplacementPolicy?: PodReplacementPolicy;
  managedBy?: string;
  scheduling?: JobSchedulingConfiguration;
}

export interface JobStatus {
  conditions?: JobCondition[];
  startTime?: meta_v1.Time;
  completionTime?: meta_v1.Time;
  active?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  completedIndexes?: string;
  failedIndexes?: string;
  uncountedTerminatedPods?: UncountedTerminatedPods;
  ready?: number;
}

export interface JobTemplateSpec {
  metadata?: Partial<meta_v1.ObjectMeta>;
  spec?: JobSpec;
}

export interface PodFailurePolicy {
  rules: PodFailurePolicyRule[];
}

export type PodFailurePolicyAction = string;

export type PodFailurePolicyOnExitCodesOperator = string;

export interface PodFailurePolicyOnExitCodesRequirement {
  containerName?: string;
  operator: PodFailurePolicyOnExitCodesOperator;
  values: number[];
}

export interface PodFailurePolicyOnPodConditionsPattern {
  type: core_v1.PodConditionType;
  status: core_v1.ConditionStatus;
}

export interface PodFailurePolicyRule {
  action: PodFailurePolicyAction;
  onExitCodes?: PodFailurePolicyOnExitCodesRequirement;
  onPodConditions?: PodFailurePolicyOnPodConditionsPattern[];
}

export type PodReplacementPolicy = string;

export interface SuccessPolicy {
  rules: SuccessPolicyRule[];
}

export interface SuccessPolicyRule {
  succeededIndexes?: string;
  succeededCount?: number;
}

export interface UncountedTerminatedPods {
  succeeded?: types.UID[];
  failed?: types.UID[];
}

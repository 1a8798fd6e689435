// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export type ConditionStatus = string;

export interface ExemptPriorityLevelConfiguration {
  nominalConcurrencyShares?: number;
  lendablePercent?: number;
}

export interface FlowDistinguisherMethod {
  type: FlowDistinguisherMethodType;
}

export type FlowDistinguisherMethodType = string;

export interface FlowSchema {
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1';
  kind: 'FlowSchema';
  metadata: meta_v1.ObjectMeta;
  spec: FlowSchemaSpec;
  status: FlowSchemaStatus;
}

export interface FlowSchemaCondition {
  type?: FlowSchemaConditionType;
  status?: ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type FlowSchemaConditionType = string;

export interface FlowSchemaList {
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1';
  kind: 'FlowSchemaList';
  metadata: meta_v1.ListMeta;
  items: FlowSchema[];
}

export interface FlowSchemaSpec {
  priorityLevelConfiguration: PriorityLevelConfigurationReference;
  matchingPrecedence: number;
  distinguisherMethod?: FlowDistinguisherMethod;
  rules?: PolicyRulesWithSubjects[];
}

export interface FlowSchemaStatus {
  conditions?: FlowSchemaCondition[];
}

export interface GroupSubject {
  name: string;
}

export interface LimitResponse {
  type: LimitResponseType;
  queuing?: QueuingConfiguration;
}

export type LimitResponseType = string;

export interface LimitedPriorityLevelConfiguration {
  nominalConcurrencyShares: number;
  limitResponse?: LimitResponse;
  lendablePercent?: number;
  borrowingLimitPercent?: number;
}

export interface NonResourcePolicyRule {
  verbs: string[];
  nonResourceURLs: string[];
}

export interface PolicyRulesWithSubjects {
  subjects: Subject[];
  resourceRules?: ResourcePolicyRule[];
  nonResourceRules?: NonResourcePolicyRule[];
}

export interface PriorityLevelConfiguration {
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1';
  kind: 'PriorityLevelConfiguration';
  metadata: meta_v1.ObjectMeta;
  spec: PriorityLevelConfigurationSpec;
  status: PriorityLevelConfigurationStatus;
}

export interface PriorityLevelConfigurationCondition {
  type?: PriorityLevelConfigurationConditionType;
  status?: ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type PriorityLevelConfigurationConditionType = string;

export interface PriorityLevelConfigurationList {
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1';
  kind: 'PriorityLevelConfigurationList';
  metadata: meta_v1.ListMeta;
  items: PriorityLevelConfiguration[];
}

export interface PriorityLevelConfigurationReference {
  name: string;
}

export interface PriorityLevelConfigurationSpec {
  type: PriorityLevelEnablement;
  limited?: LimitedPriorityLevelConfiguration;
  exempt?: ExemptPriorityLevelConfiguration;
}

export interface PriorityLevelConfigurationStatus {
  conditions?: PriorityLevelConfigurationCondition[];
}

export type PriorityLevelEnablement = string;

export interface QueuingConfiguration {
  queues: number;
  handSize: number;
  queueLengthLimit: number;
}

export interface ResourcePolicyRule {
  verbs: string[];
  apiGroups: string[];
  resources: string[];
  clusterScope?: boolean;
  namespaces: string[];
}

export interface ServiceAccountSubject {
  namespace: string;
  name: string;
}

export interface Subject {
  kind: SubjectKind;
  user?: UserSubject;
  group?: GroupSubject;
  serviceAccount?: ServiceAccountSubject;
}

export type SubjectKind = string;

export interface UserSubject {
  name: string;
}

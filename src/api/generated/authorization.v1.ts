// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export type ExtraValue = string[];

export interface FieldSelectorAttributes {
  rawSelector?: string;
  requirements?: meta_v1.FieldSelectorRequirement[];
}

export interface LabelSelectorAttributes {
  rawSelector?: string;
  requirements?: meta_v1.LabelSelectorRequirement[];
}

export interface LocalSubjectAccessReview {
  apiVersion: 'authorization.k8s.io/v1';
  kind: 'LocalSubjectAccessReview';
  metadata: meta_v1.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

export interface NonResourceAttributes {
  path?: string;
  verb?: string;
}

export interface NonResourceRule {
  verbs: string[];
  nonResourceURLs?: string[];
}

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: FieldSelectorAttributes;
  labelSelector?: LabelSelectorAttributes;
}

export interface ResourceRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

export interface SelfSubjectAccessReview {
  apiVersion: 'authorization.k8s.io/v1';
  kind: 'SelfSubjectAccessReview';
  metadata: meta_v1.ObjectMeta;
  spec: SelfSubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

export interface SelfSubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

export interface SelfSubjectRulesReview {
  apiVersion: 'authorization.k8s.io/v1';
  kind: 'SelfSubjectRulesReview';
  metadata: meta_v1.ObjectMeta;
  spec: SelfSubjectRulesReviewSpec;
  status: SubjectRulesReviewStatus;
}

export interface SelfSubjectRulesReviewSpec {
  namespace?: string;
}

export interface SubjectAccessReview {
  apiVersion: 'authorization.k8s.io/v1';
  kind: 'SubjectAccessReview';
  metadata: meta_v1.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

export interface SubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
  user?: string;
  groups?: string[];
  extra?: Record<string, ExtraValue>;
  uid?: string;
}

export interface SubjectAccessReviewStatus {
  allowed: boolean;
  denied?: boolean;
  reason?: string;
  evaluationError?: string;
}

export interface SubjectRulesReviewStatus {
  resourceRules: ResourceRule[];
  nonResourceRules: NonResourceRule[];
  incomplete: boolean;
  evaluationError?: string;
}

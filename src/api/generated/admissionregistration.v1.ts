// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export interface ApplyConfiguration {
  expression?: string;
}

export interface AuditAnnotation {
  key: string;
  valueExpression: string;
}

export interface ExpressionWarning {
  fieldRef: string;
  warning: string;
}

export type FailurePolicyType = string;

export interface JSONPatch {
  expression?: string;
}

export interface MatchCondition {
  name: string;
  expression: string;
}

export type MatchPolicyType = string;

export interface MatchResources {
  namespaceSelector?: meta_v1.LabelSelector;
  objectSelector?: meta_v1.LabelSelector;
  resourceRules?: NamedRuleWithOperations[];
  excludeResourceRules?: NamedRuleWithOperations[];
  matchPolicy?: MatchPolicyType;
}

export interface MutatingAdmissionPolicy {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'MutatingAdmissionPolicy';
  metadata: meta_v1.ObjectMeta;
  spec: MutatingAdmissionPolicySpec;
}

export interface MutatingAdmissionPolicyBinding {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'MutatingAdmissionPolicyBinding';
  metadata: meta_v1.ObjectMeta;
  spec: MutatingAdmissionPolicyBindingSpec;
}

export interface MutatingAdmissionPolicyBindingList {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'MutatingAdmissionPolicyBindingList';
  metadata: meta_v1.ListMeta;
  items: MutatingAdmissionPolicyBinding[];
}

export interface MutatingAdmissionPolicyBindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
}

export interface MutatingAdmissionPolicyList {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'MutatingAdmissionPolicyList';
  metadata: meta_v1.ListMeta;
  items: MutatingAdmissionPolicy[];
}

export interface MutatingAdmissionPolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  variables?: Variable[];
  mutations?: Mutation[];
  failurePolicy?: FailurePolicyType;
  matchConditions?: MatchCondition[];
  reinvocationPolicy?: ReinvocationPolicyType;
}

export interface MutatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[];
  failurePolicy?: FailurePolicyType;
  matchPolicy?: MatchPolicyType;
  namespaceSelector?: meta_v1.LabelSelector;
  objectSelector?: meta_v1.LabelSelector;
  sideEffects: SideEffectClass;
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  reinvocationPolicy?: ReinvocationPolicyType;
  matchConditions?: MatchCondition[];
}

export interface MutatingWebhookConfiguration {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'MutatingWebhookConfiguration';
  metadata: meta_v1.ObjectMeta;
  webhooks?: MutatingWebhook[];
}

export interface MutatingWebhookConfigurationList {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'MutatingWebhookConfigurationList';
  metadata: meta_v1.ListMeta;
  items: MutatingWebhookConfiguration[];
}

export interface Mutation {
  patchType: PatchType;
  applyConfiguration?: ApplyConfiguration;
  jsonPatch?: JSONPatch;
}

export interface NamedRuleWithOperations {
  resourceNames?: string[];
  operations?: OperationType[];
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: ScopeType;
}

export type OperationType = string;

export interface ParamKind {
  apiVersion?: string;
  kind?: string;
}

export interface ParamRef {
  name?: string;
  namespace?: string;
  selector?: meta_v1.LabelSelector;
  parameterNotFoundAction?: ParameterNotFoundActionType;
}

export type ParameterNotFoundActionType = string;

export type PatchType = string;

export type ReinvocationPolicyType = string;

export interface Rule {
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: ScopeType;
}

export interface RuleWithOperations {
  operations?: OperationType[];
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: ScopeType;
}

export type ScopeType = string;

export interface ServiceReference {
  namespace: string;
  name: string;
  path?: string;
  port?: number;
}

export type SideEffectClass = string;

export interface TypeChecking {
  expressionWarnings?: ExpressionWarning[];
}

export interface ValidatingAdmissionPolicy {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'ValidatingAdmissionPolicy';
  metadata: meta_v1.ObjectMeta;
  spec: ValidatingAdmissionPolicySpec;
  status: ValidatingAdmissionPolicyStatus;
}

export interface ValidatingAdmissionPolicyBinding {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'ValidatingAdmissionPolicyBinding';
  metadata: meta_v1.ObjectMeta;
  spec: ValidatingAdmissionPolicyBindingSpec;
}

export interface ValidatingAdmissionPolicyBindingList {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'ValidatingAdmissionPolicyBindingList';
  metadata: meta_v1.ListMeta;
  items: ValidatingAdmissionPolicyBinding[];
}

export interface ValidatingAdmissionPolicyBindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
  validationActions?: ValidationAction[];
}

export interface ValidatingAdmissionPolicyList {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'ValidatingAdmissionPolicyList';
  metadata: meta_v1.ListMeta;
  items: ValidatingAdmissionPolicy[];
}

export interface ValidatingAdmissionPolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  validations?: Validation[];
  failurePolicy?: FailurePolicyType;
  auditAnnotations?: AuditAnnotation[];
  matchConditions?: MatchCondition[];
  variables?: Variable[];
}

export interface ValidatingAdmissionPolicyStatus {
  observedGeneration?: number;
  typeChecking?: TypeChecking;
  conditions?: meta_v1.Condition[];
}

export interface ValidatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[];
  failurePolicy?: FailurePolicyType;
  matchPolicy?: MatchPolicyType;
  namespaceSelector?: meta_v1.LabelSelector;
  objectSelector?: meta_v1.LabelSelector;
  sideEffects: SideEffectClass;
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  matchConditions?: MatchCondition[];
}

export interface ValidatingWebhookConfiguration {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'ValidatingWebhookConfiguration';
  metadata: meta_v1.ObjectMeta;
  webhooks?: ValidatingWebhook[];
}

export interface ValidatingWebhookConfigurationList {
  apiVersion: 'admissionregistration.k8s.io/v1';
  kind: 'ValidatingWebhookConfigurationList';
  metadata: meta_v1.ListMeta;
  items: ValidatingWebhookConfiguration[];
}

export interface Validation {
  expression: string;
  message?: string;
  reason?: meta_v1.StatusReason;
  messageExpression?: string;
}

export type ValidationAction = string;

export interface Variable {
  name: string;
  expression: string;
}

export interface WebhookClientConfig {
  url?: string;
  service?: ServiceReference;
  caBundle?: string;
}

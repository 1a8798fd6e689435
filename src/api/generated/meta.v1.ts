// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as runtime from './runtime.ts';
import type * as types from './types.ts';

export interface APIGroup {
  apiVersion: 'v1';
  kind: 'APIGroup';
  name: string;
  versions: GroupVersionForDiscovery[];
  preferredVersion?: GroupVersionForDiscovery;
  serverAddressByClientCIDRs?: ServerAddressByClientCIDR[];
}

export interface APIGroupList {
  apiVersion: 'v1';
  kind: 'APIGroupList';
  groups: APIGroup[];
}

export interface APIResource {
  name: string;
  singularName: string;
  namespaced: boolean;
  group?: string;
  version?: string;
  kind: string;
  verbs: Verbs;
  shortNames?: string[];
  categories?: string[];
  storageVersionHash?: string;
}

export interface APIResourceList {
  apiVersion: 'v1';
  kind: 'APIResourceList';
  groupVersion: string;
  resources: APIResource[];
}

export interface APIVersions {
  apiVersion: 'v1';
  kind: 'APIVersions';
  versions: string[];
  serverAddressByClientCIDRs: ServerAddressByClientCIDR[];
}

export type CauseType = string;

export interface Condition {
  type: string;
  status: ConditionStatus;
  observedGeneration?: number;
  lastTransitionTime: Time;
  reason: string;
  message: string;
}

export type ConditionStatus = string;

export interface CreateOptions {
  apiVersion: 'v1';
  kind: 'CreateOptions';
  dryRun?: string[];
  fieldManager?: string;
  fieldValidation?: string;
}

export interface DeleteOptions {
  apiVersion: 'v1';
  kind: 'DeleteOptions';
  gracePeriodSeconds?: number;
  preconditions?: Preconditions;
  orphanDependents?: boolean;
  propagationPolicy?: DeletionPropagation;
  dryRun?: string[];
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
}

export type DeletionPropagation = string;

export type Duration = string;

export type FieldSelectorOperator = string;

export interface FieldSelectorRequirement {
  key: string;
  operator: FieldSelectorOperator;
  values?: string[];
}

export type FieldsV1 = Readonly<Record<string, unknown>>;

export interface GetOptions {
  apiVersion: 'v1';
  kind: 'GetOptions';
  resourceVersion?: string;
}

export interface GroupResource {
  group: string;
  resource: string;
}

export interface GroupVersionForDiscovery {
  groupVersion: string;
  version: string;
}

export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

export type IncludeObjectPolicy = string;

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export type LabelSelectorOperator = string;

export interface LabelSelectorRequirement {
  key: string;
  operator: LabelSelectorOperator;
  values?: string[];
}

export interface ListMeta {
  selfLink?: string;
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
  shardInfo?: ShardInfo;
}

export interface ListOptions {
  apiVersion: 'v1';
  kind: 'ListOptions';
  labelSelector?: string;
  fieldSelector?: string;
  watch?: boolean;
  allowWatchBookmarks?: boolean;
  resourceVersion?: string;
  resourceVersionMatch?: ResourceVersionMatch;
  timeoutSeconds?: number;
  limit?: number;
  continue?: string;
  sendInitialEvents?: boolean;
  shardSelector?: string;
}

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: ManagedFieldsOperationType;
  apiVersion?: string;
  time?: Time;
  fieldsType?: string;
  fieldsV1?: FieldsV1;
  subresource?: string;
}

export type ManagedFieldsOperationType = string;

export type MicroTime = string;

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  selfLink?: string;
  uid: types.UID;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: Time;
  deletionTimestamp?: Time;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: types.UID;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface PartialObjectMetadata {
  metadata?: Partial<ObjectMeta>;
}

export interface PartialObjectMetadataList {
  metadata?: ListMeta;
  items: PartialObjectMetadata[];
}

export interface PatchOptions {
  apiVersion: 'v1';
  kind: 'PatchOptions';
  dryRun?: string[];
  force?: boolean;
  fieldManager?: string;
  fieldValidation?: string;
}

export interface Preconditions {
  uid?: types.UID;
  resourceVersion?: string;
}

export type ResourceVersionMatch = string;

export type RowConditionType = string;

export interface ServerAddressByClientCIDR {
  clientCIDR: string;
  serverAddress: string;
}

export interface ShardInfo {
  selector: string;
}

export interface Status {
  apiVersion: 'v1';
  kind: 'Status';
  metadata: ListMeta;
  status: string;
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code?: number;
}

export interface StatusCause {
  reason?: CauseType;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: types.UID;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export type StatusReason = string;

export interface Table {
  metadata?: ListMeta;
  columnDefinitions: TableColumnDefinition[];
  rows: TableRow[];
}

export interface TableColumnDefinition {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export interface TableOptions {
  includeObject?: IncludeObjectPolicy;
}

export interface TableRow {
  cells: unknown[];
  conditions?: TableRowCondition[];
  object?: runtime.RawExtension;
}

export interface TableRowCondition {
  type: RowConditionType;
  status: ConditionStatus;
  reason?: string;
  message?: string;
}

export type Time = string;

export interface TypeMeta {
  kind?: string;
  apiVersion?: string;
}

export interface UpdateOptions {
  apiVersion: 'v1';
  kind: 'UpdateOptions';
  dryRun?: string[];
  fieldManager?: string;
  fieldValidation?: string;
}

export type Verbs = string[];

export interface WatchEvent {
  apiVersion: 'v1';
  kind: 'WatchEvent';
  type: string;
  object: runtime.RawExtension;
}

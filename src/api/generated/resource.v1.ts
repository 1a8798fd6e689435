// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as api_resource from './api.resource.ts';
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';
import type * as runtime from './runtime.ts';
import type * as types from './types.ts';

export interface AllocatedDeviceStatus {
  driver: string;
  pool: string;
  device: string;
  shareID?: string;
  conditions: meta_v1.Condition[];
  data?: runtime.RawExtension;
  networkData?: NetworkDeviceData;
}

export type AllocationConfigSource = string;

export interface AllocationResult {
  devices?: DeviceAllocationResult;
  nodeSelector?: core_v1.NodeSelector;
  allocationTimestamp?: meta_v1.Time;
}

export interface CELDeviceSelector {
  expression: string;
}

export interface CapacityRequestPolicy {
  default: api_resource.Quantity;
  validValues?: api_resource.Quantity[];
  validRange?: CapacityRequestPolicyRange;
}

export interface CapacityRequestPolicyRange {
  min?: api_resource.Quantity;
  max?: api_resource.Quantity;
  step?: api_resource.Quantity;
}

export interface CapacityRequirements {
  requests?: Record<string, api_resource.Quantity>;
}

export interface Counter {
  value: api_resource.Quantity;
}

export interface CounterSet {
  name: string;
  counters?: Record<string, Counter>;
}

export interface Device {
  name: string;
  attributes?: Record<string, DeviceAttribute>;
  capacity?: Record<string, DeviceCapacity>;
  consumesCounters?: DeviceCounterConsumption[];
  nodeName?: string;
  nodeSelector?: core_v1.NodeSelector;
  allNodes?: boolean;
  taints?: DeviceTaint[];
  bindsToNode?: boolean;
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  allowMultipleAllocations?: boolean;
  nodeAllocatableResources?: Record<string, NodeAllocatableResource>;
}

export interface DeviceAllocationConfiguration {
  source: AllocationConfigSource;
  requests?: string[];
  opaque?: OpaqueDeviceConfiguration;
}

export type DeviceAllocationMode = string;

export interface DeviceAllocationResult {
  results?: DeviceRequestAllocationResult[];
  config?: DeviceAllocationConfiguration[];
}

export interface DeviceAttribute {
  int?: number;
  bool?: boolean;
  string?: string;
  version?: string;
  ints?: number[];
  bools?: boolean[];
  strings?: string[];
  versions?: string[];
}

export interface DeviceCapacity {
  value: api_resource.Quantity;
  requestPolicy?: CapacityRequestPolicy;
}

export interface DeviceClaim {
  requests: DeviceRequest[];
  constraints?: DeviceConstraint[];
  config?: DeviceClaimConfiguration[];
}

export interface DeviceClaimConfiguration {
  requests?: string[];
  opaque?: OpaqueDeviceConfiguration;
}

export interface DeviceClass {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'DeviceClass';
  metadata: meta_v1.ObjectMeta;
  spec: DeviceClassSpec;
}

export interface DeviceClassConfiguration {
  opaque?: OpaqueDeviceConfiguration;
}

export interface DeviceClassList {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'DeviceClassList';
  metadata: meta_v1.ListMeta;
  items: DeviceClass[];
}

export interface DeviceClassSpec {
  selectors?: DeviceSelector[];
  config?: DeviceClassConfiguration[];
  extendedResourceName?: string;
}

export interface DeviceConfiguration {
  opaque?: OpaqueDeviceConfiguration;
}

export interface DeviceConstraint {
  requests?: string[];
  matchAttribute?: FullyQualifiedName;
  distinctAttribute?: FullyQualifiedName;
}

export interface DeviceCounterConsumption {
  counterSet: string;
  counters?: Record<string, Counter>;
  compatibilityGroups?: string[];
}

export interface DeviceDerivedAttribute {
  name: FullyQualifiedName;
  expression: string;
}

export interface DeviceRequest {
  name: string;
  exactly?: ExactDeviceRequest;
  firstAvailable?: DeviceSubRequest[];
}

export interface DeviceRequestAllocationResult {
  request: string;
  driver: string;
  pool: string;
  device: string;
  adminAccess?: boolean;
  tolerations?: DeviceToleration[];
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  shareID?: types.UID;
  consumedCapacity?: Record<string, api_resource.Quantity>;
  skipNodeOperations?: SkipNodeOperation[];
}

export interface DeviceSelector {
  cel?: CELDeviceSelector;
}

export interface DeviceSubRequest {
  name: string;
  deviceClassName: string;
  selectors?: DeviceSelector[];
  allocationMode?: DeviceAllocationMode;
  count?: number;
  tolerations?: DeviceToleration[];
  capacity?: CapacityRequirements;
  derivedAttributes?: DeviceDerivedAttribute[];
}

export interface DeviceTaint {
  key: string;
  value?: string;
  effect: DeviceTaintEffect;
  timeAdded?: meta_v1.Time;
}

export type DeviceTaintEffect = string;

export interface DeviceTaintRule {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'DeviceTaintRule';
  metadata: meta_v1.ObjectMeta;
  spec: DeviceTaintRuleSpec;
  status: DeviceTaintRuleStatus;
}

export interface DeviceTaintRuleList {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'DeviceTaintRuleList';
  metadata: meta_v1.ListMeta;
  items: DeviceTaintRule[];
}

export interface DeviceTaintRuleSpec {
  deviceSelector?: DeviceTaintSelector;
  taint?: DeviceTaint;
}

export interface DeviceTaintRuleStatus {
  conditions?: meta_v1.Condition[];
}

export interface DeviceTaintSelector {
  driver?: string;
  pool?: string;
  device?: string;
}

export interface DeviceToleration {
  key?: string;
  operator?: DeviceTolerationOperator;
  value?: string;
  effect?: DeviceTaintEffect;
  tolerationSeconds?: number;
}

export type DeviceTolerationOperator = string;

export interface ExactDeviceRequest {
  deviceClassName: string;
  selectors?: DeviceSelector[];
  allocationMode?: DeviceAllocationMode;
  count?: number;
  adminAccess?: boolean;
  tolerations?: DeviceToleration[];
  capacity?: CapacityRequirements;
  derivedAttributes?: DeviceDerivedAttribute[];
}

export type FullyQualifiedName = string;

export interface NetworkDeviceData {
  interfaceName?: string;
  ips?: string[];
  hardwareAddress?: string;
}

export interface NodeAllocatableMapping {
  capacityKey?: QualifiedName;
  capacityMultiplier?: api_resource.Quantity;
  deviceMultiplier?: api_resource.Quantity;
}

export interface NodeAllocatableOverhead {
  perPod?: api_resource.Quantity;
  perContainer?: api_resource.Quantity;
}

export interface NodeAllocatableResource {
  mapping?: NodeAllocatableMapping;
  overhead?: NodeAllocatableOverhead;
}

export interface OpaqueDeviceConfiguration {
  driver: string;
  parameters: runtime.RawExtension;
}

export type QualifiedName = string;

export interface ResourceClaim {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'ResourceClaim';
  metadata: meta_v1.ObjectMeta;
  spec: ResourceClaimSpec;
  status: ResourceClaimStatus;
}

export interface ResourceClaimConsumerReference {
  apiGroup?: string;
  resource: string;
  name: string;
  uid: types.UID;
}

export interface ResourceClaimList {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'ResourceClaimList';
  metadata: meta_v1.ListMeta;
  items: ResourceClaim[];
}

export interface ResourceClaimSpec {
  devices: DeviceClaim;
}

export interface ResourceClaimStatus {
  allocation?: AllocationResult;
  reservedFor?: ResourceClaimConsumerReference[];
  devices?: AllocatedDeviceStatus[];
}

export interface ResourceClaimTemplate {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'ResourceClaimTemplate';
  metadata: meta_v1.ObjectMeta;
  spec: ResourceClaimTemplateSpec;
}

export interface ResourceClaimTemplateList {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'ResourceClaimTemplateList';
  metadata: meta_v1.ListMeta;
  items: ResourceClaimTemplate[];
}

export interface ResourceClaimTemplateSpec {
  metadata?: Partial<meta_v1.ObjectMeta>;
  spec: ResourceClaimSpec;
}

export interface ResourcePool {
  name: string;
  generation: number;
  resourceSliceCount: number;
}

export interface ResourceSlice {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'ResourceSlice';
  metadata: meta_v1.ObjectMeta;
  spec: ResourceSliceSpec;
}

export interface ResourceSliceList {
  apiVersion: 'resource.k8s.io/v1';
  kind: 'ResourceSliceList';
  metadata: meta_v1.ListMeta;
  items: ResourceSlice[];
}

export interface ResourceSliceSpec {
  driver: string;
  pool: ResourcePool;
  nodeName?: string;
  nodeSelector?: core_v1.NodeSelector;
  allNodes?: boolean;
  devices?: Device[];
  perDeviceNodeSelection?: boolean;
  sharedCounters?: CounterSet[];
  partitionTypeAttribute?: FullyQualifiedName;
  skipNodeOperations?: SkipNodeOperation[];
}

export type SkipNodeOperation = string;

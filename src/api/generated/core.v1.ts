// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as api_resource from './api.resource.ts';
import type * as meta_v1 from './meta.v1.ts';
import type * as runtime from './runtime.ts';
import type * as types from './types.ts';
import type * as util_intstr from './util.intstr.ts';

export interface AWSElasticBlockStoreVolumeSource {
  volumeID: string;
  fsType?: string;
  partition?: number;
  readOnly?: boolean;
}

export interface Affinity {
  nodeAffinity?: NodeAffinity;
  podAffinity?: PodAffinity;
  podAntiAffinity?: PodAntiAffinity;
}

export interface AppArmorProfile {
  type: AppArmorProfileType;
  localhostProfile?: string;
}

export type AppArmorProfileType = string;

export interface AttachedVolume {
  name: UniqueVolumeName;
  devicePath: string;
}

export type AzureDataDiskCachingMode = string;

export type AzureDataDiskKind = string;

export interface AzureDiskVolumeSource {
  diskName: string;
  diskURI: string;
  cachingMode?: AzureDataDiskCachingMode;
  fsType?: string;
  readOnly?: boolean;
  kind?: AzureDataDiskKind;
}

export interface AzureFilePersistentVolumeSource {
  secretName: string;
  shareName: string;
  readOnly?: boolean;
  secretNamespace: string;
}

export interface AzureFileVolumeSource {
  secretName: string;
  shareName: string;
  readOnly?: boolean;
}

export interface Binding {
  apiVersion: 'v1';
  kind: 'Binding';
  metadata: meta_v1.ObjectMeta;
  target: ObjectReference;
}

export interface CSIPersistentVolumeSource {
  driver: string;
  volumeHandle: string;
  readOnly?: boolean;
  fsType?: string;
  volumeAttributes?: Record<string, string>;
  controllerPublishSecretRef?: SecretReference;
  nodeStageSecretRef?: SecretReference;
  nodePublishSecretRef?: SecretReference;
  controllerExpandSecretRef?: SecretReference;
  nodeExpandSecretRef?: SecretReference;
}

export interface CSIVolumeSource {
  driver: string;
  readOnly?: boolean;
  fsType?: string;
  volumeAttributes?: Record<string, string>;
  nodePublishSecretRef?: LocalObjectReference;
}

export interface Capabilities {
  add?: Capability[];
  drop?: Capability[];
}

export type Capability = string;

export interface CephFSPersistentVolumeSource {
  monitors: string[];
  path?: string;
  user?: string;
  secretFile?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
}

export interface CephFSVolumeSource {
  monitors: string[];
  path?: string;
  user?: string;
  secretFile?: string;
  secretRef?: LocalObjectReference;
  readOnly?: boolean;
}

export interface CinderPersistentVolumeSource {
  volumeID: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: SecretReference;
}

export interface CinderVolumeSource {
  volumeID: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
}

export type ClaimResourceStatus = string;

export interface ClientIPConfig {
  timeoutSeconds?: number;
}

export interface ClusterTrustBundleProjection {
  name?: string;
  signerName?: string;
  labelSelector?: meta_v1.LabelSelector;
  optional?: boolean;
  path: string;
  user?: number;
}

export interface ComponentCondition {
  type: ComponentConditionType;
  status: ConditionStatus;
  message?: string;
  error?: string;
}

export type ComponentConditionType = string;

export interface ComponentStatus {
  apiVersion: 'v1';
  kind: 'ComponentStatus';
  metadata: meta_v1.ObjectMeta;
  conditions?: ComponentCondition[];
}

export interface ComponentStatusList {
  apiVersion: 'v1';
  kind: 'ComponentStatusList';
  metadata: meta_v1.ListMeta;
  items: ComponentStatus[];
}

export type ConditionStatus = string;

export interface ConfigMap {
  apiVersion: 'v1';
  kind: 'ConfigMap';
  metadata: meta_v1.ObjectMeta;
  immutable?: boolean;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

export interface ConfigMapEnvSource {
  name?: string;
  optional?: boolean;
}

export interface ConfigMapKeySelector {
  name?: string;
  key: string;
  optional?: boolean;
}

export interface ConfigMapList {
  apiVersion: 'v1';
  kind: 'ConfigMapList';
  metadata: meta_v1.ListMeta;
  items: ConfigMap[];
}

export interface ConfigMapNodeConfigSource {
  namespace: string;
  name: string;
  uid?: types.UID;
  resourceVersion?: string;
  kubeletConfigKey: string;
}

export interface ConfigMapProjection {
  name?: string;
  items?: KeyToPath[];
  optional?: boolean;
}

export interface ConfigMapVolumeSource {
  name?: string;
  items?: KeyToPath[];
  defaultMode?: number;
  optional?: boolean;
  defaultUser?: number;
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: ContainerPort[];
  envFrom?: EnvFromSource[];
  env?: EnvVar[];
  resources?: ResourceRequirements;
  resizePolicy?: ContainerResizePolicy[];
  restartPolicy?: ContainerRestartPolicy;
  restartPolicyRules?: ContainerRestartRule[];
  volumeMounts?: VolumeMount[];
  volumeDevices?: VolumeDevice[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
  terminationMessagePath?: string;
  terminationMessagePolicy?: TerminationMessagePolicy;
  imagePullPolicy?: PullPolicy;
  securityContext?: SecurityContext;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
}

export interface ContainerExtendedResourceRequest {
  containerName: string;
  resourceName: string;
  requestName: string;
}

export interface ContainerImage {
  names: string[];
  sizeBytes?: number;
}

export interface ContainerPort {
  name?: string;
  hostPort?: number;
  containerPort: number;
  protocol?: Protocol;
  hostIP?: string;
}

export interface ContainerResizePolicy {
  resourceName: ResourceName;
  restartPolicy: ResourceResizeRestartPolicy;
}

export type ContainerRestartPolicy = string;

export interface ContainerRestartRule {
  action?: ContainerRestartRuleAction;
  exitCodes?: ContainerRestartRuleOnExitCodes;
}

export type ContainerRestartRuleAction = string;

export interface ContainerRestartRuleOnExitCodes {
  operator?: ContainerRestartRuleOnExitCodesOperator;
  values?: number[];
}

export type ContainerRestartRuleOnExitCodesOperator = string;

export interface ContainerState {
  waiting?: ContainerStateWaiting;
  running?: ContainerStateRunning;
  terminated?: ContainerStateTerminated;
}

export interface ContainerStateRunning {
  startedAt?: meta_v1.Time;
}

export interface ContainerStateTerminated {
  exitCode: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: meta_v1.Time;
  finishedAt?: meta_v1.Time;
  containerID?: string;
}

export interface ContainerStateWaiting {
  reason?: string;
  message?: string;
}

export interface ContainerStatus {
  name: string;
  state?: ContainerState;
  lastState?: ContainerState;
  ready: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
  started?: boolean;
  allocatedResources?: ResourceList;
  resources?: ResourceRequirements;
  volumeMounts?: VolumeMountStatus[];
  user?: ContainerUser;
  allocatedResourcesStatus?: ResourceStatus[];
  stopSignal?: Signal;
}

export interface ContainerUser {
  linux?: LinuxContainerUser;
}

export type DNSPolicy = string;

export interface DaemonEndpoint {
  Port: number;
}

export interface DownwardAPIProjection {
  items?: DownwardAPIVolumeFile[];
}

export interface DownwardAPIVolumeFile {
  path: string;
  fieldRef?: ObjectFieldSelector;
  resourceFieldRef?: ResourceFieldSelector;
  mode?: number;
  user?: number;
}

export interface DownwardAPIVolumeSource {
  items?: DownwardAPIVolumeFile[];
  defaultMode?: number;
  defaultUser?: number;
}

export interface EmptyDirVolumeSource {
  medium?: StorageMedium;
  sizeLimit?: api_resource.Quantity;
  mode?: number;
}

export interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
}

export interface EndpointPort {
  name?: string;
  port: number;
  protocol?: Protocol;
  appProtocol?: string;
}

export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
}

export interface Endpoints {
  apiVersion: 'v1';
  kind: 'Endpoints';
  metadata: meta_v1.ObjectMeta;
  subsets?: EndpointSubset[];
}

export interface EndpointsList {
  apiVersion: 'v1';
  kind: 'EndpointsList';
  metadata: meta_v1.ListMeta;
  items: Endpoints[];
}

export interface EnvFromSource {
  prefix?: string;
  configMapRef?: ConfigMapEnvSource;
  secretRef?: SecretEnvSource;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: EnvVarSource;
}

export interface EnvVarSource {
  fieldRef?: ObjectFieldSelector;
  resourceFieldRef?: ResourceFieldSelector;
  configMapKeyRef?: ConfigMapKeySelector;
  secretKeyRef?: SecretKeySelector;
  fileKeyRef?: FileKeySelector;
}

export interface EphemeralContainer {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: ContainerPort[];
  envFrom?: EnvFromSource[];
  env?: EnvVar[];
  resources?: ResourceRequirements;
  resizePolicy?: ContainerResizePolicy[];
  restartPolicy?: ContainerRestartPolicy;
  restartPolicyRules?: ContainerRestartRule[];
  volumeMounts?: VolumeMount[];
  volumeDevices?: VolumeDevice[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
  terminationMessagePath?: string;
  terminationMessagePolicy?: TerminationMessagePolicy;
  imagePullPolicy?: PullPolicy;
  securityContext?: SecurityContext;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
  targetContainerName?: string;
}

export interface EphemeralContainerCommon {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: ContainerPort[];
  envFrom?: EnvFromSource[];
  env?: EnvVar[];
  resources?: ResourceRequirements;
  resizePolicy?: ContainerResizePolicy[];
  restartPolicy?: ContainerRestartPolicy;
  restartPolicyRules?: ContainerRestartRule[];
  volumeMounts?: VolumeMount[];
  volumeDevices?: VolumeDevice[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
  terminationMessagePath?: string;
  terminationMessagePolicy?: TerminationMessagePolicy;
  imagePullPolicy?: PullPolicy;
  securityContext?: SecurityContext;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
}

export interface EphemeralVolumeSource {
  volumeClaimTemplate?: PersistentVolumeClaimTemplate;
}

export interface Event {
  apiVersion: 'v1';
  kind: 'Event';
  metadata: meta_v1.ObjectMeta;
  involvedObject: ObjectReference;
  reason?: string;
  message?: string;
  source?: EventSource;
  firstTimestamp?: meta_v1.Time;
  lastTimestamp?: meta_v1.Time;
  count?: number;
  type?: string;
  eventTime?: meta_v1.MicroTime;
  series?: EventSeries;
  action?: string;
  related?: ObjectReference;
  reportingComponent: string;
  reportingInstance: string;
}

export interface EventList {
  apiVersion: 'v1';
  kind: 'EventList';
  metadata: meta_v1.ListMeta;
  items: Event[];
}

export interface EventSeries {
  count?: number;
  lastObservedTime?: meta_v1.MicroTime;
}

export interface EventSource {
  component?: string;
  host?: string;
}

export interface EvictionResponder {
  name: string;
  priority: number;
}

export interface ExecAction {
  command?: string[];
}

export interface FCVolumeSource {
  targetWWNs?: string[];
  lun?: number;
  fsType?: string;
  readOnly?: boolean;
  wwids?: string[];
}

export interface FileKeySelector {
  volumeName: string;
  path: string;
  key: string;
  optional?: boolean;
}

export type FinalizerName = string;

export interface FlexPersistentVolumeSource {
  driver: string;
  fsType?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
  options?: Record<string, string>;
}

export interface FlexVolumeSource {
  driver: string;
  fsType?: string;
  secretRef?: LocalObjectReference;
  readOnly?: boolean;
  options?: Record<string, string>;
}

export interface FlockerVolumeSource {
  datasetName?: string;
  datasetUUID?: string;
}

export interface GCEPersistentDiskVolumeSource {
  pdName: string;
  fsType?: string;
  partition?: number;
  readOnly?: boolean;
}

export interface GRPCAction {
  port: number;
  service: string;
  mode?: GRPCProbeMode;
}

export type GRPCProbeMode = string;

export interface GitRepoVolumeSource {
  repository: string;
  revision?: string;
  directory?: string;
}

export interface GlusterfsPersistentVolumeSource {
  endpoints: string;
  path: string;
  readOnly?: boolean;
  endpointsNamespace?: string;
}

export interface GlusterfsVolumeSource {
  endpoints: string;
  path: string;
  readOnly?: boolean;
}

export interface HTTPGetAction {
  path?: string;
  port: util_intstr.IntOrString;
  host?: string;
  scheme?: URIScheme;
  httpHeaders?: HTTPHeader[];
  protocol?: HTTPProtocol;
}

export interface HTTPHeader {
  name: string;
  value: string;
}

export type HTTPProtocol = string;

export interface HostAlias {
  ip: string;
  hostnames?: string[];
}

export interface HostIP {
  ip: string;
}

export type HostPathType = string;

export interface HostPathVolumeSource {
  path: string;
  type?: HostPathType;
}

export type IPFamily = string;

export type IPFamilyPolicy = string;

export interface ISCSIPersistentVolumeSource {
  targetPortal: string;
  iqn: string;
  lun: number;
  iscsiInterface?: string;
  fsType?: string;
  readOnly?: boolean;
  portals?: string[];
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  secretRef?: SecretReference;
  initiatorName?: string;
}

export interface ISCSIVolumeSource {
  targetPortal: string;
  iqn: string;
  lun: number;
  iscsiInterface?: string;
  fsType?: string;
  readOnly?: boolean;
  portals?: string[];
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  secretRef?: LocalObjectReference;
  initiatorName?: string;
}

export interface ImageVolumeSource {
  reference?: string;
  pullPolicy?: PullPolicy;
}

export interface ImageVolumeStatus {
  imageRef?: string;
}

export interface KeyToPath {
  key: string;
  path: string;
  mode?: number;
  user?: number;
}

export interface Lifecycle {
  postStart?: LifecycleHandler;
  preStop?: LifecycleHandler;
  stopSignal?: Signal;
}

export interface LifecycleHandler {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  sleep?: SleepAction;
}

export interface LimitRange {
  apiVersion: 'v1';
  kind: 'LimitRange';
  metadata: meta_v1.ObjectMeta;
  spec: LimitRangeSpec;
}

export interface LimitRangeItem {
  type: LimitType;
  max?: ResourceList;
  min?: ResourceList;
  default?: ResourceList;
  defaultRequest?: ResourceList;
  maxLimitRequestRatio?: ResourceList;
}

export interface LimitRangeList {
  apiVersion: 'v1';
  kind: 'LimitRangeList';
  metadata: meta_v1.ListMeta;
  items: LimitRange[];
}

export interface LimitRangeSpec {
  limits: LimitRangeItem[];
}

export type LimitType = string;

export interface LinuxContainerUser {
  uid: number;
  gid: number;
  supplementalGroups?: number[];
}

export interface List {
  apiVersion: 'v1';
  kind: 'List';
  metadata: meta_v1.ListMeta;
  items: runtime.RawExtension[];
}

export type LoadBalancerIPMode = string;

export interface LoadBalancerIngress {
  ip?: string;
  hostname?: string;
  ipMode?: LoadBalancerIPMode;
  ports?: PortStatus[];
}

export interface LoadBalancerStatus {
  ingress?: LoadBalancerIngress[];
}

export interface LocalObjectReference {
  name?: string;
}

export interface LocalVolumeSource {
  path: string;
  fsType?: string;
}

export interface ModifyVolumeStatus {
  targetVolumeAttributesClassName?: string;
  status: PersistentVolumeClaimModifyVolumeStatus;
}

export type MountPropagationMode = string;

export interface NFSVolumeSource {
  server: string;
  path: string;
  readOnly?: boolean;
}

export interface Namespace {
  apiVersion: 'v1';
  kind: 'Namespace';
  metadata: meta_v1.ObjectMeta;
  spec: NamespaceSpec;
  status: NamespaceStatus;
}

export interface NamespaceCondition {
  type: NamespaceConditionType;
  status: ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type NamespaceConditionType = string;

export interface NamespaceList {
  apiVersion: 'v1';
  kind: 'NamespaceList';
  metadata: meta_v1.ListMeta;
  items: Namespace[];
}

export type NamespacePhase = string;

export interface NamespaceSpec {
  finalizers?: FinalizerName[];
}

export interface NamespaceStatus {
  phase?: NamespacePhase;
  conditions?: NamespaceCondition[];
}

export interface Node {
  apiVersion: 'v1';
  kind: 'Node';
  metadata: meta_v1.ObjectMeta;
  spec: NodeSpec;
  status: NodeStatus;
}

export interface NodeAddress {
  type: NodeAddressType;
  address: string;
}

export type NodeAddressType = string;

export interface NodeAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[];
}

export interface NodeAllocatableMappedResources {
  name: ResourceName;
  quantity: api_resource.Quantity;
}

export interface NodeAllocatableOverheadResources {
  name: ResourceName;
  perPod?: api_resource.Quantity;
  perContainer?: api_resource.Quantity;
}

export interface NodeAllocatableResourceClaimStatus {
  resourceClaimName: string;
  containers?: string[];
  mapping?: NodeAllocatableMappedResources[];
  overhead?: NodeAllocatableOverheadResources[];
}

export interface NodeCondition {
  type: NodeConditionType;
  status: ConditionStatus;
  lastHeartbeatTime?: meta_v1.Time;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type NodeConditionType = string;

export interface NodeConfigSource {
  configMap?: ConfigMapNodeConfigSource;
}

export interface NodeConfigStatus {
  assigned?: NodeConfigSource;
  active?: NodeConfigSource;
  lastKnownGood?: NodeConfigSource;
  error?: string;
}

export interface NodeDaemonEndpoints {
  kubeletEndpoint?: DaemonEndpoint;
}

export interface NodeFeatures {
  supplementalGroupsPolicy?: boolean;
}

export type NodeInclusionPolicy = string;

export interface NodeList {
  apiVersion: 'v1';
  kind: 'NodeList';
  metadata: meta_v1.ListMeta;
  items: Node[];
}

export type NodePhase = string;

export interface NodePodPreemptionPolicy {
  disableResizePreemption?: string[];
}

export interface NodeProxyOptions {
  apiVersion: 'v1';
  kind: 'NodeProxyOptions';
  path?: string;
}

export interface NodeRuntimeHandler {
  name: string;
  features?: NodeRuntimeHandlerFeatures;
}

export interface NodeRuntimeHandlerFeatures {
  recursiveReadOnlyMounts?: boolean;
  userNamespaces?: boolean;
}

export interface NodeSelector {
  nodeSelectorTerms: NodeSelectorTerm[];
}

export type NodeSelectorOperator = string;

export interface NodeSelectorRequirement {
  key: string;
  operator: NodeSelectorOperator;
  values?: string[];
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

export interface NodeSpec {
  podCIDR?: string;
  podCIDRs?: string[];
  providerID?: string;
  unschedulable?: boolean;
  taints?: Taint[];
  configSource?: NodeConfigSource;
  externalID?: string;
  podPreemptionPolicy?: NodePodPreemptionPolicy;
}

export interface NodeStatus {
  capacity?: ResourceList;
  allocatable?: ResourceList;
  phase?: NodePhase;
  conditions?: NodeCondition[];
  addresses?: NodeAddress[];
  daemonEndpoints?: NodeDaemonEndpoints;
  nodeInfo?: NodeSystemInfo;
  images?: ContainerImage[];
  volumesInUse?: UniqueVolumeName[];
  volumesAttached?: AttachedVolume[];
  config?: NodeConfigStatus;
  runtimeHandlers?: NodeRuntimeHandler[];
  features?: NodeFeatures;
  declaredFeatures?: string[];
}

export interface NodeSwapStatus {
  capacity?: number;
}

export interface NodeSystemInfo {
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osImage: string;
  containerRuntimeVersion: string;
  kubeletVersion: string;
  kubeProxyVersion: string;
  operatingSystem: string;
  architecture: string;
  swap?: NodeSwapStatus;
  runningInUserNamespace?: boolean;
}

export type OSName = string;

export interface ObjectFieldSelector {
  apiVersion?: string;
  fieldPath: string;
}

export interface ObjectReference {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: types.UID;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

export interface PersistentVolume {
  apiVersion: 'v1';
  kind: 'PersistentVolume';
  metadata: meta_v1.ObjectMeta;
  spec: PersistentVolumeSpec;
  status: PersistentVolumeStatus;
}

export type PersistentVolumeAccessMode = string;

export interface PersistentVolumeClaim {
  apiVersion: 'v1';
  kind: 'PersistentVolumeClaim';
  metadata: meta_v1.ObjectMeta;
  spec: PersistentVolumeClaimSpec;
  status: PersistentVolumeClaimStatus;
}

export interface PersistentVolumeClaimCondition {
  type: PersistentVolumeClaimConditionType;
  status: ConditionStatus;
  lastProbeTime?: meta_v1.Time;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type PersistentVolumeClaimConditionType = string;

export interface PersistentVolumeClaimList {
  apiVersion: 'v1';
  kind: 'PersistentVolumeClaimList';
  metadata: meta_v1.ListMeta;
  items: PersistentVolumeClaim[];
}

export type PersistentVolumeClaimModifyVolumeStatus = string;

export type PersistentVolumeClaimPhase = string;

export interface PersistentVolumeClaimSpec {
  accessModes?: PersistentVolumeAccessMode[];
  selector?: meta_v1.LabelSelector;
  resources?: VolumeResourceRequirements;
  volumeName?: string;
  storageClassName?: string;
  volumeMode?: PersistentVolumeMode;
  dataSource?: TypedLocalObjectReference;
  dataSourceRef?: TypedObjectReference;
  volumeAttributesClassName?: string;
}

export interface PersistentVolumeClaimStatus {
  phase?: PersistentVolumeClaimPhase;
  accessModes?: PersistentVolumeAccessMode[];
  capacity?: ResourceList;
  conditions?: PersistentVolumeClaimCondition[];
  allocatedResources?: ResourceList;
  allocatedResourceStatuses?: Record<string, ClaimResourceStatus>;
  currentVolumeAttributesClassName?: string;
  modifyVolumeStatus?: ModifyVolumeStatus;
  healthStatus?: VolumeHealthStatus;
}

export interface PersistentVolumeClaimTemplate {
  metadata?: Partial<meta_v1.ObjectMeta>;
  spec: PersistentVolumeClaimSpec;
}

export interface PersistentVolumeClaimVolumeSource {
  claimName: string;
  readOnly?: boolean;
}

export interface PersistentVolumeList {
  apiVersion: 'v1';
  kind: 'PersistentVolumeList';
  metadata: meta_v1.ListMeta;
  items: PersistentVolume[];
}

export type PersistentVolumeMode = string;

export type PersistentVolumePhase = string;

export type PersistentVolumeReclaimPolicy = string;

export interface PersistentVolumeSource {
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  hostPath?: HostPathVolumeSource;
  glusterfs?: GlusterfsPersistentVolumeSource;
  nfs?: NFSVolumeSource;
  rbd?: RBDPersistentVolumeSource;
  iscsi?: ISCSIPersistentVolumeSource;
  cinder?: CinderPersistentVolumeSource;
  cephfs?: CephFSPersistentVolumeSource;
  fc?: FCVolumeSource;
  flocker?: FlockerVolumeSource;
  flexVolume?: FlexPersistentVolumeSource;
  azureFile?: AzureFilePersistentVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  quobyte?: QuobyteVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  scaleIO?: ScaleIOPersistentVolumeSource;
  local?: LocalVolumeSource;
  storageos?: StorageOSPersistentVolumeSource;
  csi?: CSIPersistentVolumeSource;
}

export interface PersistentVolumeSpec {
  capacity?: ResourceList;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  hostPath?: HostPathVolumeSource;
  glusterfs?: GlusterfsPersistentVolumeSource;
  nfs?: NFSVolumeSource;
  rbd?: RBDPersistentVolumeSource;
  iscsi?: ISCSIPersistentVolumeSource;
  cinder?: CinderPersistentVolumeSource;
  cephfs?: CephFSPersistentVolumeSource;
  fc?: FCVolumeSource;
  flocker?: FlockerVolumeSource;
  flexVolume?: FlexPersistentVolumeSource;
  azureFile?: AzureFilePersistentVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  quobyte?: QuobyteVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  scaleIO?: ScaleIOPersistentVolumeSource;
  local?: LocalVolumeSource;
  storageos?: StorageOSPersistentVolumeSource;
  csi?: CSIPersistentVolumeSource;
  accessModes?: PersistentVolumeAccessMode[];
  claimRef?: ObjectReference;
  persistentVolumeReclaimPolicy?: PersistentVolumeReclaimPolicy;
  storageClassName?: string;
  mountOptions?: string[];
  volumeMode?: PersistentVolumeMode;
  nodeAffinity?: VolumeNodeAffinity;
  volumeAttributesClassName?: string;
}

export interface PersistentVolumeStatus {
  phase?: PersistentVolumePhase;
  message?: string;
  reason?: string;
  lastPhaseTransitionTime?: meta_v1.Time;
}

export interface PhotonPersistentDiskVolumeSource {
  pdID: string;
  fsType?: string;
}

export interface Pod {
  apiVersion: 'v1';
  kind: 'Pod';
  metadata: meta_v1.ObjectMeta;
  spec: PodSpec;
  status: PodStatus;
}

export interface PodAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

export interface PodAffinityTerm {
  labelSelector?: meta_v1.LabelSelector;
  namespaces?: string[];
  topologyKey: string;
  namespaceSelector?: meta_v1.LabelSelector;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
}

export interface PodAntiAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

export interface PodAttachOptions {
  apiVersion: 'v1';
  kind: 'PodAttachOptions';
  stdin?: boolean;
  stdout?: boolean;
  stderr?: boolean;
  tty?: boolean;
  container?: string;
}

export interface PodCertificateProjection {
  signerName?: string;
  keyType?: string;
  maxExpirationSeconds?: number;
  credentialBundlePath?: string;
  keyPath?: string;
  certificateChainPath?: string;
  userAnnotations?: Record<string, string>;
  user?: number;
}

export interface PodCondition {
  type: PodConditionType;
  observedGeneration?: number;
  status: ConditionStatus;
  lastProbeTime?: meta_v1.Time;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type PodConditionType = string;

export interface PodDNSConfig {
  nameservers?: string[];
  searches?: string[];
  options?: PodDNSConfigOption[];
}

export interface PodDNSConfigOption {
  name?: string;
  value?: string;
}

export interface PodExecOptions {
  apiVersion: 'v1';
  kind: 'PodExecOptions';
  stdin?: boolean;
  stdout?: boolean;
  stderr?: boolean;
  tty?: boolean;
  container?: string;
  command: string[];
}

export interface PodExtendedResourceClaimStatus {
  requestMappings: ContainerExtendedResourceRequest[];
  resourceClaimName: string;
}

export type PodFSGroupChangePolicy = string;

export interface PodIP {
  ip: string;
}

export interface PodList {
  apiVersion: 'v1';
  kind: 'PodList';
  metadata: meta_v1.ListMeta;
  items: Pod[];
}

export interface PodLogOptions {
  apiVersion: 'v1';
  kind: 'PodLogOptions';
  container?: string;
  follow?: boolean;
  previous?: boolean;
  sinceSeconds?: number;
  sinceTime?: meta_v1.Time;
  timestamps?: boolean;
  tailLines?: number;
  limitBytes?: number;
  insecureSkipTLSVerifyBackend?: boolean;
  stream?: string;
}

export interface PodOS {
  name: OSName;
}

export type PodPhase = string;

export interface PodPortForwardOptions {
  apiVersion: 'v1';
  kind: 'PodPortForwardOptions';
  ports?: number[];
}

export interface PodProxyOptions {
  apiVersion: 'v1';
  kind: 'PodProxyOptions';
  path?: string;
}

export type PodQOSClass = string;

export interface PodReadinessGate {
  conditionType: PodConditionType;
}

export type PodResizeStatus = string;

export interface PodResourceClaim {
  name: string;
  resourceClaimName?: string;
  resourceClaimTemplateName?: string;
}

export interface PodResourceClaimStatus {
  name: string;
  resourceClaimName?: string;
}

export type PodSELinuxChangePolicy = string;

export interface PodSchedulingGate {
  name: string;
}

export interface PodSchedulingGroup {
  podGroupName?: string;
}

export interface PodSecurityContext {
  seLinuxOptions?: SELinuxOptions;
  windowsOptions?: WindowsSecurityContextOptions;
  runAsUser?: number;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  supplementalGroups?: number[];
  supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  fsGroup?: number;
  sysctls?: Sysctl[];
  fsGroupChangePolicy?: PodFSGroupChangePolicy;
  seccompProfile?: SeccompProfile;
  appArmorProfile?: AppArmorProfile;
  seLinuxChangePolicy?: PodSELinuxChangePolicy;
}

export interface PodSpec {
  volumes?: Volume[];
  initContainers?: Container[];
  containers: Container[];
  ephemeralContainers?: EphemeralContainer[];
  restartPolicy?: RestartPolicy;
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  dnsPolicy?: DNSPolicy;
  nodeSelector?: Record<string, string>;
  serviceAccountName?: string;
  serviceAccount?: string;
  automountServiceAccountToken?: boolean;
  nodeName?: string;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  shareProcessNamespace?: boolean;
  securityContext?: PodSecurityContext;
  imagePullSecrets?: LocalObjectReference[];
  hostname?: string;
  subdomain?: string;
  affinity?: Affinity;
  schedulerName?: string;
  tolerations?: Toleration[];
  hostAliases?: HostAlias[];
  priorityClassName?: string;
  priority?: number;
  dnsConfig?: PodDNSConfig;
  readinessGates?: PodReadinessGate[];
  runtimeClassName?: string;
  enableServiceLinks?: boolean;
  preemptionPolicy?: PreemptionPolicy;
  overhead?: ResourceList;
  topologySpreadConstraints?: TopologySpreadConstraint[];
  setHostnameAsFQDN?: boolean;
  os?: PodOS;
  hostUsers?: boolean;
  schedulingGates?: PodSchedulingGate[];
  resourceClaims?: PodResourceClaim[];
  resources?: ResourceRequirements;
  hostnameOverride?: string;
  schedulingGroup?: PodSchedulingGroup;
  evictionResponders?: EvictionResponder[];
}

export interface PodStatus {
  observedGeneration?: number;
  phase?: PodPhase;
  conditions?: PodCondition[];
  message?: string;
  reason?: string;
  nominatedNodeName?: string;
  hostIP?: string;
  hostIPs?: HostIP[];
  podIP?: string;
  podIPs?: PodIP[];
  startTime?: meta_v1.Time;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  qosClass?: PodQOSClass;
  ephemeralContainerStatuses?: ContainerStatus[];
  resize?: PodResizeStatus;
  resourceClaimStatuses?: PodResourceClaimStatus[];
  extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  allocatedResources?: ResourceList;
  resources?: ResourceRequirements;
  nodeAllocatableResourceClaimStatuses?: NodeAllocatableResourceClaimStatus[];
  volumeHealth?: PodVolumeHealth[];
}

export interface PodTemplate {
  apiVersion: 'v1';
  kind: 'PodTemplate';
  metadata: meta_v1.ObjectMeta;
  template?: PodTemplateSpec;
}

export interface PodTemplateList {
  apiVersion: 'v1';
  kind: 'PodTemplateList';
  metadata: meta_v1.ListMeta;
  items: PodTemplate[];
}

export interface PodTemplateSpec {
  metadata?: Partial<meta_v1.ObjectMeta>;
  spec?: PodSpec;
}

export interface PodVolumeHealth {
  name: string;
  healthConditions?: VolumeHealthCondition[];
  lastTransitionTime?: meta_v1.Time;
}

export interface PortStatus {
  port: number;
  protocol: Protocol;
  error?: string;
}

export interface PortworxVolumeSource {
  volumeID: string;
  fsType?: string;
  readOnly?: boolean;
}

export type PreemptionPolicy = string;

export interface PreferredSchedulingTerm {
  weight: number;
  preference: NodeSelectorTerm;
}

export interface Probe {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  grpc?: GRPCAction;
  initialDelaySeconds?: number;
  timeoutSeconds?: number;
  periodSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
  terminationGracePeriodSeconds?: number;
}

export interface ProbeHandler {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  grpc?: GRPCAction;
}

export type ProcMountType = string;

export interface ProjectedVolumeSource {
  sources: VolumeProjection[];
  defaultMode?: number;
  defaultUser?: number;
}

export type Protocol = string;

export type PullPolicy = string;

export interface QuobyteVolumeSource {
  registry: string;
  volume: string;
  readOnly?: boolean;
  user?: string;
  group?: string;
  tenant?: string;
}

export interface RBDPersistentVolumeSource {
  monitors: string[];
  image: string;
  fsType?: string;
  pool?: string;
  user?: string;
  keyring?: string;
  secretRef?: SecretReference;
  readOnly?: boolean;
}

export interface RBDVolumeSource {
  monitors: string[];
  image: string;
  fsType?: string;
  pool?: string;
  user?: string;
  keyring?: string;
  secretRef?: LocalObjectReference;
  readOnly?: boolean;
}

export interface RangeAllocation {
  apiVersion: 'v1';
  kind: 'RangeAllocation';
  metadata: meta_v1.ObjectMeta;
  range: string;
  data: string;
}

export type RecursiveReadOnlyMode = string;

export interface ReplicationController {
  apiVersion: 'v1';
  kind: 'ReplicationController';
  metadata: meta_v1.ObjectMeta;
  spec: ReplicationControllerSpec;
  status: ReplicationControllerStatus;
}

export interface ReplicationControllerCondition {
  type: ReplicationControllerConditionType;
  status: ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type ReplicationControllerConditionType = string;

export interface ReplicationControllerList {
  apiVersion: 'v1';
  kind: 'ReplicationControllerList';
  metadata: meta_v1.ListMeta;
  items: ReplicationController[];
}

export interface ReplicationControllerSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector?: Record<string, string>;
  template?: PodTemplateSpec;
}

export interface ReplicationControllerStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  observedGeneration?: number;
  conditions?: ReplicationControllerCondition[];
}

export interface ResourceClaim {
  name: string;
  request?: string;
}

export interface ResourceFieldSelector {
  containerName?: string;
  resource: string;
  divisor?: api_resource.Quantity;
}

export interface ResourceHealth {
  resourceID: ResourceID;
  health?: ResourceHealthStatus;
  message?: string;
}

export type ResourceHealthStatus = string;

export type ResourceID = string;

export type ResourceList = Record<string, api_resource.Quantity>;

export type ResourceName = string;

export interface ResourceQuota {
  apiVersion: 'v1';
  kind: 'ResourceQuota';
  metadata: meta_v1.ObjectMeta;
  spec: ResourceQuotaSpec;
  status: ResourceQuotaStatus;
}

export interface ResourceQuotaList {
  apiVersion: 'v1';
  kind: 'ResourceQuotaList';
  metadata: meta_v1.ListMeta;
  items: ResourceQuota[];
}

export type ResourceQuotaScope = string;

export interface ResourceQuotaSpec {
  hard?: ResourceList;
  scopes?: ResourceQuotaScope[];
  scopeSelector?: ScopeSelector;
}

export interface ResourceQuotaStatus {
  hard?: ResourceList;
  used?: ResourceList;
}

export interface ResourceRequirements {
  limits?: ResourceList;
  requests?: ResourceList;
  claims?: ResourceClaim[];
}

export type ResourceResizeRestartPolicy = string;

export interface ResourceStatus {
  name: ResourceName;
  resources?: ResourceHealth[];
}

export type RestartPolicy = string;

export interface SELinuxOptions {
  user?: string;
  role?: string;
  type?: string;
  level?: string;
}

export interface ScaleIOPersistentVolumeSource {
  gateway: string;
  system: string;
  secretRef: SecretReference;
  sslEnabled?: boolean;
  protectionDomain?: string;
  storagePool?: string;
  storageMode?: string;
  volumeName?: string;
  fsType?: string;
  readOnly?: boolean;
}

export interface ScaleIOVolumeSource {
  gateway: string;
  system: string;
  secretRef: LocalObjectReference;
  sslEnabled?: boolean;
  protectionDomain?: string;
  storagePool?: string;
  storageMode?: string;
  volumeName?: string;
  fsType?: string;
  readOnly?: boolean;
}

export interface ScopeSelector {
  matchExpressions?: ScopedResourceSelectorRequirement[];
}

export type ScopeSelectorOperator = string;

export interface ScopedResourceSelectorRequirement {
  scopeName: ResourceQuotaScope;
  operator: ScopeSelectorOperator;
  values?: string[];
}

export interface SeccompProfile {
  type: SeccompProfileType;
  localhostProfile?: string;
}

export type SeccompProfileType = string;

export interface Secret {
  apiVersion: 'v1';
  kind: 'Secret';
  metadata: meta_v1.ObjectMeta;
  immutable?: boolean;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  type?: SecretType;
}

export interface SecretEnvSource {
  name?: string;
  optional?: boolean;
}

export interface SecretKeySelector {
  name?: string;
  key: string;
  optional?: boolean;
}

export interface SecretList {
  apiVersion: 'v1';
  kind: 'SecretList';
  metadata: meta_v1.ListMeta;
  items: Secret[];
}

export interface SecretProjection {
  name?: string;
  items?: KeyToPath[];
  optional?: boolean;
}

export interface SecretReference {
  name?: string;
  namespace?: string;
}

export type SecretType = string;

export interface SecretVolumeSource {
  secretName?: string;
  items?: KeyToPath[];
  defaultMode?: number;
  optional?: boolean;
  defaultUser?: number;
}

export interface SecurityContext {
  capabilities?: Capabilities;
  privileged?: boolean;
  seLinuxOptions?: SELinuxOptions;
  windowsOptions?: WindowsSecurityContextOptions;
  runAsUser?: number;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  readOnlyRootFilesystem?: boolean;
  allowPrivilegeEscalation?: boolean;
  procMount?: ProcMountType;
  seccompProfile?: SeccompProfile;
  appArmorProfile?: AppArmorProfile;
}

export interface SerializedReference {
  apiVersion: 'v1';
  kind: 'SerializedReference';
  reference?: ObjectReference;
}

export interface Service {
  apiVersion: 'v1';
  kind: 'Service';
  metadata: meta_v1.ObjectMeta;
  spec: ServiceSpec;
  status: ServiceStatus;
}

export interface ServiceAccount {
  apiVersion: 'v1';
  kind: 'ServiceAccount';
  metadata: meta_v1.ObjectMeta;
  secrets?: ObjectReference[];
  imagePullSecrets?: LocalObjectReference[];
  automountServiceAccountToken?: boolean;
}

export interface ServiceAccountList {
  apiVersion: 'v1';
  kind: 'ServiceAccountList';
  metadata: meta_v1.ListMeta;
  items: ServiceAccount[];
}

export interface ServiceAccountTokenProjection {
  audience?: string;
  expirationSeconds?: number;
  path: string;
  user?: number;
}

export type ServiceAffinity = string;

export type ServiceExternalTrafficPolicy = string;

export type ServiceInternalTrafficPolicy = string;

export interface ServiceList {
  apiVersion: 'v1';
  kind: 'ServiceList';
  metadata: meta_v1.ListMeta;
  items: Service[];
}

export interface ServicePort {
  name?: string;
  protocol?: Protocol;
  appProtocol?: string;
  port: number;
  targetPort?: util_intstr.IntOrString;
  nodePort?: number;
}

export interface ServiceProxyOptions {
  apiVersion: 'v1';
  kind: 'ServiceProxyOptions';
  path?: string;
}

export interface ServiceSpec {
  ports?: ServicePort[];
  selector?: Record<string, string>;
  clusterIP?: string;
  clusterIPs?: string[];
  type?: ServiceType;
  externalIPs?: string[];
  sessionAffinity?: ServiceAffinity;
  loadBalancerIP?: string;
  loadBalancerSourceRanges?: string[];
  externalName?: string;
  externalTrafficPolicy?: ServiceExternalTrafficPolicy;
  healthCheckNodePort?: number;
  publishNotReadyAddresses?: boolean;
  sessionAffinityConfig?: SessionAffinityConfig;
  ipFamilies?: IPFamily[];
  ipFamilyPolicy?: IPFamilyPolicy;
  allocateLoadBalancerNodePorts?: boolean;
  loadBalancerClass?: string;
  internalTrafficPolicy?: ServiceInternalTrafficPolicy;
  trafficDistribution?: string;
}

export interface ServiceStatus {
  loadBalancer?: LoadBalancerStatus;
  conditions?: meta_v1.Condition[];
}

export type ServiceType = string;

export interface SessionAffinityConfig {
  clientIP?: ClientIPConfig;
}

export type Signal = string;

export interface SleepAction {
  seconds: number;
}

export type StorageMedium = string;

export interface StorageOSPersistentVolumeSource {
  volumeName?: string;
  volumeNamespace?: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: ObjectReference;
}

export interface StorageOSVolumeSource {
  volumeName?: string;
  volumeNamespace?: string;
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
}

export type SupplementalGroupsPolicy = string;

export interface Sysctl {
  name: string;
  value: string;
}

export interface TCPSocketAction {
  port: util_intstr.IntOrString;
  host?: string;
}

export interface Taint {
  key: string;
  value?: string;
  effect: TaintEffect;
  timeAdded?: meta_v1.Time;
}

export type TaintEffect = string;

export type TerminationMessagePolicy = string;

export interface Toleration {
  key?: string;
  operator?: TolerationOperator;
  value?: string;
  effect?: TaintEffect;
  tolerationSeconds?: number;
}

export type TolerationOperator = string;

export interface TopologySelectorLabelRequirement {
  key: string;
  values: string[];
}

export interface TopologySelectorTerm {
  matchLabelExpressions?: TopologySelectorLabelRequirement[];
}

export interface TopologySpreadConstraint {
  maxSkew: number;
  topologyKey: string;
  whenUnsatisfiable: UnsatisfiableConstraintAction;
  labelSelector?: meta_v1.LabelSelector;
  minDomains?: number;
  nodeAffinityPolicy?: NodeInclusionPolicy;
  nodeTaintsPolicy?: NodeInclusionPolicy;
  matchLabelKeys?: string[];
}

export interface TypedLocalObjectReference {
  apiGroup: string;
  kind: string;
  name: string;
}

export interface TypedObjectReference {
  apiGroup: string;
  kind: string;
  name: string;
  namespace?: string;
}

export type URIScheme = string;

export type UniqueVolumeName = string;

export type UnsatisfiableConstraintAction = string;

export interface Volume {
  name: string;
  hostPath?: HostPathVolumeSource;
  emptyDir?: EmptyDirVolumeSource;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  gitRepo?: GitRepoVolumeSource;
  secret?: SecretVolumeSource;
  nfs?: NFSVolumeSource;
  iscsi?: ISCSIVolumeSource;
  glusterfs?: GlusterfsVolumeSource;
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  rbd?: RBDVolumeSource;
  flexVolume?: FlexVolumeSource;
  cinder?: CinderVolumeSource;
  cephfs?: CephFSVolumeSource;
  flocker?: FlockerVolumeSource;
  downwardAPI?: DownwardAPIVolumeSource;
  fc?: FCVolumeSource;
  azureFile?: AzureFileVolumeSource;
  configMap?: ConfigMapVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  quobyte?: QuobyteVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  projected?: ProjectedVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  scaleIO?: ScaleIOVolumeSource;
  storageos?: StorageOSVolumeSource;
  csi?: CSIVolumeSource;
  ephemeral?: EphemeralVolumeSource;
  image?: ImageVolumeSource;
}

export interface VolumeDevice {
  name: string;
  devicePath: string;
}

export interface VolumeHealthCondition {
  status: VolumeHealthStatusType;
  reason: string;
  message?: string;
}

export interface VolumeHealthStatus {
  healthConditions?: VolumeHealthCondition[];
  lastTransitionTime?: meta_v1.Time;
}

export type VolumeHealthStatusType = string;

export interface VolumeMount {
  name: string;
  readOnly?: boolean;
  recursiveReadOnly?: RecursiveReadOnlyMode;
  mountPath: string;
  subPath?: string;
  mountPropagation?: MountPropagationMode;
  subPathExpr?: string;
  bindMountOptions?: string[];
}

export interface VolumeMountStatus {
  name: string;
  mountPath: string;
  readOnly?: boolean;
  recursiveReadOnly?: RecursiveReadOnlyMode;
  volumeStatus?: VolumeStatus;
}

export interface VolumeNodeAffinity {
  required?: NodeSelector;
}

export interface VolumeProjection {
  secret?: SecretProjection;
  downwardAPI?: DownwardAPIProjection;
  configMap?: ConfigMapProjection;
  serviceAccountToken?: ServiceAccountTokenProjection;
  clusterTrustBundle?: ClusterTrustBundleProjection;
  podCertificate?: PodCertificateProjection;
}

export interface VolumeResourceRequirements {
  limits?: ResourceList;
  requests?: ResourceList;
}

export interface VolumeSource {
  hostPath?: HostPathVolumeSource;
  emptyDir?: EmptyDirVolumeSource;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  gitRepo?: GitRepoVolumeSource;
  secret?: SecretVolumeSource;
  nfs?: NFSVolumeSource;
  iscsi?: ISCSIVolumeSource;
  glusterfs?: GlusterfsVolumeSource;
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  rbd?: RBDVolumeSource;
  flexVolume?: FlexVolumeSource;
  cinder?: CinderVolumeSource;
  cephfs?: CephFSVolumeSource;
  flocker?: FlockerVolumeSource;
  downwardAPI?: DownwardAPIVolumeSource;
  fc?: FCVolumeSource;
  azureFile?: AzureFileVolumeSource;
  configMap?: ConfigMapVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  quobyte?: QuobyteVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  projected?: ProjectedVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  scaleIO?: ScaleIOVolumeSource;
  storageos?: StorageOSVolumeSource;
  csi?: CSIVolumeSource;
  ephemeral?: EphemeralVolumeSource;
  image?: ImageVolumeSource;
}

export interface VolumeStatus {
  image?: ImageVolumeStatus;
}

export interface VsphereVirtualDiskVolumeSource {
  volumePath: string;
  fsType?: string;
  storagePolicyName?: string;
  storagePolicyID?: string;
}

export interface WeightedPodAffinityTerm {
  weight: number;
  podAffinityTerm: PodAffinityTerm;
}

export interface WindowsSecurityContextOptions {
  gmsaCredentialSpecName?: string;
  gmsaCredentialSpec?: string;
  runAsUserName?: string;
  hostProcess?: boolean;
}

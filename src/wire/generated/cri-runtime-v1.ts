// Generated from facts/protos by tools/generate; run `npm run generate`.
import { method } from '../grpc-service.ts';
import { enumType, message, type Message } from '../protobuf.ts';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';
export const Protocol = enumType({ TCP: 0, UDP: 1, SCTP: 2 });

export type MountPropagation = 'PROPAGATION_PRIVATE' | 'PROPAGATION_HOST_TO_CONTAINER' | 'PROPAGATION_BIDIRECTIONAL';
export const MountPropagation = enumType({ PROPAGATION_PRIVATE: 0, PROPAGATION_HOST_TO_CONTAINER: 1, PROPAGATION_BIDIRECTIONAL: 2 });

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';
export const NamespaceMode = enumType({ POD: 0, CONTAINER: 1, NODE: 2, TARGET: 3 });

export type SupplementalGroupsPolicy = 'Merge' | 'Strict';
export const SupplementalGroupsPolicy = enumType({ Merge: 0, Strict: 1 });

export type PodSandboxState = 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
export const PodSandboxState = enumType({ SANDBOX_READY: 0, SANDBOX_NOTREADY: 1 });

export type Signal = 'SIGNAL_RUNTIME_DEFAULT' | 'SIGNAL_SIGABRT' | 'SIGNAL_SIGALRM' | 'SIGNAL_SIGBUS' | 'SIGNAL_SIGCHLD' | 'SIGNAL_SIGCLD' | 'SIGNAL_SIGCONT' | 'SIGNAL_SIGFPE' | 'SIGNAL_SIGHUP' | 'SIGNAL_SIGILL' | 'SIGNAL_SIGINT' | 'SIGNAL_SIGIO' | 'SIGNAL_SIGIOT' | 'SIGNAL_SIGKILL' | 'SIGNAL_SIGPIPE' | 'SIGNAL_SIGPOLL' | 'SIGNAL_SIGPROF' | 'SIGNAL_SIGPWR' | 'SIGNAL_SIGQUIT' | 'SIGNAL_SIGSEGV' | 'SIGNAL_SIGSTKFLT' | 'SIGNAL_SIGSTOP' | 'SIGNAL_SIGSYS' | 'SIGNAL_SIGTERM' | 'SIGNAL_SIGTRAP' | 'SIGNAL_SIGTSTP' | 'SIGNAL_SIGTTIN' | 'SIGNAL_SIGTTOU' | 'SIGNAL_SIGURG' | 'SIGNAL_SIGUSR1' | 'SIGNAL_SIGUSR2' | 'SIGNAL_SIGVTALRM' | 'SIGNAL_SIGWINCH' | 'SIGNAL_SIGXCPU' | 'SIGNAL_SIGXFSZ' | 'SIGNAL_SIGRTMIN' | 'SIGNAL_SIGRTMINPLUS1' | 'SIGNAL_SIGRTMINPLUS2' | 'SIGNAL_SIGRTMINPLUS3' | 'SIGNAL_SIGRTMINPLUS4' | 'SIGNAL_SIGRTMINPLUS5' | 'SIGNAL_SIGRTMINPLUS6' | 'SIGNAL_SIGRTMINPLUS7' | 'SIGNAL_SIGRTMINPLUS8' | 'SIGNAL_SIGRTMINPLUS9' | 'SIGNAL_SIGRTMINPLUS10' | 'SIGNAL_SIGRTMINPLUS11' | 'SIGNAL_SIGRTMINPLUS12' | 'SIGNAL_SIGRTMINPLUS13' | 'SIGNAL_SIGRTMINPLUS14' | 'SIGNAL_SIGRTMINPLUS15' | 'SIGNAL_SIGRTMAXMINUS14' | 'SIGNAL_SIGRTMAXMINUS13' | 'SIGNAL_SIGRTMAXMINUS12' | 'SIGNAL_SIGRTMAXMINUS11' | 'SIGNAL_SIGRTMAXMINUS10' | 'SIGNAL_SIGRTMAXMINUS9' | 'SIGNAL_SIGRTMAXMINUS8' | 'SIGNAL_SIGRTMAXMINUS7' | 'SIGNAL_SIGRTMAXMINUS6' | 'SIGNAL_SIGRTMAXMINUS5' | 'SIGNAL_SIGRTMAXMINUS4' | 'SIGNAL_SIGRTMAXMINUS3' | 'SIGNAL_SIGRTMAXMINUS2' | 'SIGNAL_SIGRTMAXMINUS1' | 'SIGNAL_SIGRTMAX';
export const Signal = enumType({ SIGNAL_RUNTIME_DEFAULT: 0, SIGNAL_SIGABRT: 1, SIGNAL_SIGALRM: 2, SIGNAL_SIGBUS: 3, SIGNAL_SIGCHLD: 4, SIGNAL_SIGCLD: 5, SIGNAL_SIGCONT: 6, SIGNAL_SIGFPE: 7, SIGNAL_SIGHUP: 8, SIGNAL_SIGILL: 9, SIGNAL_SIGINT: 10, SIGNAL_SIGIO: 11, SIGNAL_SIGIOT: 12, SIGNAL_SIGKILL: 13, SIGNAL_SIGPIPE: 14, SIGNAL_SIGPOLL: 15, SIGNAL_SIGPROF: 16, SIGNAL_SIGPWR: 17, SIGNAL_SIGQUIT: 18, SIGNAL_SIGSEGV: 19, SIGNAL_SIGSTKFLT: 20, SIGNAL_SIGSTOP: 21, SIGNAL_SIGSYS: 22, SIGNAL_SIGTERM: 23, SIGNAL_SIGTRAP: 24, SIGNAL_SIGTSTP: 25, SIGNAL_SIGTTIN: 26, SIGNAL_SIGTTOU: 27, SIGNAL_SIGURG: 28, SIGNAL_SIGUSR1: 29, SIGNAL_SIGUSR2: 30, SIGNAL_SIGVTALRM: 31, SIGNAL_SIGWINCH: 32, SIGNAL_SIGXCPU: 33, SIGNAL_SIGXFSZ: 34, SIGNAL_SIGRTMIN: 35, SIGNAL_SIGRTMINPLUS1: 36, SIGNAL_SIGRTMINPLUS2: 37, SIGNAL_SIGRTMINPLUS3: 38, SIGNAL_SIGRTMINPLUS4: 39, SIGNAL_SIGRTMINPLUS5: 40, SIGNAL_SIGRTMINPLUS6: 41, SIGNAL_SIGRTMINPLUS7: 42, SIGNAL_SIGRTMINPLUS8: 43, SIGNAL_SIGRTMINPLUS9: 44, SIGNAL_SIGRTMINPLUS10: 45, SIGNAL_SIGRTMINPLUS11: 46, SIGNAL_SIGRTMINPLUS12: 47, SIGNAL_SIGRTMINPLUS13: 48, SIGNAL_SIGRTMINPLUS14: 49, SIGNAL_SIGRTMINPLUS15: 50, SIGNAL_SIGRTMAXMINUS14: 51, SIGNAL_SIGRTMAXMINUS13: 52, SIGNAL_SIGRTMAXMINUS12: 53, SIGNAL_SIGRTMAXMINUS11: 54, SIGNAL_SIGRTMAXMINUS10: 55, SIGNAL_SIGRTMAXMINUS9: 56, SIGNAL_SIGRTMAXMINUS8: 57, SIGNAL_SIGRTMAXMINUS7: 58, SIGNAL_SIGRTMAXMINUS6: 59, SIGNAL_SIGRTMAXMINUS5: 60, SIGNAL_SIGRTMAXMINUS4: 61, SIGNAL_SIGRTMAXMINUS3: 62, SIGNAL_SIGRTMAXMINUS2: 63, SIGNAL_SIGRTMAXMINUS1: 64, SIGNAL_SIGRTMAX: 65 });

export type ContainerState = 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';
export const ContainerState = enumType({ CONTAINER_CREATED: 0, CONTAINER_RUNNING: 1, CONTAINER_EXITED: 2, CONTAINER_UNKNOWN: 3 });

export type ContainerEventType = 'CONTAINER_CREATED_EVENT' | 'CONTAINER_STARTED_EVENT' | 'CONTAINER_STOPPED_EVENT' | 'CONTAINER_DELETED_EVENT';
export const ContainerEventType = enumType({ CONTAINER_CREATED_EVENT: 0, CONTAINER_STARTED_EVENT: 1, CONTAINER_STOPPED_EVENT: 2, CONTAINER_DELETED_EVENT: 3 });

export type MetricType = 'COUNTER' | 'GAUGE';
export const MetricType = enumType({ COUNTER: 0, GAUGE: 1 });

export type CgroupDriver = 'SYSTEMD' | 'CGROUPFS';
export const CgroupDriver = enumType({ SYSTEMD: 0, CGROUPFS: 1 });

export interface VersionRequest {
  version: string;
}
export const VersionRequest: Message<VersionRequest> = message('runtime.v1.VersionRequest', () => [
  [1, 'version', 'string', 'one'],
]);

export interface VersionResponse {
  version: string;
  runtimeName: string;
  runtimeVersion: string;
  runtimeApiVersion: string;
}
export const VersionResponse: Message<VersionResponse> = message('runtime.v1.VersionResponse', () => [
  [1, 'version', 'string', 'one'],
  [2, 'runtimeName', 'string', 'one'],
  [3, 'runtimeVersion', 'string', 'one'],
  [4, 'runtimeApiVersion', 'string', 'one'],
]);

export interface DNSConfig {
  servers: string[];
  searches: string[];
  options: string[];
}
export const DNSConfig: Message<DNSConfig> = message('runtime.v1.DNSConfig', () => [
  [1, 'servers', 'string', 'rep'],
  [2, 'searches', 'string', 'rep'],
  [3, 'options', 'string', 'rep'],
]);

export interface PortMapping {
  protocol: Protocol;
  containerPort: number;
  hostPort: number;
  hostIp: string;
}
export const PortMapping: Message<PortMapping> = message('runtime.v1.PortMapping', () => [
  [1, 'protocol', Protocol, 'one'],
  [2, 'containerPort', 'int32', 'one'],
  [3, 'hostPort', 'int32', 'one'],
  [4, 'hostIp', 'string', 'one'],
]);

export interface Mount {
  containerPath: string;
  hostPath: string;
  readonly: boolean;
  selinuxRelabel: boolean;
  propagation: MountPropagation;
  uidMappings: IDMapping[];
  gidMappings: IDMapping[];
  recursiveReadOnly: boolean;
  image?: ImageSpec;
  imageSubPath: string;
  mountOptions: string[];
}
export const Mount: Message<Mount> = message('runtime.v1.Mount', () => [
  [1, 'containerPath', 'string', 'one'],
  [2, 'hostPath', 'string', 'one'],
  [3, 'readonly', 'bool', 'one'],
  [4, 'selinuxRelabel', 'bool', 'one'],
  [5, 'propagation', MountPropagation, 'one'],
  [6, 'uidMappings', IDMapping, 'rep'],
  [7, 'gidMappings', IDMapping, 'rep'],
  [8, 'recursiveReadOnly', 'bool', 'one'],
  [9, 'image', ImageSpec, 'opt'],
  [10, 'imageSubPath', 'string', 'one'],
  [11, 'mountOptions', 'string', 'rep'],
]);

export interface IDMapping {
  hostId: number;
  containerId: number;
  length: number;
}
export const IDMapping: Message<IDMapping> = message('runtime.v1.IDMapping', () => [
  [1, 'hostId', 'uint32', 'one'],
  [2, 'containerId', 'uint32', 'one'],
  [3, 'length', 'uint32', 'one'],
]);

export interface UserNamespace {
  mode: NamespaceMode;
  uids: IDMapping[];
  gids: IDMapping[];
}
export const UserNamespace: Message<UserNamespace> = message('runtime.v1.UserNamespace', () => [
  [1, 'mode', NamespaceMode, 'one'],
  [2, 'uids', IDMapping, 'rep'],
  [3, 'gids', IDMapping, 'rep'],
]);

export interface NamespaceOption {
  network: NamespaceMode;
  pid: NamespaceMode;
  ipc: NamespaceMode;
  targetId: string;
  usernsOptions?: UserNamespace;
}
export const NamespaceOption: Message<NamespaceOption> = message('runtime.v1.NamespaceOption', () => [
  [1, 'network', NamespaceMode, 'one'],
  [2, 'pid', NamespaceMode, 'one'],
  [3, 'ipc', NamespaceMode, 'one'],
  [4, 'targetId', 'string', 'one'],
  [5, 'usernsOptions', UserNamespace, 'opt'],
]);

export interface Int64Value {
  value: bigint;
}
export const Int64Value: Message<Int64Value> = message('runtime.v1.Int64Value', () => [
  [1, 'value', 'int64', 'one'],
]);

export interface LinuxSandboxSecurityContext {
  namespaceOptions?: NamespaceOption;
  selinuxOptions?: SELinuxOption;
  runAsUser?: Int64Value;
  runAsGroup?: Int64Value;
  readonlyRootfs: boolean;
  supplementalGroups: bigint[];
  supplementalGroupsPolicy: SupplementalGroupsPolicy;
  privileged: boolean;
  seccomp?: SecurityProfile;
  apparmor?: SecurityProfile;
  seccompProfilePath: string;
}
export const LinuxSandboxSecurityContext: Message<LinuxSandboxSecurityContext> = message('runtime.v1.LinuxSandboxSecurityContext', () => [
  [1, 'namespaceOptions', NamespaceOption, 'opt'],
  [2, 'selinuxOptions', SELinuxOption, 'opt'],
  [3, 'runAsUser', Int64Value, 'opt'],
  [8, 'runAsGroup', Int64Value, 'opt'],
  [4, 'readonlyRootfs', 'bool', 'one'],
  [5, 'supplementalGroups', 'int64', 'rep'],
  [11, 'supplementalGroupsPolicy', SupplementalGroupsPolicy, 'one'],
  [6, 'privileged', 'bool', 'one'],
  [9, 'seccomp', SecurityProfile, 'opt'],
  [10, 'apparmor', SecurityProfile, 'opt'],
  [7, 'seccompProfilePath', 'string', 'one'],
]);

export interface SecurityProfile {
  profileType: SecurityProfileProfileType;
  localhostRef: string;
}
export const SecurityProfile: Message<SecurityProfile> = message('runtime.v1.SecurityProfile', () => [
  [1, 'profileType', SecurityProfileProfileType, 'one'],
  [2, 'localhostRef', 'string', 'one'],
]);

export type SecurityProfileProfileType = 'RuntimeDefault' | 'Unconfined' | 'Localhost';
export const SecurityProfileProfileType = enumType({ RuntimeDefault: 0, Unconfined: 1, Localhost: 2 });

export interface LinuxPodSandboxConfig {
  cgroupParent: string;
  securityContext?: LinuxSandboxSecurityContext;
  sysctls: Record<string, string>;
  overhead?: LinuxContainerResources;
  resources?: LinuxContainerResources;
}
export const LinuxPodSandboxConfig: Message<LinuxPodSandboxConfig> = message('runtime.v1.LinuxPodSandboxConfig', () => [
  [1, 'cgroupParent', 'string', 'one'],
  [2, 'securityContext', LinuxSandboxSecurityContext, 'opt'],
  [3, 'sysctls', 'string', 'map', 'string'],
  [4, 'overhead', LinuxContainerResources, 'opt'],
  [5, 'resources', LinuxContainerResources, 'opt'],
]);

export interface PodSandboxMetadata {
  name: string;
  uid: string;
  namespace: string;
  attempt: number;
}
export const PodSandboxMetadata: Message<PodSandboxMetadata> = message('runtime.v1.PodSandboxMetadata', () => [
  [1, 'name', 'string', 'one'],
  [2, 'uid', 'string', 'one'],
  [3, 'namespace', 'string', 'one'],
  [4, 'attempt', 'uint32', 'one'],
]);

export interface PodSandboxConfig {
  metadata?: PodSandboxMetadata;
  hostname: string;
  logDirectory: string;
  dnsConfig?: DNSConfig;
  portMappings: PortMapping[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  linux?: LinuxPodSandboxConfig;
  windows?: WindowsPodSandboxConfig;
}
export const PodSandboxConfig: Message<PodSandboxConfig> = message('runtime.v1.PodSandboxConfig', () => [
  [1, 'metadata', PodSandboxMetadata, 'opt'],
  [2, 'hostname', 'string', 'one'],
  [3, 'logDirectory', 'string', 'one'],
  [4, 'dnsConfig', DNSConfig, 'opt'],
  [5, 'portMappings', PortMapping, 'rep'],
  [6, 'labels', 'string', 'map', 'string'],
  [7, 'annotations', 'string', 'map', 'string'],
  [8, 'linux', LinuxPodSandboxConfig, 'opt'],
  [9, 'windows', WindowsPodSandboxConfig, 'opt'],
]);

export interface RunPodSandboxRequest {
  config?: PodSandboxConfig;
  runtimeHandler: string;
}
export const RunPodSandboxRequest: Message<RunPodSandboxRequest> = message('runtime.v1.RunPodSandboxRequest', () => [
  [1, 'config', PodSandboxConfig, 'opt'],
  [2, 'runtimeHandler', 'string', 'one'],
]);

export interface RunPodSandboxResponse {
  podSandboxId: string;
}
export const RunPodSandboxResponse: Message<RunPodSandboxResponse> = message('runtime.v1.RunPodSandboxResponse', () => [
  [1, 'podSandboxId', 'string', 'one'],
]);

export interface StopPodSandboxRequest {
  podSandboxId: string;
}
export const StopPodSandboxRequest: Message<StopPodSandboxRequest> = message('runtime.v1.StopPodSandboxRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
]);

export interface StopPodSandboxResponse {

}
export const StopPodSandboxResponse: Message<StopPodSandboxResponse> = message('runtime.v1.StopPodSandboxResponse', () => [

]);

export interface RemovePodSandboxRequest {
  podSandboxId: string;
}
export const RemovePodSandboxRequest: Message<RemovePodSandboxRequest> = message('runtime.v1.RemovePodSandboxRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
]);

export interface RemovePodSandboxResponse {

}
export const RemovePodSandboxResponse: Message<RemovePodSandboxResponse> = message('runtime.v1.RemovePodSandboxResponse', () => [

]);

export interface PodSandboxStatusRequest {
  podSandboxId: string;
  verbose: boolean;
}
export const PodSandboxStatusRequest: Message<PodSandboxStatusRequest> = message('runtime.v1.PodSandboxStatusRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
  [2, 'verbose', 'bool', 'one'],
]);

export interface PodIP {
  ip: string;
}
export const PodIP: Message<PodIP> = message('runtime.v1.PodIP', () => [
  [1, 'ip', 'string', 'one'],
]);

export interface PodSandboxNetworkStatus {
  ip: string;
  additionalIps: PodIP[];
}
export const PodSandboxNetworkStatus: Message<PodSandboxNetworkStatus> = message('runtime.v1.PodSandboxNetworkStatus', () => [
  [1, 'ip', 'string', 'one'],
  [2, 'additionalIps', PodIP, 'rep'],
]);

export interface Namespace {
  options?: NamespaceOption;
}
export const Namespace: Message<Namespace> = message('runtime.v1.Namespace', () => [
  [2, 'options', NamespaceOption, 'opt'],
]);

export interface LinuxPodSandboxStatus {
  namespaces?: Namespace;
}
export const LinuxPodSandboxStatus: Message<LinuxPodSandboxStatus> = message('runtime.v1.LinuxPodSandboxStatus', () => [
  [1, 'namespaces', Namespace, 'opt'],
]);

export interface PodSandboxStatus {
  id: string;
  metadata?: PodSandboxMetadata;
  state: PodSandboxState;
  createdAt: bigint;
  network?: PodSandboxNetworkStatus;
  linux?: LinuxPodSandboxStatus;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  runtimeHandler: string;
}
export const PodSandboxStatus: Message<PodSandboxStatus> = message('runtime.v1.PodSandboxStatus', () => [
  [1, 'id', 'string', 'one'],
  [2, 'metadata', PodSandboxMetadata, 'opt'],
  [3, 'state', PodSandboxState, 'one'],
  [4, 'createdAt', 'int64', 'one'],
  [5, 'network', PodSandboxNetworkStatus, 'opt'],
  [6, 'linux', LinuxPodSandboxStatus, 'opt'],
  [7, 'labels', 'string', 'map', 'string'],
  [8, 'annotations', 'string', 'map', 'string'],
  [9, 'runtimeHandler', 'string', 'one'],
]);

export interface PodSandboxStatusResponse {
  status?: PodSandboxStatus;
  info: Record<string, string>;
  containersStatuses: ContainerStatus[];
  timestamp: bigint;
}
export const PodSandboxStatusResponse: Message<PodSandboxStatusResponse> = message('runtime.v1.PodSandboxStatusResponse', () => [
  [1, 'status', PodSandboxStatus, 'opt'],
  [2, 'info', 'string', 'map', 'string'],
  [3, 'containersStatuses', ContainerStatus, 'rep'],
  [4, 'timestamp', 'int64', 'one'],
]);

export interface PodSandboxStateValue {
  state: PodSandboxState;
}
export const PodSandboxStateValue: Message<PodSandboxStateValue> = message('runtime.v1.PodSandboxStateValue', () => [
  [1, 'state', PodSandboxState, 'one'],
]);

export interface PodSandboxFilter {
  id: string;
  state?: PodSandboxStateValue;
  labelSelector: Record<string, string>;
}
export const PodSandboxFilter: Message<PodSandboxFilter> = message('runtime.v1.PodSandboxFilter', () => [
  [1, 'id', 'string', 'one'],
  [2, 'state', PodSandboxStateValue, 'opt'],
  [3, 'labelSelector', 'string', 'map', 'string'],
]);

export interface ListPodSandboxRequest {
  filter?: PodSandboxFilter;
}
export const ListPodSandboxRequest: Message<ListPodSandboxRequest> = message('runtime.v1.ListPodSandboxRequest', () => [
  [1, 'filter', PodSandboxFilter, 'opt'],
]);

export interface PodSandbox {
  id: string;
  metadata?: PodSandboxMetadata;
  state: PodSandboxState;
  createdAt: bigint;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  runtimeHandler: string;
}
export const PodSandbox: Message<PodSandbox> = message('runtime.v1.PodSandbox', () => [
  [1, 'id', 'string', 'one'],
  [2, 'metadata', PodSandboxMetadata, 'opt'],
  [3, 'state', PodSandboxState, 'one'],
  [4, 'createdAt', 'int64', 'one'],
  [5, 'labels', 'string', 'map', 'string'],
  [6, 'annotations', 'string', 'map', 'string'],
  [7, 'runtimeHandler', 'string', 'one'],
]);

export interface ListPodSandboxResponse {
  items: PodSandbox[];
}
export const ListPodSandboxResponse: Message<ListPodSandboxResponse> = message('runtime.v1.ListPodSandboxResponse', () => [
  [1, 'items', PodSandbox, 'rep'],
]);

export interface StreamPodSandboxesRequest {
  filter?: PodSandboxFilter;
}
export const StreamPodSandboxesRequest: Message<StreamPodSandboxesRequest> = message('runtime.v1.StreamPodSandboxesRequest', () => [
  [1, 'filter', PodSandboxFilter, 'opt'],
]);

export interface StreamPodSandboxesResponse {
  podSandboxes: PodSandbox[];
}
export const StreamPodSandboxesResponse: Message<StreamPodSandboxesResponse> = message('runtime.v1.StreamPodSandboxesResponse', () => [
  [1, 'podSandboxes', PodSandbox, 'rep'],
]);

export interface PodSandboxStatsRequest {
  podSandboxId: string;
}
export const PodSandboxStatsRequest: Message<PodSandboxStatsRequest> = message('runtime.v1.PodSandboxStatsRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
]);

export interface PodSandboxStatsResponse {
  stats?: PodSandboxStats;
}
export const PodSandboxStatsResponse: Message<PodSandboxStatsResponse> = message('runtime.v1.PodSandboxStatsResponse', () => [
  [1, 'stats', PodSandboxStats, 'opt'],
]);

export interface PodSandboxStatsFilter {
  id: string;
  labelSelector: Record<string, string>;
}
export const PodSandboxStatsFilter: Message<PodSandboxStatsFilter> = message('runtime.v1.PodSandboxStatsFilter', () => [
  [1, 'id', 'string', 'one'],
  [2, 'labelSelector', 'string', 'map', 'string'],
]);

export interface ListPodSandboxStatsRequest {
  filter?: PodSandboxStatsFilter;
}
export const ListPodSandboxStatsRequest: Message<ListPodSandboxStatsRequest> = message('runtime.v1.ListPodSandboxStatsRequest', () => [
  [1, 'filter', PodSandboxStatsFilter, 'opt'],
]);

export interface ListPodSandboxStatsResponse {
  stats: PodSandboxStats[];
}
export const ListPodSandboxStatsResponse: Message<ListPodSandboxStatsResponse> = message('runtime.v1.ListPodSandboxStatsResponse', () => [
  [1, 'stats', PodSandboxStats, 'rep'],
]);

export interface StreamPodSandboxStatsRequest {
  filter?: PodSandboxStatsFilter;
}
export const StreamPodSandboxStatsRequest: Message<StreamPodSandboxStatsRequest> = message('runtime.v1.StreamPodSandboxStatsRequest', () => [
  [1, 'filter', PodSandboxStatsFilter, 'opt'],
]);

export interface StreamPodSandboxStatsResponse {
  podSandboxStats: PodSandboxStats[];
}
export const StreamPodSandboxStatsResponse: Message<StreamPodSandboxStatsResponse> = message('runtime.v1.StreamPodSandboxStatsResponse', () => [
  [1, 'podSandboxStats', PodSandboxStats, 'rep'],
]);

export interface PodSandboxAttributes {
  id: string;
  metadata?: PodSandboxMetadata;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}
export const PodSandboxAttributes: Message<PodSandboxAttributes> = message('runtime.v1.PodSandboxAttributes', () => [
  [1, 'id', 'string', 'one'],
  [2, 'metadata', PodSandboxMetadata, 'opt'],
  [3, 'labels', 'string', 'map', 'string'],
  [4, 'annotations', 'string', 'map', 'string'],
]);

export interface PodSandboxStats {
  attributes?: PodSandboxAttributes;
  linux?: LinuxPodSandboxStats;
  windows?: WindowsPodSandboxStats;
}
export const PodSandboxStats: Message<PodSandboxStats> = message('runtime.v1.PodSandboxStats', () => [
  [1, 'attributes', PodSandboxAttributes, 'opt'],
  [2, 'linux', LinuxPodSandboxStats, 'opt'],
  [3, 'windows', WindowsPodSandboxStats, 'opt'],
]);

export interface LinuxPodSandboxStats {
  cpu?: CpuUsage;
  memory?: MemoryUsage;
  network?: NetworkUsage;
  process?: ProcessUsage;
  containers: ContainerStats[];
  io?: IoUsage;
}
export const LinuxPodSandboxStats: Message<LinuxPodSandboxStats> = message('runtime.v1.LinuxPodSandboxStats', () => [
  [1, 'cpu', CpuUsage, 'opt'],
  [2, 'memory', MemoryUsage, 'opt'],
  [3, 'network', NetworkUsage, 'opt'],
  [4, 'process', ProcessUsage, 'opt'],
  [5, 'containers', ContainerStats, 'rep'],
  [6, 'io', IoUsage, 'opt'],
]);

export interface WindowsPodSandboxStats {
  cpu?: WindowsCpuUsage;
  memory?: WindowsMemoryUsage;
  network?: WindowsNetworkUsage;
  process?: WindowsProcessUsage;
  containers: WindowsContainerStats[];
}
export const WindowsPodSandboxStats: Message<WindowsPodSandboxStats> = message('runtime.v1.WindowsPodSandboxStats', () => [
  [1, 'cpu', WindowsCpuUsage, 'opt'],
  [2, 'memory', WindowsMemoryUsage, 'opt'],
  [3, 'network', WindowsNetworkUsage, 'opt'],
  [4, 'process', WindowsProcessUsage, 'opt'],
  [5, 'containers', WindowsContainerStats, 'rep'],
]);

export interface NetworkUsage {
  timestamp: bigint;
  defaultInterface?: NetworkInterfaceUsage;
  interfaces: NetworkInterfaceUsage[];
}
export const NetworkUsage: Message<NetworkUsage> = message('runtime.v1.NetworkUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'defaultInterface', NetworkInterfaceUsage, 'opt'],
  [3, 'interfaces', NetworkInterfaceUsage, 'rep'],
]);

export interface WindowsNetworkUsage {
  timestamp: bigint;
  defaultInterface?: WindowsNetworkInterfaceUsage;
  interfaces: WindowsNetworkInterfaceUsage[];
}
export const WindowsNetworkUsage: Message<WindowsNetworkUsage> = message('runtime.v1.WindowsNetworkUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'defaultInterface', WindowsNetworkInterfaceUsage, 'opt'],
  [3, 'interfaces', WindowsNetworkInterfaceUsage, 'rep'],
]);

export interface NetworkInterfaceUsage {
  name: string;
  rxBytes?: UInt64Value;
  rxErrors?: UInt64Value;
  txBytes?: UInt64Value;
  txErrors?: UInt64Value;
}
export const NetworkInterfaceUsage: Message<NetworkInterfaceUsage> = message('runtime.v1.NetworkInterfaceUsage', () => [
  [1, 'name', 'string', 'one'],
  [2, 'rxBytes', UInt64Value, 'opt'],
  [3, 'rxErrors', UInt64Value, 'opt'],
  [4, 'txBytes', UInt64Value, 'opt'],
  [5, 'txErrors', UInt64Value, 'opt'],
]);

export interface WindowsNetworkInterfaceUsage {
  name: string;
  rxBytes?: UInt64Value;
  rxPacketsDropped?: UInt64Value;
  txBytes?: UInt64Value;
  txPacketsDropped?: UInt64Value;
}
export const WindowsNetworkInterfaceUsage: Message<WindowsNetworkInterfaceUsage> = message('runtime.v1.WindowsNetworkInterfaceUsage', () => [
  [1, 'name', 'string', 'one'],
  [2, 'rxBytes', UInt64Value, 'opt'],
  [3, 'rxPacketsDropped', UInt64Value, 'opt'],
  [4, 'txBytes', UInt64Value, 'opt'],
  [5, 'txPacketsDropped', UInt64Value, 'opt'],
]);

export interface ProcessUsage {
  timestamp: bigint;
  processCount?: UInt64Value;
}
export const ProcessUsage: Message<ProcessUsage> = message('runtime.v1.ProcessUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'processCount', UInt64Value, 'opt'],
]);

export interface WindowsProcessUsage {
  timestamp: bigint;
  processCount?: UInt64Value;
}
export const WindowsProcessUsage: Message<WindowsProcessUsage> = message('runtime.v1.WindowsProcessUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'processCount', UInt64Value, 'opt'],
]);

export interface ImageSpec {
  image: string;
  annotations: Record<string, string>;
  userSpecifiedImage: string;
  runtimeHandler: string;
  imageRef: string;
}
export const ImageSpec: Message<ImageSpec> = message('runtime.v1.ImageSpec', () => [
  [1, 'image', 'string', 'one'],
  [2, 'annotations', 'string', 'map', 'string'],
  [18, 'userSpecifiedImage', 'string', 'one'],
  [19, 'runtimeHandler', 'string', 'one'],
  [20, 'imageRef', 'string', 'one'],
]);

export interface KeyValue {
  key: string;
  value: Uint8Array;
}
export const KeyValue: Message<KeyValue> = message('runtime.v1.KeyValue', () => [
  [1, 'key', 'string', 'one'],
  [2, 'value', 'bytes', 'one'],
]);

export interface LinuxContainerResources {
  cpuPeriod: bigint;
  cpuQuota: bigint;
  cpuShares: bigint;
  memoryLimitInBytes: bigint;
  oomScoreAdj: bigint;
  cpusetCpus: string;
  cpusetMems: string;
  hugepageLimits: HugepageLimit[];
  unified: Record<string, string>;
  memorySwapLimitInBytes: bigint;
}
export const LinuxContainerResources: Message<LinuxContainerResources> = message('runtime.v1.LinuxContainerResources', () => [
  [1, 'cpuPeriod', 'int64', 'one'],
  [2, 'cpuQuota', 'int64', 'one'],
  [3, 'cpuShares', 'int64', 'one'],
  [4, 'memoryLimitInBytes', 'int64', 'one'],
  [5, 'oomScoreAdj', 'int64', 'one'],
  [6, 'cpusetCpus', 'string', 'one'],
  [7, 'cpusetMems', 'string', 'one'],
  [8, 'hugepageLimits', HugepageLimit, 'rep'],
  [9, 'unified', 'string', 'map', 'string'],
  [10, 'memorySwapLimitInBytes', 'int64', 'one'],
]);

export interface HugepageLimit {
  pageSize: string;
  limit: bigint;
}
export const HugepageLimit: Message<HugepageLimit> = message('runtime.v1.HugepageLimit', () => [
  [1, 'pageSize', 'string', 'one'],
  [2, 'limit', 'uint64', 'one'],
]);

export interface SELinuxOption {
  user: string;
  role: string;
  type: string;
  level: string;
}
export const SELinuxOption: Message<SELinuxOption> = message('runtime.v1.SELinuxOption', () => [
  [1, 'user', 'string', 'one'],
  [2, 'role', 'string', 'one'],
  [3, 'type', 'string', 'one'],
  [4, 'level', 'string', 'one'],
]);

export interface Capability {
  addCapabilities: string[];
  dropCapabilities: string[];
  addAmbientCapabilities: string[];
}
export const Capability: Message<Capability> = message('runtime.v1.Capability', () => [
  [1, 'addCapabilities', 'string', 'rep'],
  [2, 'dropCapabilities', 'string', 'rep'],
  [3, 'addAmbientCapabilities', 'string', 'rep'],
]);

export interface LinuxContainerSecurityContext {
  capabilities?: Capability;
  privileged: boolean;
  namespaceOptions?: NamespaceOption;
  selinuxOptions?: SELinuxOption;
  runAsUser?: Int64Value;
  runAsGroup?: Int64Value;
  runAsUsername: string;
  readonlyRootfs: boolean;
  supplementalGroups: bigint[];
  supplementalGroupsPolicy: SupplementalGroupsPolicy;
  noNewPrivs: boolean;
  maskedPaths: string[];
  readonlyPaths: string[];
  seccomp?: SecurityProfile;
  apparmor?: SecurityProfile;
  apparmorProfile: string;
  seccompProfilePath: string;
}
export const LinuxContainerSecurityContext: Message<LinuxContainerSecurityContext> = message('runtime.v1.LinuxContainerSecurityContext', () => [
  [1, 'capabilities', Capability, 'opt'],
  [2, 'privileged', 'bool', 'one'],
  [3, 'namespaceOptions', NamespaceOption, 'opt'],
  [4, 'selinuxOptions', SELinuxOption, 'opt'],
  [5, 'runAsUser', Int64Value, 'opt'],
  [12, 'runAsGroup', Int64Value, 'opt'],
  [6, 'runAsUsername', 'string', 'one'],
  [7, 'readonlyRootfs', 'bool', 'one'],
  [8, 'supplementalGroups', 'int64', 'rep'],
  [17, 'supplementalGroupsPolicy', SupplementalGroupsPolicy, 'one'],
  [11, 'noNewPrivs', 'bool', 'one'],
  [13, 'maskedPaths', 'string', 'rep'],
  [14, 'readonlyPaths', 'string', 'rep'],
  [15, 'seccomp', SecurityProfile, 'opt'],
  [16, 'apparmor', SecurityProfile, 'opt'],
  [9, 'apparmorProfile', 'string', 'one'],
  [10, 'seccompProfilePath', 'string', 'one'],
]);

export interface LinuxContainerConfig {
  resources?: LinuxContainerResources;
  securityContext?: LinuxContainerSecurityContext;
}
export const LinuxContainerConfig: Message<LinuxContainerConfig> = message('runtime.v1.LinuxContainerConfig', () => [
  [1, 'resources', LinuxContainerResources, 'opt'],
  [2, 'securityContext', LinuxContainerSecurityContext, 'opt'],
]);

export interface LinuxContainerUser {
  uid: bigint;
  gid: bigint;
  supplementalGroups: bigint[];
}
export const LinuxContainerUser: Message<LinuxContainerUser> = message('runtime.v1.LinuxContainerUser', () => [
  [1, 'uid', 'int64', 'one'],
  [2, 'gid', 'int64', 'one'],
  [3, 'supplementalGroups', 'int64', 'rep'],
]);

export interface WindowsNamespaceOption {
  network: NamespaceMode;
}
export const WindowsNamespaceOption: Message<WindowsNamespaceOption> = message('runtime.v1.WindowsNamespaceOption', () => [
  [1, 'network', NamespaceMode, 'one'],
]);

export interface WindowsSandboxSecurityContext {
  runAsUsername: string;
  credentialSpec: string;
  hostProcess: boolean;
  namespaceOptions?: WindowsNamespaceOption;
}
export const WindowsSandboxSecurityContext: Message<WindowsSandboxSecurityContext> = message('runtime.v1.WindowsSandboxSecurityContext', () => [
  [1, 'runAsUsername', 'string', 'one'],
  [2, 'credentialSpec', 'string', 'one'],
  [3, 'hostProcess', 'bool', 'one'],
  [4, 'namespaceOptions', WindowsNamespaceOption, 'opt'],
]);

export interface WindowsPodSandboxConfig {
  securityContext?: WindowsSandboxSecurityContext;
}
export const WindowsPodSandboxConfig: Message<WindowsPodSandboxConfig> = message('runtime.v1.WindowsPodSandboxConfig', () => [
  [1, 'securityContext', WindowsSandboxSecurityContext, 'opt'],
]);

export interface WindowsContainerSecurityContext {
  runAsUsername: string;
  credentialSpec: string;
  hostProcess: boolean;
}
export const WindowsContainerSecurityContext: Message<WindowsContainerSecurityContext> = message('runtime.v1.WindowsContainerSecurityContext', () => [
  [1, 'runAsUsername', 'string', 'one'],
  [2, 'credentialSpec', 'string', 'one'],
  [3, 'hostProcess', 'bool', 'one'],
]);

export interface WindowsContainerConfig {
  resources?: WindowsContainerResources;
  securityContext?: WindowsContainerSecurityContext;
}
export const WindowsContainerConfig: Message<WindowsContainerConfig> = message('runtime.v1.WindowsContainerConfig', () => [
  [1, 'resources', WindowsContainerResources, 'opt'],
  [2, 'securityContext', WindowsContainerSecurityContext, 'opt'],
]);

export interface WindowsContainerResources {
  cpuShares: bigint;
  cpuCount: bigint;
  cpuMaximum: bigint;
  memoryLimitInBytes: bigint;
  rootfsSizeInBytes: bigint;
  affinityCpus: WindowsCpuGroupAffinity[];
}
export const WindowsContainerResources: Message<WindowsContainerResources> = message('runtime.v1.WindowsContainerResources', () => [
  [1, 'cpuShares', 'int64', 'one'],
  [2, 'cpuCount', 'int64', 'one'],
  [3, 'cpuMaximum', 'int64', 'one'],
  [4, 'memoryLimitInBytes', 'int64', 'one'],
  [5, 'rootfsSizeInBytes', 'int64', 'one'],
  [6, 'affinityCpus', WindowsCpuGroupAffinity, 'rep'],
]);

export interface WindowsCpuGroupAffinity {
  cpuMask: bigint;
  cpuGroup: number;
}
export const WindowsCpuGroupAffinity: Message<WindowsCpuGroupAffinity> = message('runtime.v1.WindowsCpuGroupAffinity', () => [
  [1, 'cpuMask', 'uint64', 'one'],
  [2, 'cpuGroup', 'uint32', 'one'],
]);

export interface ContainerMetadata {
  name: string;
  attempt: number;
}
export const ContainerMetadata: Message<ContainerMetadata> = message('runtime.v1.ContainerMetadata', () => [
  [1, 'name', 'string', 'one'],
  [2, 'attempt', 'uint32', 'one'],
]);

export interface Device {
  containerPath: string;
  hostPath: string;
  permissions: string;
}
export const Device: Message<Device> = message('runtime.v1.Device', () => [
  [1, 'containerPath', 'string', 'one'],
  [2, 'hostPath', 'string', 'one'],
  [3, 'permissions', 'string', 'one'],
]);

export interface CDIDevice {
  name: string;
}
export const CDIDevice: Message<CDIDevice> = message('runtime.v1.CDIDevice', () => [
  [1, 'name', 'string', 'one'],
]);

export interface ContainerConfig {
  metadata?: ContainerMetadata;
  image?: ImageSpec;
  command: string[];
  args: string[];
  workingDir: string;
  envs: KeyValue[];
  mounts: Mount[];
  devices: Device[];
  labels: Record<string, string>;
  annotations: Record<string, string>;
  logPath: string;
  stdin: boolean;
  stdinOnce: boolean;
  tty: boolean;
  linux?: LinuxContainerConfig;
  windows?: WindowsContainerConfig;
  CDIDevices: CDIDevice[];
  stopSignal: Signal;
}
export const ContainerConfig: Message<ContainerConfig> = message('runtime.v1.ContainerConfig', () => [
  [1, 'metadata', ContainerMetadata, 'opt'],
  [2, 'image', ImageSpec, 'opt'],
  [3, 'command', 'string', 'rep'],
  [4, 'args', 'string', 'rep'],
  [5, 'workingDir', 'string', 'one'],
  [6, 'envs', KeyValue, 'rep'],
  [7, 'mounts', Mount, 'rep'],
  [8, 'devices', Device, 'rep'],
  [9, 'labels', 'string', 'map', 'string'],
  [10, 'annotations', 'string', 'map', 'string'],
  [11, 'logPath', 'string', 'one'],
  [12, 'stdin', 'bool', 'one'],
  [13, 'stdinOnce', 'bool', 'one'],
  [14, 'tty', 'bool', 'one'],
  [15, 'linux', LinuxContainerConfig, 'opt'],
  [16, 'windows', WindowsContainerConfig, 'opt'],
  [17, 'CDIDevices', CDIDevice, 'rep'],
  [18, 'stopSignal', Signal, 'one'],
]);

export interface CreateContainerRequest {
  podSandboxId: string;
  config?: ContainerConfig;
  sandboxConfig?: PodSandboxConfig;
}
export const CreateContainerRequest: Message<CreateContainerRequest> = message('runtime.v1.CreateContainerRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
  [2, 'config', ContainerConfig, 'opt'],
  [3, 'sandboxConfig', PodSandboxConfig, 'opt'],
]);

export interface CreateContainerResponse {
  containerId: string;
}
export const CreateContainerResponse: Message<CreateContainerResponse> = message('runtime.v1.CreateContainerResponse', () => [
  [1, 'containerId', 'string', 'one'],
]);

export interface StartContainerRequest {
  containerId: string;
}
export const StartContainerRequest: Message<StartContainerRequest> = message('runtime.v1.StartContainerRequest', () => [
  [1, 'containerId', 'string', 'one'],
]);

export interface StartContainerResponse {

}
export const StartContainerResponse: Message<StartContainerResponse> = message('runtime.v1.StartContainerResponse', () => [

]);

export interface StopContainerRequest {
  containerId: string;
  timeout: bigint;
}
export const StopContainerRequest: Message<StopContainerRequest> = message('runtime.v1.StopContainerRequest', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'timeout', 'int64', 'one'],
]);

export interface StopContainerResponse {

}
export const StopContainerResponse: Message<StopContainerResponse> = message('runtime.v1.StopContainerResponse', () => [

]);

export interface RemoveContainerRequest {
  containerId: string;
}
export const RemoveContainerRequest: Message<RemoveContainerRequest> = message('runtime.v1.RemoveContainerRequest', () => [
  [1, 'containerId', 'string', 'one'],
]);

export interface RemoveContainerResponse {

}
export const RemoveContainerResponse: Message<RemoveContainerResponse> = message('runtime.v1.RemoveContainerResponse', () => [

]);

export interface ContainerStateValue {
  state: ContainerState;
}
export const ContainerStateValue: Message<ContainerStateValue> = message('runtime.v1.ContainerStateValue', () => [
  [1, 'state', ContainerState, 'one'],
]);

export interface ContainerFilter {
  id: string;
  state?: ContainerStateValue;
  podSandboxId: string;
  labelSelector: Record<string, string>;
}
export const ContainerFilter: Message<ContainerFilter> = message('runtime.v1.ContainerFilter', () => [
  [1, 'id', 'string', 'one'],
  [2, 'state', ContainerStateValue, 'opt'],
  [3, 'podSandboxId', 'string', 'one'],
  [4, 'labelSelector', 'string', 'map', 'string'],
]);

export interface ListContainersRequest {
  filter?: ContainerFilter;
}
export const ListContainersRequest: Message<ListContainersRequest> = message('runtime.v1.ListContainersRequest', () => [
  [1, 'filter', ContainerFilter, 'opt'],
]);

export interface Container {
  id: string;
  podSandboxId: string;
  metadata?: ContainerMetadata;
  image?: ImageSpec;
  imageRef: string;
  state: ContainerState;
  createdAt: bigint;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  imageId: string;
}
export const Container: Message<Container> = message('runtime.v1.Container', () => [
  [1, 'id', 'string', 'one'],
  [2, 'podSandboxId', 'string', 'one'],
  [3, 'metadata', ContainerMetadata, 'opt'],
  [4, 'image', ImageSpec, 'opt'],
  [5, 'imageRef', 'string', 'one'],
  [6, 'state', ContainerState, 'one'],
  [7, 'createdAt', 'int64', 'one'],
  [8, 'labels', 'string', 'map', 'string'],
  [9, 'annotations', 'string', 'map', 'string'],
  [10, 'imageId', 'string', 'one'],
]);

export interface ListContainersResponse {
  containers: Container[];
}
export const ListContainersResponse: Message<ListContainersResponse> = message('runtime.v1.ListContainersResponse', () => [
  [1, 'containers', Container, 'rep'],
]);

export interface StreamContainersRequest {
  filter?: ContainerFilter;
}
export const StreamContainersRequest: Message<StreamContainersRequest> = message('runtime.v1.StreamContainersRequest', () => [
  [1, 'filter', ContainerFilter, 'opt'],
]);

export interface StreamContainersResponse {
  containers: Container[];
}
export const StreamContainersResponse: Message<StreamContainersResponse> = message('runtime.v1.StreamContainersResponse', () => [
  [1, 'containers', Container, 'rep'],
]);

export interface ContainerStatusRequest {
  containerId: string;
  verbose: boolean;
}
export const ContainerStatusRequest: Message<ContainerStatusRequest> = message('runtime.v1.ContainerStatusRequest', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'verbose', 'bool', 'one'],
]);

export interface ContainerStatus {
  id: string;
  metadata?: ContainerMetadata;
  state: ContainerState;
  createdAt: bigint;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  image?: ImageSpec;
  imageRef: string;
  reason: string;
  message: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  mounts: Mount[];
  logPath: string;
  resources?: ContainerResources;
  imageId: string;
  user?: ContainerUser;
  stopSignal: Signal;
}
export const ContainerStatus: Message<ContainerStatus> = message('runtime.v1.ContainerStatus', () => [
  [1, 'id', 'string', 'one'],
  [2, 'metadata', ContainerMetadata, 'opt'],
  [3, 'state', ContainerState, 'one'],
  [4, 'createdAt', 'int64', 'one'],
  [5, 'startedAt', 'int64', 'one'],
  [6, 'finishedAt', 'int64', 'one'],
  [7, 'exitCode', 'int32', 'one'],
  [8, 'image', ImageSpec, 'opt'],
  [9, 'imageRef', 'string', 'one'],
  [10, 'reason', 'string', 'one'],
  [11, 'message', 'string', 'one'],
  [12, 'labels', 'string', 'map', 'string'],
  [13, 'annotations', 'string', 'map', 'string'],
  [14, 'mounts', Mount, 'rep'],
  [15, 'logPath', 'string', 'one'],
  [16, 'resources', ContainerResources, 'opt'],
  [17, 'imageId', 'string', 'one'],
  [18, 'user', ContainerUser, 'opt'],
  [19, 'stopSignal', Signal, 'one'],
]);

export interface ContainerStatusResponse {
  status?: ContainerStatus;
  info: Record<string, string>;
}
export const ContainerStatusResponse: Message<ContainerStatusResponse> = message('runtime.v1.ContainerStatusResponse', () => [
  [1, 'status', ContainerStatus, 'opt'],
  [2, 'info', 'string', 'map', 'string'],
]);

export interface ContainerResources {
  linux?: LinuxContainerResources;
  windows?: WindowsContainerResources;
}
export const ContainerResources: Message<ContainerResources> = message('runtime.v1.ContainerResources', () => [
  [1, 'linux', LinuxContainerResources, 'opt'],
  [2, 'windows', WindowsContainerResources, 'opt'],
]);

export interface ContainerUser {
  linux?: LinuxContainerUser;
}
export const ContainerUser: Message<ContainerUser> = message('runtime.v1.ContainerUser', () => [
  [1, 'linux', LinuxContainerUser, 'opt'],
]);

export interface UpdateContainerResourcesRequest {
  containerId: string;
  linux?: LinuxContainerResources;
  windows?: WindowsContainerResources;
  annotations: Record<string, string>;
}
export const UpdateContainerResourcesRequest: Message<UpdateContainerResourcesRequest> = message('runtime.v1.UpdateContainerResourcesRequest', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'linux', LinuxContainerResources, 'opt'],
  [3, 'windows', WindowsContainerResources, 'opt'],
  [4, 'annotations', 'string', 'map', 'string'],
]);

export interface UpdateContainerResourcesResponse {

}
export const UpdateContainerResourcesResponse: Message<UpdateContainerResourcesResponse> = message('runtime.v1.UpdateContainerResourcesResponse', () => [

]);

export interface ExecSyncRequest {
  containerId: string;
  cmd: string[];
  timeout: bigint;
}
export const ExecSyncRequest: Message<ExecSyncRequest> = message('runtime.v1.ExecSyncRequest', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'cmd', 'string', 'rep'],
  [3, 'timeout', 'int64', 'one'],
]);

export interface ExecSyncResponse {
  stdout: Uint8Array;
  stderr: Uint8Array;
  exitCode: number;
}
export const ExecSyncResponse: Message<ExecSyncResponse> = message('runtime.v1.ExecSyncResponse', () => [
  [1, 'stdout', 'bytes', 'one'],
  [2, 'stderr', 'bytes', 'one'],
  [3, 'exitCode', 'int32', 'one'],
]);

export interface ExecRequest {
  containerId: string;
  cmd: string[];
  tty: boolean;
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
}
export const ExecRequest: Message<ExecRequest> = message('runtime.v1.ExecRequest', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'cmd', 'string', 'rep'],
  [3, 'tty', 'bool', 'one'],
  [4, 'stdin', 'bool', 'one'],
  [5, 'stdout', 'bool', 'one'],
  [6, 'stderr', 'bool', 'one'],
]);

export interface ExecResponse {
  url: string;
}
export const ExecResponse: Message<ExecResponse> = message('runtime.v1.ExecResponse', () => [
  [1, 'url', 'string', 'one'],
]);

export interface AttachRequest {
  containerId: string;
  stdin: boolean;
  tty: boolean;
  stdout: boolean;
  stderr: boolean;
}
export const AttachRequest: Message<AttachRequest> = message('runtime.v1.AttachRequest', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'stdin', 'bool', 'one'],
  [3, 'tty', 'bool', 'one'],
  [4, 'stdout', 'bool', 'one'],
  [5, 'stderr', 'bool', 'one'],
]);

export interface AttachResponse {
  url: string;
}
export const AttachResponse: Message<AttachResponse> = message('runtime.v1.AttachResponse', () => [
  [1, 'url', 'string', 'one'],
]);

export interface PortForwardRequest {
  podSandboxId: string;
  port: number[];
}
export const PortForwardRequest: Message<PortForwardRequest> = message('runtime.v1.PortForwardRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
  [2, 'port', 'int32', 'rep'],
]);

export interface PortForwardResponse {
  url: string;
}
export const PortForwardResponse: Message<PortForwardResponse> = message('runtime.v1.PortForwardResponse', () => [
  [1, 'url', 'string', 'one'],
]);

export interface ImageFilter {
  image?: ImageSpec;
}
export const ImageFilter: Message<ImageFilter> = message('runtime.v1.ImageFilter', () => [
  [1, 'image', ImageSpec, 'opt'],
]);

export interface ListImagesRequest {
  filter?: ImageFilter;
}
export const ListImagesRequest: Message<ListImagesRequest> = message('runtime.v1.ListImagesRequest', () => [
  [1, 'filter', ImageFilter, 'opt'],
]);

export interface Image {
  id: string;
  repoTags: string[];
  repoDigests: string[];
  size: bigint;
  uid?: Int64Value;
  username: string;
  spec?: ImageSpec;
  pinned: boolean;
}
export const Image: Message<Image> = message('runtime.v1.Image', () => [
  [1, 'id', 'string', 'one'],
  [2, 'repoTags', 'string', 'rep'],
  [3, 'repoDigests', 'string', 'rep'],
  [4, 'size', 'uint64', 'one'],
  [5, 'uid', Int64Value, 'opt'],
  [6, 'username', 'string', 'one'],
  [7, 'spec', ImageSpec, 'opt'],
  [8, 'pinned', 'bool', 'one'],
]);

export interface ListImagesResponse {
  images: Image[];
}
export const ListImagesResponse: Message<ListImagesResponse> = message('runtime.v1.ListImagesResponse', () => [
  [1, 'images', Image, 'rep'],
]);

export interface StreamImagesRequest {
  filter?: ImageFilter;
}
export const StreamImagesRequest: Message<StreamImagesRequest> = message('runtime.v1.StreamImagesRequest', () => [
  [1, 'filter', ImageFilter, 'opt'],
]);

export interface StreamImagesResponse {
  images: Image[];
}
export const StreamImagesResponse: Message<StreamImagesResponse> = message('runtime.v1.StreamImagesResponse', () => [
  [1, 'images', Image, 'rep'],
]);

export interface ImageStatusRequest {
  image?: ImageSpec;
  verbose: boolean;
}
export const ImageStatusRequest: Message<ImageStatusRequest> = message('runtime.v1.ImageStatusRequest', () => [
  [1, 'image', ImageSpec, 'opt'],
  [2, 'verbose', 'bool', 'one'],
]);

export interface ImageStatusResponse {
  image?: Image;
  info: Record<string, string>;
}
export const ImageStatusResponse: Message<ImageStatusResponse> = message('runtime.v1.ImageStatusResponse', () => [
  [1, 'image', Image, 'opt'],
  [2, 'info', 'string', 'map', 'string'],
]);

export interface AuthConfig {
  username: string;
  password: string;
  auth: string;
  serverAddress: string;
  identityToken: string;
  registryToken: string;
}
export const AuthConfig: Message<AuthConfig> = message('runtime.v1.AuthConfig', () => [
  [1, 'username', 'string', 'one'],
  [2, 'password', 'string', 'one'],
  [3, 'auth', 'string', 'one'],
  [4, 'serverAddress', 'string', 'one'],
  [5, 'identityToken', 'string', 'one'],
  [6, 'registryToken', 'string', 'one'],
]);

export interface PullImageRequest {
  image?: ImageSpec;
  auth?: AuthConfig;
  sandboxConfig?: PodSandboxConfig;
}
export const PullImageRequest: Message<PullImageRequest> = message('runtime.v1.PullImageRequest', () => [
  [1, 'image', ImageSpec, 'opt'],
  [2, 'auth', AuthConfig, 'opt'],
  [3, 'sandboxConfig', PodSandboxConfig, 'opt'],
]);

export interface PullImageResponse {
  imageRef: string;
}
export const PullImageResponse: Message<PullImageResponse> = message('runtime.v1.PullImageResponse', () => [
  [1, 'imageRef', 'string', 'one'],
]);

export interface RemoveImageRequest {
  image?: ImageSpec;
}
export const RemoveImageRequest: Message<RemoveImageRequest> = message('runtime.v1.RemoveImageRequest', () => [
  [1, 'image', ImageSpec, 'opt'],
]);

export interface RemoveImageResponse {

}
export const RemoveImageResponse: Message<RemoveImageResponse> = message('runtime.v1.RemoveImageResponse', () => [

]);

export interface NetworkConfig {
  podCidr: string;
}
export const NetworkConfig: Message<NetworkConfig> = message('runtime.v1.NetworkConfig', () => [
  [1, 'podCidr', 'string', 'one'],
]);

export interface RuntimeConfig {
  networkConfig?: NetworkConfig;
}
export const RuntimeConfig: Message<RuntimeConfig> = message('runtime.v1.RuntimeConfig', () => [
  [1, 'networkConfig', NetworkConfig, 'opt'],
]);

export interface UpdateRuntimeConfigRequest {
  runtimeConfig?: RuntimeConfig;
}
export const UpdateRuntimeConfigRequest: Message<UpdateRuntimeConfigRequest> = message('runtime.v1.UpdateRuntimeConfigRequest', () => [
  [1, 'runtimeConfig', RuntimeConfig, 'opt'],
]);

export interface UpdateRuntimeConfigResponse {

}
export const UpdateRuntimeConfigResponse: Message<UpdateRuntimeConfigResponse> = message('runtime.v1.UpdateRuntimeConfigResponse', () => [

]);

export interface RuntimeCondition {
  type: string;
  status: boolean;
  reason: string;
  message: string;
}
export const RuntimeCondition: Message<RuntimeCondition> = message('runtime.v1.RuntimeCondition', () => [
  [1, 'type', 'string', 'one'],
  [2, 'status', 'bool', 'one'],
  [3, 'reason', 'string', 'one'],
  [4, 'message', 'string', 'one'],
]);

export interface RuntimeStatus {
  conditions: RuntimeCondition[];
}
export const RuntimeStatus: Message<RuntimeStatus> = message('runtime.v1.RuntimeStatus', () => [
  [1, 'conditions', RuntimeCondition, 'rep'],
]);

export interface StatusRequest {
  verbose: boolean;
}
export const StatusRequest: Message<StatusRequest> = message('runtime.v1.StatusRequest', () => [
  [1, 'verbose', 'bool', 'one'],
]);

export interface RuntimeHandlerFeatures {
  recursiveReadOnlyMounts: boolean;
  userNamespaces: boolean;
}
export const RuntimeHandlerFeatures: Message<RuntimeHandlerFeatures> = message('runtime.v1.RuntimeHandlerFeatures', () => [
  [1, 'recursiveReadOnlyMounts', 'bool', 'one'],
  [2, 'userNamespaces', 'bool', 'one'],
]);

export interface RuntimeHandler {
  name: string;
  features?: RuntimeHandlerFeatures;
}
export const RuntimeHandler: Message<RuntimeHandler> = message('runtime.v1.RuntimeHandler', () => [
  [1, 'name', 'string', 'one'],
  [2, 'features', RuntimeHandlerFeatures, 'opt'],
]);

export interface RuntimeFeatures {
  supplementalGroupsPolicy: boolean;
  userNamespacesHostNetwork: boolean;
  mountOptions: boolean;
}
export const RuntimeFeatures: Message<RuntimeFeatures> = message('runtime.v1.RuntimeFeatures', () => [
  [1, 'supplementalGroupsPolicy', 'bool', 'one'],
  [2, 'userNamespacesHostNetwork', 'bool', 'one'],
  [3, 'mountOptions', 'bool', 'one'],
]);

export interface StatusResponse {
  status?: RuntimeStatus;
  info: Record<string, string>;
  runtimeHandlers: RuntimeHandler[];
  features?: RuntimeFeatures;
}
export const StatusResponse: Message<StatusResponse> = message('runtime.v1.StatusResponse', () => [
  [1, 'status', RuntimeStatus, 'opt'],
  [2, 'info', 'string', 'map', 'string'],
  [3, 'runtimeHandlers', RuntimeHandler, 'rep'],
  [4, 'features', RuntimeFeatures, 'opt'],
]);

export interface ImageFsInfoRequest {

}
export const ImageFsInfoRequest: Message<ImageFsInfoRequest> = message('runtime.v1.ImageFsInfoRequest', () => [

]);

export interface UInt64Value {
  value: bigint;
}
export const UInt64Value: Message<UInt64Value> = message('runtime.v1.UInt64Value', () => [
  [1, 'value', 'uint64', 'one'],
]);

export interface FilesystemIdentifier {
  mountpoint: string;
}
export const FilesystemIdentifier: Message<FilesystemIdentifier> = message('runtime.v1.FilesystemIdentifier', () => [
  [1, 'mountpoint', 'string', 'one'],
]);

export interface FilesystemUsage {
  timestamp: bigint;
  fsId?: FilesystemIdentifier;
  usedBytes?: UInt64Value;
  inodesUsed?: UInt64Value;
}
export const FilesystemUsage: Message<FilesystemUsage> = message('runtime.v1.FilesystemUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'fsId', FilesystemIdentifier, 'opt'],
  [3, 'usedBytes', UInt64Value, 'opt'],
  [4, 'inodesUsed', UInt64Value, 'opt'],
]);

export interface WindowsFilesystemUsage {
  timestamp: bigint;
  fsId?: FilesystemIdentifier;
  usedBytes?: UInt64Value;
}
export const WindowsFilesystemUsage: Message<WindowsFilesystemUsage> = message('runtime.v1.WindowsFilesystemUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'fsId', FilesystemIdentifier, 'opt'],
  [3, 'usedBytes', UInt64Value, 'opt'],
]);

export interface ImageFsInfoResponse {
  imageFilesystems: FilesystemUsage[];
  containerFilesystems: FilesystemUsage[];
}
export const ImageFsInfoResponse: Message<ImageFsInfoResponse> = message('runtime.v1.ImageFsInfoResponse', () => [
  [1, 'imageFilesystems', FilesystemUsage, 'rep'],
  [2, 'containerFilesystems', FilesystemUsage, 'rep'],
]);

export interface ContainerStatsRequest {
  containerId: string;
}
export const ContainerStatsRequest: Message<ContainerStatsRequest> = message('runtime.v1.ContainerStatsRequest', () => [
  [1, 'containerId', 'string', 'one'],
]);

export interface ContainerStatsResponse {
  stats?: ContainerStats;
}
export const ContainerStatsResponse: Message<ContainerStatsResponse> = message('runtime.v1.ContainerStatsResponse', () => [
  [1, 'stats', ContainerStats, 'opt'],
]);

export interface ListContainerStatsRequest {
  filter?: ContainerStatsFilter;
}
export const ListContainerStatsRequest: Message<ListContainerStatsRequest> = message('runtime.v1.ListContainerStatsRequest', () => [
  [1, 'filter', ContainerStatsFilter, 'opt'],
]);

export interface ContainerStatsFilter {
  id: string;
  podSandboxId: string;
  labelSelector: Record<string, string>;
}
export const ContainerStatsFilter: Message<ContainerStatsFilter> = message('runtime.v1.ContainerStatsFilter', () => [
  [1, 'id', 'string', 'one'],
  [2, 'podSandboxId', 'string', 'one'],
  [3, 'labelSelector', 'string', 'map', 'string'],
]);

export interface ListContainerStatsResponse {
  stats: ContainerStats[];
}
export const ListContainerStatsResponse: Message<ListContainerStatsResponse> = message('runtime.v1.ListContainerStatsResponse', () => [
  [1, 'stats', ContainerStats, 'rep'],
]);

export interface StreamContainerStatsRequest {
  filter?: ContainerStatsFilter;
}
export const StreamContainerStatsRequest: Message<StreamContainerStatsRequest> = message('runtime.v1.StreamContainerStatsRequest', () => [
  [1, 'filter', ContainerStatsFilter, 'opt'],
]);

export interface StreamContainerStatsResponse {
  containerStats: ContainerStats[];
}
export const StreamContainerStatsResponse: Message<StreamContainerStatsResponse> = message('runtime.v1.StreamContainerStatsResponse', () => [
  [1, 'containerStats', ContainerStats, 'rep'],
]);

export interface ContainerAttributes {
  id: string;
  metadata?: ContainerMetadata;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}
export const ContainerAttributes: Message<ContainerAttributes> = message('runtime.v1.ContainerAttributes', () => [
  [1, 'id', 'string', 'one'],
  [2, 'metadata', ContainerMetadata, 'opt'],
  [3, 'labels', 'string', 'map', 'string'],
  [4, 'annotations', 'string', 'map', 'string'],
]);

export interface ContainerStats {
  attributes?: ContainerAttributes;
  cpu?: CpuUsage;
  memory?: MemoryUsage;
  writableLayer?: FilesystemUsage;
  swap?: SwapUsage;
  io?: IoUsage;
}
export const ContainerStats: Message<ContainerStats> = message('runtime.v1.ContainerStats', () => [
  [1, 'attributes', ContainerAttributes, 'opt'],
  [2, 'cpu', CpuUsage, 'opt'],
  [3, 'memory', MemoryUsage, 'opt'],
  [4, 'writableLayer', FilesystemUsage, 'opt'],
  [5, 'swap', SwapUsage, 'opt'],
  [6, 'io', IoUsage, 'opt'],
]);

export interface WindowsContainerStats {
  attributes?: ContainerAttributes;
  cpu?: WindowsCpuUsage;
  memory?: WindowsMemoryUsage;
  writableLayer?: WindowsFilesystemUsage;
}
export const WindowsContainerStats: Message<WindowsContainerStats> = message('runtime.v1.WindowsContainerStats', () => [
  [1, 'attributes', ContainerAttributes, 'opt'],
  [2, 'cpu', WindowsCpuUsage, 'opt'],
  [3, 'memory', WindowsMemoryUsage, 'opt'],
  [4, 'writableLayer', WindowsFilesystemUsage, 'opt'],
]);

export interface PsiStats {
  Full?: PsiData;
  Some?: PsiData;
}
export const PsiStats: Message<PsiStats> = message('runtime.v1.PsiStats', () => [
  [1, 'Full', PsiData, 'opt'],
  [2, 'Some', PsiData, 'opt'],
]);

export interface PsiData {
  Total: bigint;
  Avg10: number;
  Avg60: number;
  Avg300: number;
}
export const PsiData: Message<PsiData> = message('runtime.v1.PsiData', () => [
  [1, 'Total', 'uint64', 'one'],
  [2, 'Avg10', 'double', 'one'],
  [3, 'Avg60', 'double', 'one'],
  [4, 'Avg300', 'double', 'one'],
]);

export interface CpuUsage {
  timestamp: bigint;
  usageCoreNanoSeconds?: UInt64Value;
  usageNanoCores?: UInt64Value;
  psi?: PsiStats;
}
export const CpuUsage: Message<CpuUsage> = message('runtime.v1.CpuUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'usageCoreNanoSeconds', UInt64Value, 'opt'],
  [3, 'usageNanoCores', UInt64Value, 'opt'],
  [4, 'psi', PsiStats, 'opt'],
]);

export interface WindowsCpuUsage {
  timestamp: bigint;
  usageCoreNanoSeconds?: UInt64Value;
  usageNanoCores?: UInt64Value;
}
export const WindowsCpuUsage: Message<WindowsCpuUsage> = message('runtime.v1.WindowsCpuUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'usageCoreNanoSeconds', UInt64Value, 'opt'],
  [3, 'usageNanoCores', UInt64Value, 'opt'],
]);

export interface MemoryUsage {
  timestamp: bigint;
  workingSetBytes?: UInt64Value;
  availableBytes?: UInt64Value;
  usageBytes?: UInt64Value;
  rssBytes?: UInt64Value;
  pageFaults?: UInt64Value;
  majorPageFaults?: UInt64Value;
  psi?: PsiStats;
}
export const MemoryUsage: Message<MemoryUsage> = message('runtime.v1.MemoryUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'workingSetBytes', UInt64Value, 'opt'],
  [3, 'availableBytes', UInt64Value, 'opt'],
  [4, 'usageBytes', UInt64Value, 'opt'],
  [5, 'rssBytes', UInt64Value, 'opt'],
  [6, 'pageFaults', UInt64Value, 'opt'],
  [7, 'majorPageFaults', UInt64Value, 'opt'],
  [8, 'psi', PsiStats, 'opt'],
]);

export interface IoUsage {
  timestamp: bigint;
  psi?: PsiStats;
}
export const IoUsage: Message<IoUsage> = message('runtime.v1.IoUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'psi', PsiStats, 'opt'],
]);

export interface SwapUsage {
  timestamp: bigint;
  swapAvailableBytes?: UInt64Value;
  swapUsageBytes?: UInt64Value;
}
export const SwapUsage: Message<SwapUsage> = message('runtime.v1.SwapUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'swapAvailableBytes', UInt64Value, 'opt'],
  [3, 'swapUsageBytes', UInt64Value, 'opt'],
]);

export interface WindowsMemoryUsage {
  timestamp: bigint;
  workingSetBytes?: UInt64Value;
  availableBytes?: UInt64Value;
  pageFaults?: UInt64Value;
  commitMemoryBytes?: UInt64Value;
}
export const WindowsMemoryUsage: Message<WindowsMemoryUsage> = message('runtime.v1.WindowsMemoryUsage', () => [
  [1, 'timestamp', 'int64', 'one'],
  [2, 'workingSetBytes', UInt64Value, 'opt'],
  [3, 'availableBytes', UInt64Value, 'opt'],
  [4, 'pageFaults', UInt64Value, 'opt'],
  [5, 'commitMemoryBytes', UInt64Value, 'opt'],
]);

export interface ReopenContainerLogRequest {
  containerId: string;
}
export const ReopenContainerLogRequest: Message<ReopenContainerLogRequest> = message('runtime.v1.ReopenContainerLogRequest', () => [
  [1, 'containerId', 'string', 'one'],
]);

export interface ReopenContainerLogResponse {

}
export const ReopenContainerLogResponse: Message<ReopenContainerLogResponse> = message('runtime.v1.ReopenContainerLogResponse', () => [

]);

export interface CheckpointContainerRequest {
  containerId: string;
  location: string;
  timeout: bigint;
}
export const CheckpointContainerRequest: Message<CheckpointContainerRequest> = message('runtime.v1.CheckpointContainerRequest', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'location', 'string', 'one'],
  [3, 'timeout', 'int64', 'one'],
]);

export interface CheckpointContainerResponse {

}
export const CheckpointContainerResponse: Message<CheckpointContainerResponse> = message('runtime.v1.CheckpointContainerResponse', () => [

]);

export interface CheckpointPodRequest {
  podSandboxId: string;
  outputPath: string;
  containerIds: string[];
  options: Record<string, string>;
}
export const CheckpointPodRequest: Message<CheckpointPodRequest> = message('runtime.v1.CheckpointPodRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
  [2, 'outputPath', 'string', 'one'],
  [3, 'containerIds', 'string', 'rep'],
  [4, 'options', 'string', 'map', 'string'],
]);

export interface CheckpointPodResponse {

}
export const CheckpointPodResponse: Message<CheckpointPodResponse> = message('runtime.v1.CheckpointPodResponse', () => [

]);

export interface RestorePodRequest {
  checkpointPath: string;
  config?: PodSandboxConfig;
  runtimeHandler: string;
  options: Record<string, string>;
  containerConfigs: ContainerConfig[];
}
export const RestorePodRequest: Message<RestorePodRequest> = message('runtime.v1.RestorePodRequest', () => [
  [1, 'checkpointPath', 'string', 'one'],
  [2, 'config', PodSandboxConfig, 'opt'],
  [3, 'runtimeHandler', 'string', 'one'],
  [4, 'options', 'string', 'map', 'string'],
  [5, 'containerConfigs', ContainerConfig, 'rep'],
]);

export interface RestoredContainer {
  name: string;
  containerId: string;
}
export const RestoredContainer: Message<RestoredContainer> = message('runtime.v1.RestoredContainer', () => [
  [1, 'name', 'string', 'one'],
  [2, 'containerId', 'string', 'one'],
]);

export interface RestorePodResponse {
  podSandboxId: string;
  restoredContainers: RestoredContainer[];
}
export const RestorePodResponse: Message<RestorePodResponse> = message('runtime.v1.RestorePodResponse', () => [
  [1, 'podSandboxId', 'string', 'one'],
  [2, 'restoredContainers', RestoredContainer, 'rep'],
]);

export interface GetEventsRequest {

}
export const GetEventsRequest: Message<GetEventsRequest> = message('runtime.v1.GetEventsRequest', () => [

]);

export interface ContainerEventResponse {
  containerId: string;
  containerEventType: ContainerEventType;
  createdAt: bigint;
  podSandboxStatus?: PodSandboxStatus;
  containersStatuses: ContainerStatus[];
}
export const ContainerEventResponse: Message<ContainerEventResponse> = message('runtime.v1.ContainerEventResponse', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'containerEventType', ContainerEventType, 'one'],
  [3, 'createdAt', 'int64', 'one'],
  [4, 'podSandboxStatus', PodSandboxStatus, 'opt'],
  [5, 'containersStatuses', ContainerStatus, 'rep'],
]);

export interface ListMetricDescriptorsRequest {

}
export const ListMetricDescriptorsRequest: Message<ListMetricDescriptorsRequest> = message('runtime.v1.ListMetricDescriptorsRequest', () => [

]);

export interface ListMetricDescriptorsResponse {
  descriptors: MetricDescriptor[];
}
export const ListMetricDescriptorsResponse: Message<ListMetricDescriptorsResponse> = message('runtime.v1.ListMetricDescriptorsResponse', () => [
  [1, 'descriptors', MetricDescriptor, 'rep'],
]);

export interface MetricDescriptor {
  name: string;
  help: string;
  labelKeys: string[];
}
export const MetricDescriptor: Message<MetricDescriptor> = message('runtime.v1.MetricDescriptor', () => [
  [1, 'name', 'string', 'one'],
  [2, 'help', 'string', 'one'],
  [3, 'labelKeys', 'string', 'rep'],
]);

export interface ListPodSandboxMetricsRequest {

}
export const ListPodSandboxMetricsRequest: Message<ListPodSandboxMetricsRequest> = message('runtime.v1.ListPodSandboxMetricsRequest', () => [

]);

export interface ListPodSandboxMetricsResponse {
  podMetrics: PodSandboxMetrics[];
}
export const ListPodSandboxMetricsResponse: Message<ListPodSandboxMetricsResponse> = message('runtime.v1.ListPodSandboxMetricsResponse', () => [
  [1, 'podMetrics', PodSandboxMetrics, 'rep'],
]);

export interface StreamPodSandboxMetricsRequest {

}
export const StreamPodSandboxMetricsRequest: Message<StreamPodSandboxMetricsRequest> = message('runtime.v1.StreamPodSandboxMetricsRequest', () => [

]);

export interface StreamPodSandboxMetricsResponse {
  podSandboxMetrics: PodSandboxMetrics[];
}
export const StreamPodSandboxMetricsResponse: Message<StreamPodSandboxMetricsResponse> = message('runtime.v1.StreamPodSandboxMetricsResponse', () => [
  [1, 'podSandboxMetrics', PodSandboxMetrics, 'rep'],
]);

export interface PodSandboxMetrics {
  podSandboxId: string;
  metrics: Metric[];
  containerMetrics: ContainerMetrics[];
}
export const PodSandboxMetrics: Message<PodSandboxMetrics> = message('runtime.v1.PodSandboxMetrics', () => [
  [1, 'podSandboxId', 'string', 'one'],
  [2, 'metrics', Metric, 'rep'],
  [3, 'containerMetrics', ContainerMetrics, 'rep'],
]);

export interface ContainerMetrics {
  containerId: string;
  metrics: Metric[];
}
export const ContainerMetrics: Message<ContainerMetrics> = message('runtime.v1.ContainerMetrics', () => [
  [1, 'containerId', 'string', 'one'],
  [2, 'metrics', Metric, 'rep'],
]);

export interface Metric {
  name: string;
  timestamp: bigint;
  metricType: MetricType;
  labelValues: string[];
  value?: UInt64Value;
}
export const Metric: Message<Metric> = message('runtime.v1.Metric', () => [
  [1, 'name', 'string', 'one'],
  [2, 'timestamp', 'int64', 'one'],
  [3, 'metricType', MetricType, 'one'],
  [4, 'labelValues', 'string', 'rep'],
  [5, 'value', UInt64Value, 'opt'],
]);

export interface RuntimeConfigRequest {

}
export const RuntimeConfigRequest: Message<RuntimeConfigRequest> = message('runtime.v1.RuntimeConfigRequest', () => [

]);

export interface RuntimeConfigResponse {
  linux?: LinuxRuntimeConfiguration;
}
export const RuntimeConfigResponse: Message<RuntimeConfigResponse> = message('runtime.v1.RuntimeConfigResponse', () => [
  [1, 'linux', LinuxRuntimeConfiguration, 'opt'],
]);

export interface LinuxRuntimeConfiguration {
  cgroupDriver: CgroupDriver;
}
export const LinuxRuntimeConfiguration: Message<LinuxRuntimeConfiguration> = message('runtime.v1.LinuxRuntimeConfiguration', () => [
  [1, 'cgroupDriver', CgroupDriver, 'one'],
]);

export interface UpdatePodSandboxResourcesRequest {
  podSandboxId: string;
  overhead?: LinuxContainerResources;
  resources?: LinuxContainerResources;
}
export const UpdatePodSandboxResourcesRequest: Message<UpdatePodSandboxResourcesRequest> = message('runtime.v1.UpdatePodSandboxResourcesRequest', () => [
  [1, 'podSandboxId', 'string', 'one'],
  [2, 'overhead', LinuxContainerResources, 'opt'],
  [3, 'resources', LinuxContainerResources, 'opt'],
]);

export interface UpdatePodSandboxResourcesResponse {

}
export const UpdatePodSandboxResourcesResponse: Message<UpdatePodSandboxResourcesResponse> = message('runtime.v1.UpdatePodSandboxResourcesResponse', () => [

]);

export const RuntimeService = {
  version: method('/runtime.v1.RuntimeService/Version', VersionRequest, VersionResponse, false, false),
  runPodSandbox: method('/runtime.v1.RuntimeService/RunPodSandbox', RunPodSandboxRequest, RunPodSandboxResponse, false, false),
  stopPodSandbox: method('/runtime.v1.RuntimeService/StopPodSandbox', StopPodSandboxRequest, StopPodSandboxResponse, false, false),
  removePodSandbox: method('/runtime.v1.RuntimeService/RemovePodSandbox', RemovePodSandboxRequest, RemovePodSandboxResponse, false, false),
  podSandboxStatus: method('/runtime.v1.RuntimeService/PodSandboxStatus', PodSandboxStatusRequest, PodSandboxStatusResponse, false, false),
  listPodSandbox: method('/runtime.v1.RuntimeService/ListPodSandbox', ListPodSandboxRequest, ListPodSandboxResponse, false, false),
  streamPodSandboxes: method('/runtime.v1.RuntimeService/StreamPodSandboxes', StreamPodSandboxesRequest, StreamPodSandboxesResponse, false, true),
  createContainer: method('/runtime.v1.RuntimeService/CreateContainer', CreateContainerRequest, CreateContainerResponse, false, false),
  startContainer: method('/runtime.v1.RuntimeService/StartContainer', StartContainerRequest, StartContainerResponse, false, false),
  stopContainer: method('/runtime.v1.RuntimeService/StopContainer', StopContainerRequest, StopContainerResponse, false, false),
  removeContainer: method('/runtime.v1.RuntimeService/RemoveContainer', RemoveContainerRequest, RemoveContainerResponse, false, false),
  listContainers: method('/runtime.v1.RuntimeService/ListContainers', ListContainersRequest, ListContainersResponse, false, false),
  streamContainers: method('/runtime.v1.RuntimeService/StreamContainers', StreamContainersRequest, StreamContainersResponse, false, true),
  containerStatus: method('/runtime.v1.RuntimeService/ContainerStatus', ContainerStatusRequest, ContainerStatusResponse, false, false),
  updateContainerResources: method('/runtime.v1.RuntimeService/UpdateContainerResources', UpdateContainerResourcesRequest, UpdateContainerResourcesResponse, false, false),
  reopenContainerLog: method('/runtime.v1.RuntimeService/ReopenContainerLog', ReopenContainerLogRequest, ReopenContainerLogResponse, false, false),
  execSync: method('/runtime.v1.RuntimeService/ExecSync', ExecSyncRequest, ExecSyncResponse, false, false),
  exec: method('/runtime.v1.RuntimeService/Exec', ExecRequest, ExecResponse, false, false),
  attach: method('/runtime.v1.RuntimeService/Attach', AttachRequest, AttachResponse, false, false),
  portForward: method('/runtime.v1.RuntimeService/PortForward', PortForwardRequest, PortForwardResponse, false, false),
  containerStats: method('/runtime.v1.RuntimeService/ContainerStats', ContainerStatsRequest, ContainerStatsResponse, false, false),
  listContainerStats: method('/runtime.v1.RuntimeService/ListContainerStats', ListContainerStatsRequest, ListContainerStatsResponse, false, false),
  streamContainerStats: method('/runtime.v1.RuntimeService/StreamContainerStats', StreamContainerStatsRequest, StreamContainerStatsResponse, false, true),
  podSandboxStats: method('/runtime.v1.RuntimeService/PodSandboxStats', PodSandboxStatsRequest, PodSandboxStatsResponse, false, false),
  listPodSandboxStats: method('/runtime.v1.RuntimeService/ListPodSandboxStats', ListPodSandboxStatsRequest, ListPodSandboxStatsResponse, false, false),
  streamPodSandboxStats: method('/runtime.v1.RuntimeService/StreamPodSandboxStats', StreamPodSandboxStatsRequest, StreamPodSandboxStatsResponse, false, true),
  updateRuntimeConfig: method('/runtime.v1.RuntimeService/UpdateRuntimeConfig', UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse, false, false),
  status: method('/runtime.v1.RuntimeService/Status', StatusRequest, StatusResponse, false, false),
  checkpointContainer: method('/runtime.v1.RuntimeService/CheckpointContainer', CheckpointContainerRequest, CheckpointContainerResponse, false, false),
  checkpointPod: method('/runtime.v1.RuntimeService/CheckpointPod', CheckpointPodRequest, CheckpointPodResponse, false, false),
  restorePod: method('/runtime.v1.RuntimeService/RestorePod', RestorePodRequest, RestorePodResponse, false, false),
  getContainerEvents: method('/runtime.v1.RuntimeService/GetContainerEvents', GetEventsRequest, ContainerEventResponse, false, true),
  listMetricDescriptors: method('/runtime.v1.RuntimeService/ListMetricDescriptors', ListMetricDescriptorsRequest, ListMetricDescriptorsResponse, false, false),
  listPodSandboxMetrics: method('/runtime.v1.RuntimeService/ListPodSandboxMetrics', ListPodSandboxMetricsRequest, ListPodSandboxMetricsResponse, false, false),
  streamPodSandboxMetrics: method('/runtime.v1.RuntimeService/StreamPodSandboxMetrics', StreamPodSandboxMetricsRequest, StreamPodSandboxMetricsResponse, false, true),
  runtimeConfig: method('/runtime.v1.RuntimeService/RuntimeConfig', RuntimeConfigRequest, RuntimeConfigResponse, false, false),
  updatePodSandboxResources: method('/runtime.v1.RuntimeService/UpdatePodSandboxResources', UpdatePodSandboxResourcesRequest, UpdatePodSandboxResourcesResponse, false, false),
};

export const ImageService = {
  listImages: method('/runtime.v1.ImageService/ListImages', ListImagesRequest, ListImagesResponse, false, false),
  streamImages: method('/runtime.v1.ImageService/StreamImages', StreamImagesRequest, StreamImagesResponse, false, true),
  imageStatus: method('/runtime.v1.ImageService/ImageStatus', ImageStatusRequest, ImageStatusResponse, false, false),
  pullImage: method('/runtime.v1.ImageService/PullImage', PullImageRequest, PullImageResponse, false, false),
  removeImage: method('/runtime.v1.ImageService/RemoveImage', RemoveImageRequest, RemoveImageResponse, false, false),
  imageFsInfo: method('/runtime.v1.ImageService/ImageFsInfo', ImageFsInfoRequest, ImageFsInfoResponse, false, false),
};

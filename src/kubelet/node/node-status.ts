// Owns the making of a Node object and its status from what is known of the machine. Pure.
import type { ContainerImage, NodeCondition, NodeStatus, NodeSystemInfo, Taint } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Node } from '../../api/generated/core.v1.ts';
import { timeOf } from '../../api/time.ts';
import type { Machine } from './machine.ts';

export const kubeletVersion = 'v1.37.2';

export interface NodeIdentity {
  readonly name: string;
  readonly hostname: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly providerId?: string;
}

export interface NodeHealth {
  readonly ready: boolean;
  /** Why not ready. */
  readonly message: string;
  readonly memoryPressure: boolean;
  readonly diskPressure: boolean;
  readonly pidPressure: boolean;
}

export const healthyNode: NodeHealth = {
  ready: true,
  message: '',
  memoryPressure: false,
  diskPressure: false,
  pidPressure: false,
};

/** The labels that every kubelet sets (documentation, "Well-Known Labels"). */
export function nodeLabels(identity: NodeIdentity, architecture: string): Record<string, string> {
  return {
    'beta.kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture,
    'kubernetes.io/hostname': identity.hostname,
    'kubernetes.io/os': 'linux',
    ...identity.labels,
  };
}

/** Quantities by resource name; what is held back for the system is missing from allocatable. */
export interface NodeResources {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

const kib = (bytes: number): string => `${Math.floor(bytes / 1024)}Ki`;
/** Held back from pods before eviction begins (kubelet documentation, evictionHard defaults). */
const memoryReserveBytes = 100 * 1024 * 1024;
const diskReserve = 0.1;

export function nodeResources(machine: Machine, maxPods: number): NodeResources {
  const hugepages = [...machine.hugepages].map(
    ([size, bytes]) => [`hugepages-${size}`, bytes === 0 ? '0' : kib(bytes)] as const,
  );
  const hugeBytes = [...machine.hugepages.values()].reduce((total, bytes) => total + bytes, 0);
  return {
    capacity: {
      cpu: String(machine.cpus),
      'ephemeral-storage': kib(machine.diskBytes),
      ...Object.fromEntries(hugepages),
      memory: kib(machine.memoryBytes),
      pods: String(maxPods),
    },
    allocatable: {
      cpu: String(machine.cpus),
      'ephemeral-storage': String(Math.floor(machine.diskBytes * (1 - diskReserve))),
      ...Object.fromEntries(hugepages),
      memory: kib(Math.max(0, machine.memoryBytes - memoryReserveBytes - hugeBytes)),
      pods: String(maxPods),
    },
  };
}

export interface StatusParts {
  readonly resources: NodeResources;
  readonly machine: Machine;
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
  readonly kubeletPort: number;
  readonly runtimeVersion: string;
  readonly images: readonly ContainerImage[];
  readonly health: NodeHealth;
}

export function nodeStatus(parts: StatusParts, before: Frozen<NodeStatus> | undefined, nowMs: number): NodeStatus {
  return {
    capacity: { ...parts.resources.capacity },
    allocatable: { ...parts.resources.allocatable },
    conditions: nodeConditions(parts.health, before?.conditions ?? [], nowMs),
    addresses: parts.addresses.map((address) => ({ ...address })),
    daemonEndpoints: { kubeletEndpoint: { Port: parts.kubeletPort } },
    nodeInfo: nodeInfo(parts.machine, parts.runtimeVersion),
    images: [...parts.images],
  };
}

function nodeInfo(machine: Machine, runtimeVersion: string): NodeSystemInfo {
  return {
    machineID: machine.machineId,
    systemUUID: machine.systemUuid,
    bootID: machine.bootId,
    kernelVersion: machine.kernelVersion,
    osImage: machine.osImage,
    containerRuntimeVersion: runtimeVersion,
    kubeletVersion,
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: machine.architecture,
  };
}

function nodeConditions(health: NodeHealth, before: readonly Frozen<NodeCondition>[], nowMs: number): NodeCondition[] {
  const pressure = (type: string, on: boolean, yes: string, no: string, yesText: string, noText: string) => ({
    type,
    status: on ? 'True' : 'False',
    reason: on ? yes : no,
    message: on ? yesText : noText,
  });
  const judged = [
    pressure(
      'MemoryPressure',
      health.memoryPressure,
      'KubeletHasInsufficientMemory',
      'KubeletHasSufficientMemory',
      'kubelet has insufficient memory available',
      'kubelet has sufficient memory available',
    ),
    pressure(
      'DiskPressure',
      health.diskPressure,
      'KubeletHasDiskPressure',
      'KubeletHasNoDiskPressure',
      'kubelet has disk pressure',
      'kubelet has no disk pressure',
    ),
    pressure(
      'PIDPressure',
      health.pidPressure,
      'KubeletHasInsufficientPID',
      'KubeletHasSufficientPID',
      'kubelet has insufficient PID available',
      'kubelet has sufficient PID available',
    ),
    {
      type: 'Ready',
      status: health.ready ? 'True' : 'False',
      reason: health.ready ? 'KubeletReady' : 'KubeletNotReady',
      message: health.ready ? 'kubelet is posting ready status' : health.message,
    },
  ];
  return judged.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    return {
      type: condition.type,
      status: condition.status,
      lastHeartbeatTime: timeOf(nowMs),
      lastTransitionTime: old?.status === condition.status ? old.lastTransitionTime! : timeOf(nowMs),
      reason: condition.reason,
      message: condition.message,
    };
  });
}

/** A node as it is created; the status comes with it. */
export function newNode(
  identity: NodeIdentity,
  status: NodeStatus,
  architecture: string,
): Omit<Node, 'metadata'> & { metadata: Partial<Node['metadata']> } {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: identity.name,
      labels: nodeLabels(identity, architecture),
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    spec: {
      ...(identity.providerId !== undefined && { providerID: identity.providerId }),
      ...(identity.taints.length > 0 && { taints: identity.taints.map((taint) => ({ ...taint })) }),
    },
    status,
  };
}

/** What differs of a status, as a strategic merge patch; undefined when only heartbeats do. */
export function nodeStatusPatch(
  before: Frozen<NodeStatus> | undefined,
  next: NodeStatus,
  heartbeat: boolean,
): { status: Record<string, unknown> } | undefined {
  const status: Record<string, unknown> = {};
  for (const name of ['capacity', 'allocatable', 'daemonEndpoints', 'nodeInfo', 'images'] as const)
    if (canonicalText(before?.[name]) !== canonicalText(next[name])) status[name] = next[name];
  if (canonicalText(before?.addresses) !== canonicalText(next.addresses))
    status['addresses'] = before?.addresses?.length
      ? [...(next.addresses ?? []), { $patch: 'replace' }]
      : next.addresses;
  const changed = (next.conditions ?? []).filter((condition) => {
    const old = before?.conditions?.find(({ type }) => type === condition.type);
    return (
      heartbeat ||
      old?.status !== condition.status ||
      old.reason !== condition.reason ||
      old.message !== condition.message
    );
  });
  if (changed.length > 0) status['conditions'] = changed;
  return Object.keys(status).length === 0 ? undefined : { status };
}

function canonicalText(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? ''
  );
}

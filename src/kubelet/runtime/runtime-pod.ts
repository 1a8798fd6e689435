// Owns what the kubelet knows of a pod's sandboxes and containers in the runtime, in the kubelet's own words. Pure.
import type {
  Container as CriContainer,
  ContainerStatus as CriContainerStatus,
  PodSandbox,
  PodSandboxStatus,
} from '../../wire/generated/cri-runtime-v1.ts';

/** Labels and annotations on the runtime's objects: upstream's names, so that either kubelet takes over the other's containers. */
export const runtimeLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

export const runtimeAnnotations = {
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  podGrace: 'io.kubernetes.pod.terminationGracePeriod',
  resources: 'k8ts.io/container.resources',
} as const;

export interface RuntimeContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  /** How often this container was restarted before this instance. */
  readonly attempt: number;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly createdAtMs: number;
  /** 0: not started. */
  readonly startedAtMs: number;
  /** 0: not finished. */
  readonly finishedAtMs: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  readonly image: string;
  readonly imageId: string;
  readonly hash: string;
  readonly logPath: string;
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
}

export interface RuntimeSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  readonly ips: readonly string[];
}

export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandbox[];
  /** Newest first. */
  readonly containers: readonly RuntimeContainer[];
}

export function emptyRuntimePod(uid: string, name: string, namespace: string): RuntimePod {
  return { uid, name, namespace, sandboxes: [], containers: [] };
}

export function newest(pod: RuntimePod, name: string): RuntimeContainer | undefined {
  return pod.containers.find((container) => container.name === name);
}

const states = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
} as const;

const milliseconds = (nanoseconds: bigint): number => Number(nanoseconds / 1_000_000n);

export function stateOf(container: CriContainer): RuntimeContainer['state'] {
  return states[container.state] ?? 'unknown';
}

/** `message`: what the container left in its termination message file, or the runtime's own words. */
export function runtimeContainer(status: CriContainerStatus, sandboxId: string, message: string): RuntimeContainer {
  const user = status.user?.linux;
  return {
    id: status.id,
    name: status.labels[runtimeLabels.containerName] ?? status.metadata?.name ?? '',
    sandboxId,
    attempt: Number(status.annotations[runtimeAnnotations.restartCount] ?? status.metadata?.attempt ?? 0),
    state: states[status.state] ?? 'unknown',
    createdAtMs: milliseconds(status.createdAt),
    startedAtMs: milliseconds(status.startedAt),
    finishedAtMs: milliseconds(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message,
    image: status.image?.userSpecifiedImage || status.image?.image || '',
    imageId: status.imageRef,
    hash: status.annotations[runtimeAnnotations.hash] ?? '',
    logPath: status.logPath,
    ...(user && {
      user: {
        uid: Number(user.uid),
        gid: Number(user.gid),
        supplementalGroups: user.supplementalGroups.map(Number),
      },
    }),
  };
}

export function runtimeSandbox(sandbox: PodSandbox, status: PodSandboxStatus | undefined): RuntimeSandbox {
  const network = status?.network;
  return {
    id: sandbox.id,
    attempt: sandbox.metadata?.attempt ?? 0,
    ready: sandbox.state === 'SANDBOX_READY',
    createdAtMs: milliseconds(sandbox.createdAt),
    ips: network?.ip ? [network.ip, ...network.additionalIps.map(({ ip }) => ip)] : [],
  };
}

export const newestFirst = (
  a: { readonly createdAtMs: number; readonly attempt: number },
  b: { readonly createdAtMs: number; readonly attempt: number },
): number => b.createdAtMs - a.createdAtMs || b.attempt - a.attempt;

// Owns the translation of a container's spec into CRI's container configuration. Pure.
import type { ContainerConfig, LinuxContainerResources, Mount } from '../../wire/generated/cri-runtime-v1.ts';
import type { Init } from '../../wire/protobuf.ts';
import { expand } from '../pod/expand.ts';
import { containerHash, type FrozenContainer, type FrozenPod } from '../pod/pod-words.ts';
import { cpuPeriodUs, cpuQuotaUs, cpuShares, oomScore } from '../pod/qos.ts';
import { amount, milliAmount } from '../pod/quantities.ts';
import { runtimeAnnotations, runtimeLabels } from './runtime-pod.ts';
import { containerSecurity, type ImageUser } from './security.ts';

export interface ContainerSettings {
  readonly attempt: number;
  /** The image's id, as the runtime knows it. */
  readonly imageId: string;
  readonly imageUser: ImageUser;
  readonly env: ReadonlyMap<string, string>;
  readonly mounts: readonly Init<Mount>[];
  readonly devices: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  /** Relative to the sandbox's log directory. */
  readonly logPath: string;
  readonly memoryCapacityBytes: number;
  readonly hugepageSizes: readonly string[];
  readonly seccompFolder: string;
  /** For an ephemeral container: whose processes it sees. */
  readonly targetId?: string;
}

export function containerConfig(
  pod: FrozenPod,
  container: FrozenContainer,
  settings: ContainerSettings,
): Init<ContainerConfig> {
  const value = (name: string): string | undefined => settings.env.get(name);
  return {
    metadata: { name: container.name, attempt: settings.attempt },
    image: { image: settings.imageId, userSpecifiedImage: container.image ?? '' },
    command: (container.command ?? []).map((text) => expand(text, value)),
    args: (container.args ?? []).map((text) => expand(text, value)),
    workingDir: container.workingDir ?? '',
    envs: [...settings.env].map(([key, text]) => ({ key, value: Buffer.from(text) })),
    mounts: settings.mounts,
    devices: settings.devices,
    labels: {
      [runtimeLabels.podName]: pod.metadata.name,
      [runtimeLabels.podNamespace]: pod.metadata.namespace ?? '',
      [runtimeLabels.podUid]: pod.metadata.uid,
      [runtimeLabels.containerName]: container.name,
    },
    annotations: {
      [runtimeAnnotations.hash]: containerHash(container),
      [runtimeAnnotations.restartCount]: String(settings.attempt),
      [runtimeAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '/dev/termination-log',
      [runtimeAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? 'File',
      [runtimeAnnotations.podGrace]: String(pod.spec.terminationGracePeriodSeconds ?? 30),
    },
    logPath: settings.logPath,
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux: {
      resources: linuxResources(pod, container, settings.memoryCapacityBytes, settings.hugepageSizes),
      securityContext: containerSecurity(pod, container, settings.imageUser, {
        seccompFolder: settings.seccompFolder,
        ...(settings.targetId !== undefined && { targetId: settings.targetId }),
      }),
    },
  };
}

export function linuxResources(
  pod: FrozenPod,
  container: FrozenContainer,
  memoryCapacityBytes: number,
  hugepageSizes: readonly string[],
): Init<LinuxContainerResources> {
  const { requests, limits } = container.resources ?? {};
  const requested = requests?.['cpu'] ?? limits?.['cpu'];
  const memoryRequest = amount(requests?.['memory'] ?? limits?.['memory']);
  return {
    cpuPeriod: cpuPeriodUs,
    cpuQuota: cpuQuotaUs(milliAmount(limits?.['cpu'] ?? pod.spec.resources?.limits?.['cpu'])),
    cpuShares: cpuShares(milliAmount(requested)),
    memoryLimitInBytes: Math.ceil(amount(limits?.['memory'] ?? pod.spec.resources?.limits?.['memory'])),
    oomScoreAdj: oomScore(pod, memoryRequest, memoryCapacityBytes),
    hugepageLimits: hugepageSizes.map((pageSize) => ({
      pageSize: `${pageSize}B`,
      limit: Math.ceil(amount(limits?.[`hugepages-${pageSize}`])),
    })),
  };
}

// Owns the translation of a pod's spec into CRI's sandbox configuration. Pure.
import type { LinuxSandboxSecurityContext, PodSandboxConfig } from '../../wire/generated/cri-runtime-v1.ts';
import type { Init } from '../../wire/protobuf.ts';
import type { DnsConfig } from '../pod/network-files.ts';
import type { FrozenPod } from '../pod/pod-words.ts';
import { runtimeLabels } from './runtime-pod.ts';
import { namespaceOptions, seccompOf } from './security.ts';

export interface SandboxSettings {
  readonly attempt: number;
  readonly hostname: string;
  readonly dns: DnsConfig;
  readonly logDirectory: string;
  readonly cgroupParent: string;
}

export function sandboxConfig(pod: FrozenPod, settings: SandboxSettings): Init<PodSandboxConfig> {
  const { metadata, spec } = pod;
  return {
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace ?? '',
      uid: metadata.uid,
      attempt: settings.attempt,
    },
    // The host's own name needs no setting, and setting it would rename the host.
    hostname: spec.hostNetwork && spec.hostnameOverride === undefined ? '' : settings.hostname,
    logDirectory: settings.logDirectory,
    dnsConfig: settings.dns,
    portMappings: spec.hostNetwork ? [] : portMappings(pod),
    labels: {
      ...metadata.labels,
      [runtimeLabels.podName]: metadata.name,
      [runtimeLabels.podNamespace]: metadata.namespace ?? '',
      [runtimeLabels.podUid]: metadata.uid,
    },
    annotations: { ...metadata.annotations },
    linux: {
      cgroupParent: settings.cgroupParent,
      sysctls: Object.fromEntries((spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value])),
      securityContext: sandboxSecurity(pod),
    },
  };
}

function portMappings(pod: FrozenPod): Init<PodSandboxConfig>['portMappings'] {
  return [
    ...(pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
    ...pod.spec.containers,
  ]
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort }) => (hostPort ?? 0) > 0)
    .map(({ containerPort, hostPort, hostIP, protocol }) => ({
      containerPort,
      hostPort: hostPort!,
      hostIp: hostIP ?? '',
      protocol: (protocol ?? 'TCP') as 'TCP' | 'UDP' | 'SCTP',
    }));
}

function sandboxSecurity(pod: FrozenPod): Init<LinuxSandboxSecurityContext> {
  const context = pod.spec.securityContext;
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return {
    privileged: all.some(({ securityContext }) => securityContext?.privileged === true),
    namespaceOptions: namespaceOptions(pod),
    ...(context?.runAsUser !== undefined && { runAsUser: { value: context.runAsUser } }),
    ...(context?.runAsUser !== undefined &&
      context.runAsGroup !== undefined && { runAsGroup: { value: context.runAsGroup } }),
    supplementalGroups: [
      ...(context?.fsGroup === undefined ? [] : [context.fsGroup]),
      ...(context?.supplementalGroups ?? []),
    ],
    seccomp: context?.seccompProfile ? seccompOf(context.seccompProfile) : { profileType: 'RuntimeDefault' },
  };
}

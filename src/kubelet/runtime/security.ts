// Owns the translation of security contexts into CRI's. Pure.
import type { AppArmorProfile, SeccompProfile } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type {
  LinuxContainerSecurityContext,
  NamespaceOption,
  SecurityProfile,
} from '../../wire/generated/cri-runtime-v1.ts';
import type { Init } from '../../wire/protobuf.ts';
import { ConfigError } from '../pod/config-error.ts';
import type { FrozenContainer, FrozenPod } from '../pod/pod-words.ts';

export function namespaceOptions(pod: FrozenPod, targetId?: string): Init<NamespaceOption> {
  const { spec } = pod;
  const own = spec.hostPID ? 'NODE' : spec.shareProcessNamespace ? 'POD' : 'CONTAINER';
  return {
    network: spec.hostNetwork ? 'NODE' : 'POD',
    ipc: spec.hostIPC ? 'NODE' : 'POD',
    pid: targetId === undefined ? own : 'TARGET',
    ...(targetId !== undefined && { targetId }),
  };
}

/** Where localhost seccomp profiles lie, relative to the kubelet's root. */
export function seccompOf(profile: Frozen<SeccompProfile>, folder = '/var/lib/kubelet/seccomp'): Init<SecurityProfile> {
  if (profile.type === 'Localhost')
    return { profileType: 'Localhost', localhostRef: `${folder}/${profile.localhostProfile ?? ''}` };
  return { profileType: profile.type === 'RuntimeDefault' ? 'RuntimeDefault' : 'Unconfined' };
}

function appArmorOf(profile: Frozen<AppArmorProfile>): Init<SecurityProfile> {
  if (profile.type === 'Localhost') return { profileType: 'Localhost', localhostRef: profile.localhostProfile ?? '' };
  return { profileType: profile.type === 'RuntimeDefault' ? 'RuntimeDefault' : 'Unconfined' };
}

/** Paths that a container must not see or not write unless its procMount is Unmasked; runtimes' common lists. */
const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

export interface ImageUser {
  readonly uid: number | undefined;
  readonly username: string;
}

/** Throws ConfigError when the container must not run as root and would, or cannot be shown not to. */
export function containerSecurity(
  pod: FrozenPod,
  container: FrozenContainer,
  imageUser: ImageUser,
  options: { readonly targetId?: string; readonly seccompFolder: string },
): Init<LinuxContainerSecurityContext> {
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const user = own?.runAsUser ?? shared?.runAsUser;
  const group = own?.runAsGroup ?? shared?.runAsGroup;
  if (own?.runAsNonRoot ?? shared?.runAsNonRoot) refuseRoot(container, user, imageUser);
  const privileged = own?.privileged === true;
  const seccomp = own?.seccompProfile ?? shared?.seccompProfile;
  const appArmor = own?.appArmorProfile ?? shared?.appArmorProfile;
  const seLinux = own?.seLinuxOptions ?? shared?.seLinuxOptions;
  return {
    privileged,
    namespaceOptions: namespaceOptions(pod, options.targetId),
    ...(user !== undefined ? { runAsUser: { value: user } } : imageUserOf(imageUser)),
    // CRI takes a group only beside a user.
    ...(group !== undefined && { runAsGroup: { value: group } }),
    supplementalGroups: [
      ...(shared?.fsGroup === undefined ? [] : [shared.fsGroup]),
      ...(shared?.supplementalGroups ?? []),
    ],
    supplementalGroupsPolicy: shared?.supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge',
    readonlyRootfs: own?.readOnlyRootFilesystem === true,
    noNewPrivs: own?.allowPrivilegeEscalation === false && !privileged,
    capabilities: {
      addCapabilities: (own?.capabilities?.add ?? []).map(capability),
      dropCapabilities: (own?.capabilities?.drop ?? []).map(capability),
    },
    ...(seLinux && {
      selinuxOptions: {
        user: seLinux.user ?? '',
        role: seLinux.role ?? '',
        type: seLinux.type ?? '',
        level: seLinux.level ?? '',
      },
    }),
    seccomp: seccomp ? seccompOf(seccomp, options.seccompFolder) : { profileType: 'Unconfined' },
    ...(appArmor && { apparmor: appArmorOf(appArmor) }),
    ...(!privileged && own?.procMount !== 'Unmasked' && { maskedPaths, readonlyPaths }),
  };
}

function capability(name: string): string {
  return name.replace(/^CAP_/i, '').toUpperCase();
}

function imageUserOf({ uid, username }: ImageUser): Init<LinuxContainerSecurityContext> {
  if (uid !== undefined) return { runAsUser: { value: uid } };
  return username === '' ? {} : { runAsUsername: username };
}

function refuseRoot(container: FrozenContainer, user: number | undefined, image: ImageUser): void {
  const uid = user ?? image.uid;
  if (uid === undefined && image.username !== '')
    throw new ConfigError(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root (container: ${container.name})`,
    );
  if ((uid ?? 0) === 0)
    throw new ConfigError(
      `container has runAsNonRoot and ${user === undefined ? 'image will run as root' : "container's runAsUser breaks non-root policy"} (container: ${container.name})`,
    );
}

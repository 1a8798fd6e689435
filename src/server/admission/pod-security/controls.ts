// Owns the controls of the Pod Security Standards: for each, since which minor version it holds and what of a pod violates it. Pure.
import type { Container, EphemeralContainer, PodSpec, SecurityContext } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';

export type PodView = {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Frozen<PodSpec>;
};

export interface Control {
  readonly id: string;
  readonly level: 'baseline' | 'restricted';
  /** The restricted control that takes this one's place. */
  readonly replacedBy?: string;
  /** Oldest first; the last whose `since` (minor of 1.x) is not beyond the policy's version holds. Answers with what is wrong. */
  readonly rules: readonly { readonly since: number; readonly check: (pod: PodView) => string | undefined }[];
}

type AnyContainer = Frozen<Container> | Frozen<EphemeralContainer>;

function containers({ spec }: PodView): AnyContainer[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

function named(what: string, found: readonly string[]): string | undefined {
  return found.length === 0 ? undefined : `${what} (${found.join('; ')})`;
}

function offenders(
  pod: PodView,
  why: (context: Frozen<SecurityContext>, container: AnyContainer) => string | undefined,
) {
  const found: string[] = [];
  for (const container of containers(pod)) {
    const text = why(container.securityContext ?? {}, container);
    if (text !== undefined) found.push(`container "${container.name}" ${text}`);
  }
  return found;
}

const isWindows = ({ spec }: PodView): boolean => spec.os?.name === 'windows';
const hasUserNamespace = ({ spec }: PodView): boolean => spec.hostUsers === false;

function hostProcess(pod: PodView): string | undefined {
  const found = offenders(pod, ({ windowsOptions }) =>
    windowsOptions?.hostProcess === true ? 'sets windowsOptions.hostProcess=true' : undefined,
  );
  if (pod.spec.securityContext?.windowsOptions?.hostProcess === true)
    found.unshift('pod sets windowsOptions.hostProcess=true');
  return named('hostProcess', found);
}

function hostNamespaces({ spec }: PodView): string | undefined {
  return named(
    'host namespaces',
    (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field] === true).map((f) => `${f}=true`),
  );
}

function privileged(pod: PodView): string | undefined {
  return named(
    'privileged',
    offenders(pod, (context) => (context.privileged === true ? 'sets privileged=true' : undefined)),
  );
}

const baselineCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

function baselineCapability(pod: PodView): string | undefined {
  return named(
    'non-default capabilities',
    offenders(pod, ({ capabilities }) => {
      const extra = (capabilities?.add ?? []).filter((name) => !baselineCapabilities.has(name));
      return extra.length === 0 ? undefined : `adds ${extra.join(', ')}`;
    }),
  );
}

function hostPath({ spec }: PodView): string | undefined {
  const found = (spec.volumes ?? []).filter((volume) => volume.hostPath !== undefined).map(({ name }) => name);
  return named('hostPath volumes', found);
}

function hostPorts(pod: PodView): string | undefined {
  return named(
    'hostPort',
    offenders(pod, (_context, container) => {
      const ports = (container.ports ?? []).filter(({ hostPort }) => (hostPort ?? 0) !== 0);
      return ports.length === 0 ? undefined : `uses ${ports.map(({ hostPort }) => hostPort).join(', ')}`;
    }),
  );
}

function hostProbes(pod: PodView): string | undefined {
  return named(
    'probe or lifecycle host',
    offenders(pod, (_context, container) => {
      const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
      const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.preStop, lifecycle?.postStart];
      const hosts = handlers.flatMap((handler) =>
        [handler?.httpGet?.host, handler?.tcpSocket?.host].filter((host) => (host ?? '') !== ''),
      );
      return hosts.length === 0 ? undefined : `names ${hosts.join(', ')}`;
    }),
  );
}

const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';

function appArmor(pod: PodView): string | undefined {
  const bad = (type: string | undefined): boolean => type === 'Unconfined';
  const found = offenders(pod, ({ appArmorProfile }) =>
    bad(appArmorProfile?.type) ? 'sets appArmorProfile.type=Unconfined' : undefined,
  );
  if (bad(pod.spec.securityContext?.appArmorProfile?.type)) found.unshift('pod sets appArmorProfile.type=Unconfined');
  for (const [key, value] of Object.entries(pod.annotations))
    if (
      key.startsWith(appArmorPrefix) &&
      value !== '' &&
      value !== 'runtime/default' &&
      !value.startsWith('localhost/')
    )
      found.push(`annotation ${key}="${value}"`);
  return named('forbidden AppArmor profile', found);
}

function seLinux(types: ReadonlySet<string>) {
  return (pod: PodView): string | undefined => {
    const why = (options: { readonly type?: string; readonly user?: string; readonly role?: string } | undefined) => {
      if (options === undefined) return undefined;
      if (!types.has(options.type ?? '')) return `sets seLinuxOptions.type=${options.type}`;
      return (options.user ?? '') !== '' || (options.role ?? '') !== ''
        ? 'sets seLinuxOptions.user or role'
        : undefined;
    };
    const found = offenders(pod, ({ seLinuxOptions }) => why(seLinuxOptions));
    const own = why(pod.spec.securityContext?.seLinuxOptions);
    if (own !== undefined) found.unshift(`pod ${own}`);
    return named('seLinuxOptions', found);
  };
}

const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

function procMount(pod: PodView): string | undefined {
  return named(
    'procMount',
    offenders(pod, (context) =>
      context.procMount !== undefined && context.procMount !== 'Default' ? `sets ${context.procMount}` : undefined,
    ),
  );
}

const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/';

function seccompAnnotations(pod: PodView): string | undefined {
  const found = Object.entries(pod.annotations)
    .filter(([key, value]) => (key === seccompPod || key.startsWith(seccompContainer)) && value === 'unconfined')
    .map(([key]) => `annotation ${key}`);
  return named('seccompProfile', found);
}

function seccompBaseline(pod: PodView): string | undefined {
  const found = offenders(pod, ({ seccompProfile }) =>
    seccompProfile?.type === 'Unconfined' ? 'sets seccompProfile.type=Unconfined' : undefined,
  );
  if (pod.spec.securityContext?.seccompProfile?.type === 'Unconfined')
    found.unshift('pod sets seccompProfile.type=Unconfined');
  return named('seccompProfile', found);
}

function sysctls(allowed: readonly string[]) {
  const names = new Set(allowed);
  return ({ spec }: PodView): string | undefined =>
    named(
      'forbidden sysctls',
      (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !names.has(name)),
    );
}

const sysctls0 = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];
const sysctls27 = [...sysctls0, 'net.ipv4.ip_local_reserved_ports'];
const sysctls29 = [
  ...sysctls27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
];
const sysctls32 = [...sysctls29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];

const volumeTypes: readonly string[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

function restrictedVolumes({ spec }: PodView): string | undefined {
  const found = (spec.volumes ?? []).filter(
    (volume) => !volumeTypes.some((type) => (volume as unknown as Record<string, unknown>)[type] !== undefined),
  );
  return named(
    'restricted volume types',
    found.map(({ name }) => name),
  );
}

function privilegeEscalation(pod: PodView): string | undefined {
  return named(
    'allowPrivilegeEscalation != false',
    offenders(pod, (context) =>
      context.allowPrivilegeEscalation === false ? undefined : 'must set allowPrivilegeEscalation=false',
    ),
  );
}

function runAsNonRoot(pod: PodView): string | undefined {
  const own = pod.spec.securityContext?.runAsNonRoot;
  const found = offenders(pod, (context) => {
    if (context.runAsNonRoot === true) return undefined;
    if (context.runAsNonRoot === undefined && own === true) return undefined;
    return 'must set runAsNonRoot=true';
  });
  if (own === false) found.unshift('pod must not set runAsNonRoot=false');
  return named('runAsNonRoot != true', found);
}

function runAsUser(pod: PodView): string | undefined {
  const found = offenders(pod, (context) => (context.runAsUser === 0 ? 'sets runAsUser=0' : undefined));
  if (pod.spec.securityContext?.runAsUser === 0) found.unshift('pod sets runAsUser=0');
  return named('runAsUser=0', found);
}

function seccompRestricted(pod: PodView): string | undefined {
  const own = pod.spec.securityContext?.seccompProfile?.type;
  const isGood = (type: string | undefined): boolean => type === 'RuntimeDefault' || type === 'Localhost';
  const found = offenders(pod, ({ seccompProfile }) => {
    if (isGood(seccompProfile?.type)) return undefined;
    if (seccompProfile?.type === undefined && isGood(own)) return undefined;
    return 'must set seccompProfile.type to RuntimeDefault or Localhost';
  });
  if (own !== undefined && !isGood(own)) found.unshift(`pod sets seccompProfile.type=${own}`);
  return named('seccompProfile', found);
}

function capabilitiesRestricted(pod: PodView): string | undefined {
  return named(
    'unrestricted capabilities',
    offenders(pod, ({ capabilities }) => {
      const extra = (capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE');
      if (capabilities?.drop?.includes('ALL') !== true) return 'must drop ALL';
      return extra.length === 0 ? undefined : `adds ${extra.join(', ')}`;
    }),
  );
}

const always = (check: (pod: PodView) => string | undefined) => [{ since: 0, check }];
const unless =
  (exempt: (pod: PodView) => boolean, check: (pod: PodView) => string | undefined) =>
  (pod: PodView): string | undefined =>
    exempt(pod) ? undefined : check(pod);

export const controls: readonly Control[] = [
  {
    id: 'allowPrivilegeEscalation',
    level: 'restricted',
    rules: [
      { since: 8, check: privilegeEscalation },
      { since: 25, check: unless(isWindows, privilegeEscalation) },
    ],
  },
  { id: 'appArmorProfile', level: 'baseline', rules: always(appArmor) },
  {
    id: 'capabilities_baseline',
    level: 'baseline',
    replacedBy: 'capabilities_restricted',
    rules: always(baselineCapability),
  },
  {
    id: 'capabilities_restricted',
    level: 'restricted',
    rules: [
      { since: 22, check: capabilitiesRestricted },
      { since: 25, check: unless(isWindows, capabilitiesRestricted) },
    ],
  },
  { id: 'hostNamespaces', level: 'baseline', rules: always(hostNamespaces) },
  { id: 'hostPathVolumes', level: 'baseline', replacedBy: 'restrictedVolumes', rules: always(hostPath) },
  { id: 'hostPorts', level: 'baseline', rules: always(hostPorts) },
  { id: 'hostProbesAndHostLifecycle', level: 'baseline', rules: [{ since: 34, check: hostProbes }] },
  { id: 'privileged', level: 'baseline', rules: always(privileged) },
  {
    id: 'procMount',
    level: 'baseline',
    rules: [
      { since: 0, check: procMount },
      { since: 35, check: unless(hasUserNamespace, procMount) },
    ],
  },
  // A user namespace changes nothing for restricted: the mount must be the default one.
  { id: 'procMount_restricted', level: 'restricted', rules: [{ since: 35, check: procMount }] },
  { id: 'restrictedVolumes', level: 'restricted', rules: always(restrictedVolumes) },
  {
    id: 'runAsNonRoot',
    level: 'restricted',
    rules: [
      { since: 0, check: runAsNonRoot },
      { since: 35, check: unless(hasUserNamespace, runAsNonRoot) },
    ],
  },
  {
    id: 'runAsUser',
    level: 'restricted',
    rules: [
      { since: 23, check: runAsUser },
      { since: 35, check: unless(hasUserNamespace, runAsUser) },
    ],
  },
  {
    id: 'seLinuxOptions',
    level: 'baseline',
    rules: [
      { since: 0, check: seLinux(new Set(seLinuxTypes)) },
      { since: 31, check: seLinux(new Set([...seLinuxTypes, 'container_engine_t'])) },
    ],
  },
  {
    id: 'seccompProfile_baseline',
    level: 'baseline',
    replacedBy: 'seccompProfile_restricted',
    rules: [
      { since: 0, check: seccompAnnotations },
      { since: 19, check: seccompBaseline },
    ],
  },
  {
    id: 'seccompProfile_restricted',
    level: 'restricted',
    rules: [
      { since: 19, check: seccompRestricted },
      { since: 25, check: unless(isWindows, seccompRestricted) },
    ],
  },
  {
    id: 'sysctls',
    level: 'baseline',
    rules: [
      { since: 0, check: sysctls(sysctls0) },
      { since: 27, check: sysctls(sysctls27) },
      { since: 29, check: sysctls(sysctls29) },
      { since: 32, check: sysctls(sysctls32) },
    ],
  },
  { id: 'windowsHostProcess', level: 'baseline', rules: always(hostProcess) },
];

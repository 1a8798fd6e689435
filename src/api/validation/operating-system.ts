// Owns what a pod may not say given its operating system, and the rules of Windows host processes.
import type { Container, EphemeralContainer, PodSpec } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import type { Problems } from './problems.ts';

export type AnyContainer = Frozen<Container | EphemeralContainer>;

/** All containers with their paths: init, regular, ephemeral. */
export function* containersOf(path: string, spec: Frozen<PodSpec>): Generator<readonly [path: string, AnyContainer]> {
  for (const field of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    const list = spec[field] ?? [];
    for (let at = 0; at < list.length; at++) yield [`${path}.${field}[${at}]`, list[at]!];
  }
}

export function validateOperatingSystem(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  if (spec.os === undefined) return;
  const name = spec.os.name ?? '';
  if (name === '') problems.required(`${path}.os.name`, 'cannot be empty');
  else if (name === 'linux') validateLinux(problems, path, spec);
  else if (name === 'windows') validateWindows(problems, path, spec);
  else problems.notSupported(`${path}.os`, name, ['linux', 'windows']);
}

function validateLinux(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  const detail = 'windows options cannot be set for a linux pod';
  if (spec.securityContext?.windowsOptions !== undefined)
    problems.forbidden(`${path}.securityContext.windowsOptions`, detail);
  for (const [here, container] of containersOf(path, spec))
    if (container.securityContext?.windowsOptions !== undefined)
      problems.forbidden(`${here}.securityContext.windowsOptions`, detail);
}

/** Looked at in this order; those with a dot stand in the pod's security context. */
const notForWindowsPods = [
  'securityContext.appArmorProfile',
  'securityContext.seLinuxOptions',
  'securityContext.seccompProfile',
  'securityContext.fsGroup',
  'securityContext.fsGroupChangePolicy',
  'securityContext.sysctls',
  'securityContext.runAsUser',
  'securityContext.runAsGroup',
  'securityContext.supplementalGroups',
  'securityContext.supplementalGroupsPolicy',
  'securityContext.seLinuxChangePolicy',
  'hostUsers',
  'hostPID',
  'hostIPC',
  'shareProcessNamespace',
] as const;

const notForWindowsContainers = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

function validateWindows(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  const detail = 'cannot be set for a windows pod';
  const context: Readonly<Record<string, unknown>> = { ...spec.securityContext };
  const top: Readonly<Record<string, unknown>> = { ...spec };
  for (const field of notForWindowsPods) {
    const value = field.startsWith('securityContext.') ? context[field.slice('securityContext.'.length)] : top[field];
    const plain = field === 'hostPID' || field === 'hostIPC';
    const empty = field === 'securityContext.sysctls' && (value as readonly unknown[] | undefined)?.length === 0;
    if (value !== undefined && !(plain && value === false) && !empty) problems.forbidden(`${path}.${field}`, detail);
  }
  for (const [here, container] of containersOf(path, spec)) {
    const own: Readonly<Record<string, unknown>> = { ...container.securityContext };
    for (const field of notForWindowsContainers)
      if (own[field] !== undefined) problems.forbidden(`${here}.securityContext.${field}`, detail);
  }
}

/** Host processes: all containers or none, and only in the host's network. */
export function validateHostProcesses(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  const podWide = spec.securityContext?.windowsOptions?.hostProcess;
  let containers = 0;
  let hostProcesses = 0;
  for (const [here, container] of containersOf(path, spec)) {
    containers++;
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (podWide !== undefined && own !== undefined && podWide !== own)
      problems.invalid(
        `${here}.securityContext.windowsOptions.hostProcess`,
        own,
        'pod hostProcess value must be identical if both are specified',
      );
    if (own ?? podWide) hostProcesses++;
  }
  if (hostProcesses === 0) return;
  if (hostProcesses !== containers)
    problems.invalid(path, '', 'if a pod contains any hostProcess container, all its containers must be so');
  if (!spec.hostNetwork)
    problems.invalid(`${path}.hostNetwork`, false, 'must be true if the pod contains any hostProcess containers');
}

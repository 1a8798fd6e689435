// Owns the validation of security contexts of pods and of containers, and of the profiles that they name.
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  WindowsSecurityContextOptions,
} from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { dnsSubdomain } from '../names.ts';
import { posixId } from './formats.ts';
import { validateDescendingPath } from './paths.ts';
import type { Problems } from './problems.ts';
import { validateRunAsUserName } from './windows-user.ts';

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

export function validateSecurityContext(
  problems: Problems,
  path: string,
  context: Frozen<SecurityContext> | undefined,
  hostUsers: boolean,
): void {
  if (context === undefined) return;
  if (context.runAsUser !== undefined)
    problems.each(`${path}.runAsUser`, context.runAsUser, posixId(context.runAsUser));
  if (context.runAsGroup !== undefined)
    problems.each(`${path}.runAsGroup`, context.runAsGroup, posixId(context.runAsGroup));
  if (context.procMount !== undefined) {
    problems.optionalOneOf(`${path}.procMount`, context.procMount, ['Default', 'Unmasked']);
    if (hostUsers && context.procMount === 'Unmasked')
      problems.invalid(`${path}.procMount`, context.procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  validateSeccompProfile(problems, `${path}.seccompProfile`, context.seccompProfile);
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged)
      problems.invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
    for (const capability of context.capabilities?.add ?? [])
      if (capability === 'CAP_SYS_ADMIN')
        problems.invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and add CAP_SYS_ADMIN');
  }
  validateWindowsOptions(problems, `${path}.windowsOptions`, context.windowsOptions);
  validateAppArmorProfile(problems, `${path}.appArmorProfile`, context.appArmorProfile);
}

export function validatePodSecurityContext(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  const context = spec.securityContext;
  if (context === undefined) return;
  for (const field of ['fsGroup', 'runAsUser', 'runAsGroup'] as const)
    if (context[field] !== undefined) problems.each(`${path}.${field}`, context[field], posixId(context[field]));
  context.supplementalGroups?.forEach((group, at) =>
    problems.each(`${path}.supplementalGroups[${at}]`, group, posixId(group)),
  );
  validateSysctls(problems, `${path}.sysctls`, context, spec);
  problems.optionalOneOf(`${path}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  validateSeccompProfile(problems, `${path}.seccompProfile`, context.seccompProfile);
  validateWindowsOptions(problems, `${path}.windowsOptions`, context.windowsOptions);
  validateAppArmorProfile(problems, `${path}.appArmorProfile`, context.appArmorProfile);
  problems.optionalOneOf(`${path}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  problems.optionalOneOf(`${path}.seLinuxChangePolicy`, context.seLinuxChangePolicy, ['MountOption', 'Recursive']);
  if (spec.shareProcessNamespace && spec.hostPID)
    problems.invalid(
      `${path.replace(/securityContext$/, '')}shareProcessNamespace`,
      true,
      'ShareProcessNamespace and HostPID cannot both be enabled',
    );
}

const sysctlName = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

/** Which kernel namespace a sysctl belongs to, where it belongs to one that a pod can have. */
function sysctlNamespace(name: string): 'net' | 'ipc' | undefined {
  const dotted = dottedSysctl(name);
  if (dotted.startsWith('net.')) return 'net';
  return /^(kernel\.(shm|msg)|kernel\.sem$|fs\.mqueue\.)/.test(dotted) ? 'ipc' : undefined;
}

/** Names may be written with slashes, in which dots and slashes change places. */
function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (mark) => (mark === '.' ? '/' : '.'));
}

function validateSysctls(
  problems: Problems,
  path: string,
  context: Frozen<PodSecurityContext>,
  spec: Frozen<PodSpec>,
): void {
  const seen = new Set<string>();
  context.sysctls?.forEach(({ name = '' }, at) => {
    const here = `${path}[${at}].name`;
    if (name === '') problems.required(here);
    else if (name.length > 253 || !sysctlName.test(name)) problems.invalid(here, name, 'must be a sysctl name');
    else if (seen.has(name)) problems.duplicate(here, name);
    const namespace = sysctlNamespace(name);
    if (spec.hostNetwork && namespace === 'net')
      problems.invalid(here, name, "may not be specified when 'hostNetwork' is true");
    else if (spec.hostIPC && namespace === 'ipc')
      problems.invalid(here, name, "may not be specified when 'hostIPC' is true");
    seen.add(name);
  });
}

function validateSeccompProfile(problems: Problems, path: string, profile: Frozen<SeccompProfile> | undefined): void {
  if (profile === undefined) return;
  problems.oneOf(`${path}.type`, profile.type, profileTypes);
  if (profile.type !== 'Localhost') {
    if (profile.localhostProfile !== undefined)
      problems.invalid(`${path}.localhostProfile`, profile, 'can only be set when seccomp type is Localhost');
  } else if (profile.localhostProfile === undefined) {
    problems.required(`${path}.localhostProfile`, 'must be set when seccomp type is Localhost');
  } else {
    validateDescendingPath(problems, `${path}.localhostProfile`, profile.localhostProfile);
  }
}

const maxProfileLength = 4095;

function validateAppArmorProfile(problems: Problems, path: string, profile: Frozen<AppArmorProfile> | undefined): void {
  if (profile === undefined) return;
  const field = `${path}.localhostProfile`;
  const name = profile.localhostProfile;
  if (profile.type !== 'Localhost') {
    problems.oneOf(`${path}.type`, profile.type, profileTypes);
    if (profileTypes.includes(profile.type) && name !== undefined)
      problems.invalid(field, name, 'can only be set when AppArmor type is Localhost');
    return;
  }
  if (name === undefined) return problems.required(field, 'must be set when AppArmor type is Localhost');
  if (name.trim() !== name) problems.invalid(field, name, 'must not be padded with whitespace');
  else if (name === '') problems.required(field, 'must be set when AppArmor type is Localhost');
  if (name.length > maxProfileLength) problems.tooLong(field, maxProfileLength);
}

const maxCredentialSpecBytes = 64 * 1024;

function validateWindowsOptions(
  problems: Problems,
  path: string,
  options: Frozen<WindowsSecurityContextOptions> | undefined,
): void {
  if (options === undefined) return;
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options;
  if (gmsaCredentialSpecName !== undefined)
    problems.each(`${path}.gmsaCredentialSpecName`, gmsaCredentialSpecName, dnsSubdomain(gmsaCredentialSpecName));
  if (gmsaCredentialSpec === '')
    problems.invalid(`${path}.gmsaCredentialSpec`, gmsaCredentialSpec, 'cannot be an empty string');
  else if ((gmsaCredentialSpec?.length ?? 0) > maxCredentialSpecBytes)
    problems.invalid(`${path}.gmsaCredentialSpec`, '', 'size must be under 64 KiB');
  if (runAsUserName !== undefined) validateRunAsUserName(problems, `${path}.runAsUserName`, runAsUserName);
}

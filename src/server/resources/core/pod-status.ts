// Owns the validation of pods' status as nodes and controllers write it.
import type { ContainerStatus, Pod, PodSpec } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { qualifiedName, subdomainName } from '../../../api/names.ts';
import { ipAddress, ipFamily, posixId } from '../../../api/validation/formats.ts';
import type { Problems } from '../../../api/validation/problems.ts';

type Statuses = readonly Frozen<ContainerStatus>[];

const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

export function validatePodStatusChange(problems: Problems, next: Frozen<Pod>, prev: Frozen<Pod>): void {
  const after = next.status ?? {};
  const before = prev.status ?? {};
  validateConditions(problems, after.conditions);
  const nominated = after.nominatedNodeName;
  if (nominated && nominated !== before.nominatedNodeName)
    problems.each('status.nominatedNodeName', nominated, subdomainName(nominated));
  problems.notNegative('status.observedGeneration', after.observedGeneration);
  if (before.qosClass && after.qosClass !== before.qosClass)
    problems.invalid('status.qosClass', after.qosClass, 'field is immutable');
  for (const list of lists)
    validateNotRestarted(
      problems,
      `status.${list}`,
      after[list] ?? [],
      before[list] ?? [],
      restartsIn(list, prev.spec),
    );
  validateClaimStatuses(problems, next);
  validateAddresses(problems, 'status.podIPs', after.podIPs);
  if (after.hostIPs?.length && after.hostIPs[0]!.ip !== (after.hostIP ?? ''))
    problems.invalid('status.hostIPs[0].ip', after.hostIPs[0]!.ip, 'must be equal to `hostIP`');
  validateAddresses(problems, 'status.hostIPs', after.hostIPs);
  for (const list of lists) validateUsers(problems, `status.${list}`, after[list] ?? [], next.spec.os?.name ?? 'linux');
}

/** Upstream reports "Type" with a capital. */
function validateConditions(problems: Problems, conditions: Frozen<Pod>['status']['conditions']): void {
  conditions?.forEach(({ type = '', observedGeneration }, at) => {
    problems.notNegative(`status.conditions[${at}].observedGeneration`, observedGeneration);
    if (type === 'PodScheduled' || type === 'Ready' || type === 'Initialized') return;
    problems.each(`status.conditions[${at}].Type`, type, qualifiedName(type));
  });
}

/** Whether a container that ended may run again. */
function restartsIn(list: (typeof lists)[number], spec: Frozen<PodSpec>): (status: Frozen<ContainerStatus>) => boolean {
  if (list === 'ephemeralContainerStatuses') return () => false;
  return ({ name, state }) => {
    if (spec.restartPolicy === 'Always') return true;
    const containers = list === 'containerStatuses' ? spec.containers : spec.initContainers;
    const container = containers?.find((other) => other.name === name);
    if (container?.restartPolicyRules?.length) return true;
    const policy = container?.restartPolicy ?? spec.restartPolicy;
    return policy === 'Always' || (policy === 'OnFailure' && state?.terminated?.exitCode !== 0);
  };
}

function validateNotRestarted(
  problems: Problems,
  path: string,
  next: Statuses,
  prev: Statuses,
  mayRestart: (status: Frozen<ContainerStatus>) => boolean,
): void {
  prev.forEach((old, at) => {
    if (old.state?.terminated === undefined || mayRestart(old)) return;
    if (next.some(({ name, state }) => name === old.name && state?.terminated === undefined))
      problems.forbidden(`${path}[${at}].state`, 'may not be transitioned to non-terminated state');
  });
}

function validateClaimStatuses(problems: Problems, { spec, status }: Frozen<Pod>): void {
  const seen = new Set<string>();
  status?.resourceClaimStatuses?.forEach(({ name, resourceClaimName }, at) => {
    const path = `status.resourceClaimStatuses[${at}]`;
    const here = `${path}.name`;
    if (!spec.resourceClaims?.some((claim) => claim.name === name))
      problems.invalid(here, name, 'must match the name of an entry in `spec.resourceClaims`');
    if (seen.has(name)) problems.duplicate(here, name);
    seen.add(name);
    if (resourceClaimName !== undefined)
      problems.each(`${path}.resourceClaimName`, resourceClaimName, subdomainName(resourceClaimName));
  });
}

/** At most one address a family. */
function validateAddresses(problems: Problems, path: string, addresses: readonly { ip: string }[] = []): void {
  addresses.forEach(({ ip = '' }, at) => problems.each(`${path}[${at}]`, ip, ipAddress(ip)));
  if (addresses.length < 2) return;
  const families = new Set(addresses.map(({ ip }) => ipFamily(ip)));
  if (families.size < 2 || addresses.length > 2)
    problems.invalid(path, addresses, 'may specify no more than one IP for each IP family');
  const seen = new Set<string>();
  addresses.forEach(({ ip }, at) => {
    if (seen.has(ip)) problems.duplicate(`${path}[${at}]`, ip);
    seen.add(ip);
  });
}

function validateUsers(problems: Problems, path: string, statuses: Statuses, os: string): void {
  statuses.forEach(({ user }, at) => {
    const linux = user?.linux;
    if (linux === undefined) return;
    const here = `${path}[${at}].linux`;
    if (os === 'windows') return problems.forbidden(here, 'cannot be set for a windows pod');
    problems.each(`${here}.uid`, linux.uid, posixId(linux.uid));
    problems.each(`${here}.gid`, linux.gid, posixId(linux.gid));
    linux.supplementalGroups?.forEach((gid, i) => problems.each(`${here}.supplementalGroups[${i}]`, gid, posixId(gid)));
  });
}

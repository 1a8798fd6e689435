// Owns the validation of pods' status as nodes and controllers write it.
import type { Container, ContainerStatus, Pod, PodSpec, ResourceStatus } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsLabel, qualifiedName, subdomainName } from '../../../api/names.ts';
import { ipAddress, ipFamily, posixId } from '../../../api/validation/formats.ts';
import type { Problems } from '../../../api/validation/problems.ts';

const maxUid = 4_294_967_295;

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
  validateExtendedClaimStatus(problems, next);
  validateAddresses(problems, 'status.podIPs', after.podIPs);
  if (after.hostIPs?.length && after.hostIPs[0]!.ip !== (after.hostIP ?? ''))
    problems.invalid('status.hostIPs[0].ip', after.hostIPs[0]!.ip, 'must be equal to `hostIP`');
  validateAddresses(problems, 'status.hostIPs', after.hostIPs);
  for (const list of lists) validateUsers(problems, `status.${list}`, after[list] ?? [], next.spec.os?.name ?? 'linux');
  validateDevices(problems, next);
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

/** Devices that containers got by naming resources: which request of the claim made for them stands for which. */
function validateExtendedClaimStatus(problems: Problems, { spec, status }: Frozen<Pod>): void {
  const claim = status?.extendedResourceClaimStatus;
  if (claim === undefined) return;
  const path = 'status.extendedResourceClaimStatus';
  const mappings = claim.requestMappings ?? [];
  if (mappings.length === 0) problems.required(`${path}.requestMappings`, 'at least one request mapping is required');
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  mappings.forEach(({ containerName = '', resourceName = '', requestName = '' }, at) => {
    const here = `${path}.requestMappings[${at}]`;
    const container = containers.find(({ name }) => name === containerName);
    if (container === undefined)
      problems.invalid(`${here}.containerName`, containerName, 'must match the name of a container of the pod');
    else if (container.resources?.requests?.[resourceName] === undefined)
      problems.invalid(`${here}.resourceName`, resourceName, 'must match a resource that the container requests');
    // Upstream forgets of which mapping.
    problems.each(`${path}.requestName`, requestName, dnsLabel(requestName));
  });
  const name = claim.resourceClaimName ?? '';
  if (name === '') problems.required(`${path}.resourceClaimName`);
  else problems.each(`${path}.resourceClaimName`, name, subdomainName(name));
}

const healths = ['Healthy', 'Unhealthy', 'Unknown'];

/** The health of devices: of resources and claims that the container of that name asks for. */
function validateDevices(problems: Problems, { spec, status = {} }: Frozen<Pod>): void {
  for (const [list, containers] of [
    ['containerStatuses', spec.containers],
    ['initContainerStatuses', spec.initContainers],
  ] as const)
    status[list]?.forEach(({ name, allocatedResourcesStatus: devices = [] }, at) => {
      const container = containers?.find((other) => other.name === name);
      if (container === undefined) return;
      devices.forEach((device, i) =>
        validateDevice(problems, `status.${list}[${at}].allocatedResourcesStatus[${i}]`, device, container),
      );
    });
  status.ephemeralContainerStatuses?.forEach(({ allocatedResourcesStatus: devices = [] }, at) => {
    const path = `status.ephemeralContainerStatuses[${at}].allocatedResourcesStatus`;
    if (devices.length > 0) problems.forbidden(path, 'must not be specified in container status');
  });
}

function validateDevice(
  problems: Problems,
  path: string,
  { name = '', resources = [] }: Frozen<ResourceStatus>,
  container: Frozen<Container>,
): void {
  const { claims = [], requests = {} } = container.resources ?? {};
  const known = name.startsWith('claim:')
    ? claims.some((claim) => name === `claim:${claim.name}${claim.request ? `/${claim.request}` : ''}`)
    : Object.hasOwn(requests, name);
  if (!known) problems.invalid(`${path}.name`, name, "must match one of the container's resource requests or claims");
  const seen = new Set<string>();
  resources.forEach(({ resourceID = '', health = '' }, at) => {
    const here = `${path}.resources[${at}]`;
    problems.optionalOneOf(`${here}.health`, health, healths);
    if (seen.has(resourceID)) problems.duplicate(`${here}.resourceID`, resourceID);
    seen.add(resourceID);
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
    const here = `${path}[${at}].user.linux`;
    if (os === 'windows') return problems.forbidden(here, 'cannot be set for a windows pod');
    // Of users, unlike groups, all of a kernel's 32 bits may be seen.
    if (linux.uid < 0 || linux.uid > maxUid)
      problems.invalid(`${here}.uid`, linux.uid, `must be between 0 and ${maxUid}, inclusive`);
    problems.each(`${here}.gid`, linux.gid, posixId(linux.gid));
    linux.supplementalGroups?.forEach((gid, i) => problems.each(`${here}.supplementalGroups[${i}]`, gid, posixId(gid)));
  });
}

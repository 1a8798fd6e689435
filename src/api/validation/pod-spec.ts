// Owns the validation of pod specs, in pods and in templates: the order in which upstream reports.
import type { HostAlias, PodDNSConfig, PodResourceClaim, PodSpec } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import {
  type ContainerSetting,
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from './containers.ts';
import { dnsLabel, dnsSubdomain, dnsSubdomainWithUnderscore, subdomainName } from '../names.ts';
import { validateFileKeyVolumes } from './env.ts';
import { ipAddress } from './formats.ts';
import { validateLabels } from './labels.ts';
import { containersOf, validateHostProcesses, validateOperatingSystem } from './operating-system.ts';
import type { Problems } from './problems.ts';
import { validateContainerResources, validatePodLevelResources } from './resources.ts';
import {
  validateAffinity,
  validateReadinessGates,
  validateSchedulingGates,
  validateTolerations,
  validateTopologySpread,
} from './scheduling.ts';
import { validatePodSecurityContext } from './security-context.ts';
import { type VolumeOwner, validateVolumes } from './volumes.ts';

/** `pod` is the pod whose spec it is; undefined for templates, which are held to less. */
export function validatePodSpec(
  problems: Problems,
  path: string,
  spec: Frozen<PodSpec>,
  pod: VolumeOwner | undefined,
): void {
  if (spec.terminationGracePeriodSeconds === undefined) problems.required(`${path}.terminationGracePeriodSeconds`);
  const volumes = validateVolumes(problems, `${path}.volumes`, spec.volumes, pod);
  validateResourceClaims(problems, `${path}.resourceClaims`, spec.resourceClaims);
  const setting: ContainerSetting = {
    spec,
    volumes,
    claimNames: new Set(spec.resourceClaims?.map(({ name }) => name)),
    isPod: pod !== undefined,
  };
  validateContainers(problems, `${path}.containers`, setting);
  validateInitContainers(problems, `${path}.initContainers`, setting);
  validateEphemeralContainers(problems, `${path}.ephemeralContainers`, setting);
  validatePodLevelResources(problems, `${path}.resources`, spec, setting.claimNames);
  validateHostNetworkPorts(problems, `${path}.containers`, spec, setting.isPod);
  problems.oneOf(`${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  problems.oneOf(`${path}.dnsPolicy`, spec.dnsPolicy, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']);
  validateLabels(problems, `${path}.nodeSelector`, spec.nodeSelector);
  validatePodSecurityContext(problems, `${path}.securityContext`, spec);
  validateAffinity(problems, `${path}.affinity`, spec.affinity);
  validateDnsConfig(problems, `${path}.dnsConfig`, spec.dnsConfig, spec.dnsPolicy);
  validateReadinessGates(problems, `${path}.readinessGates`, spec.readinessGates);
  validateSchedulingGates(problems, `${path}.schedulingGates`, spec.schedulingGates);
  validateTopologySpread(problems, `${path}.topologySpreadConstraints`, spec.topologySpreadConstraints);
  validateHostProcesses(problems, path, spec);
  validateHostUsers(problems, path, spec);
  validateHostnameOverride(problems, path, spec);
  validateNamesAndLimits(problems, path, spec);
  validateOperatingSystem(problems, path, spec);
  for (const [here, { env }] of containersOf(path, spec)) validateFileKeyVolumes(problems, `${here}.env`, env, volumes);
}

function validateNamesAndLimits(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  const named = (field: 'serviceAccountName' | 'nodeName' | 'priorityClassName'): void => {
    if (spec[field]) problems.each(`${path}.${field}`, spec[field], subdomainName(spec[field]));
  };
  named('serviceAccountName');
  named('nodeName');
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > 2147483647))
    problems.invalid(`${path}.activeDeadlineSeconds`, deadline, 'must be between 1 and 2147483647, inclusive');
  if (spec.hostname) problems.each(`${path}.hostname`, spec.hostname, dnsLabel(spec.hostname));
  if (spec.subdomain) problems.each(`${path}.subdomain`, spec.subdomain, dnsLabel(spec.subdomain));
  validateTolerations(problems, `${path}.tolerations`, spec.tolerations);
  validateHostAliases(problems, `${path}.hostAliases`, spec.hostAliases);
  named('priorityClassName');
  if (spec.runtimeClassName !== undefined)
    problems.each(`${path}.runtimeClassName`, spec.runtimeClassName, subdomainName(spec.runtimeClassName));
  if (spec.preemptionPolicy !== undefined)
    problems.oneOf(`${path}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  if (spec.overhead !== undefined)
    validateContainerResources(problems, `${path}.overhead`, { limits: spec.overhead }, new Set());
}

const maxHostnameLength = 64;

function validateHostnameOverride(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  const name = spec.hostnameOverride;
  if (name === undefined) return;
  const field = `${path}.hostnameOverride`;
  if (spec.setHostnameAsFQDN) problems.forbidden(field, 'may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork) problems.forbidden(field, 'may not be specified when hostNetwork is true');
  if (name.length > maxHostnameLength) problems.tooLong(field, maxHostnameLength);
  problems.each(field, name, dnsSubdomain(name));
}

/** In the host's network a container's port is the host's; templates may leave the host port open. */
function validateHostNetworkPorts(problems: Problems, path: string, spec: Frozen<PodSpec>, isPod: boolean): void {
  if (!spec.hostNetwork) return;
  spec.containers?.forEach((container, at) =>
    container.ports?.forEach(({ hostPort = 0, containerPort }, i) => {
      if ((isPod || hostPort !== 0) && hostPort !== containerPort)
        problems.invalid(
          `${path}[${at}].ports[${i}].hostPort`,
          hostPort,
          'must match `containerPort` when `hostNetwork` is true',
        );
    }),
  );
}

/** The field names of host namespaces are upstream's, capitals included. */
function validateHostUsers(problems: Problems, path: string, spec: Frozen<PodSpec>): void {
  if (spec.hostUsers !== false) return;
  const detail = 'when `hostUsers` is false';
  if (spec.hostNetwork) problems.forbidden(`${path}.hostNetwork`, detail);
  if (spec.hostPID) problems.forbidden(`${path}.HostPID`, detail);
  if (spec.hostIPC) problems.forbidden(`${path}.HostIPC`, detail);
  spec.containers?.forEach((container, at) => {
    if (container.volumeDevices?.length)
      problems.forbidden(`${path}.containers[${at}].volumeDevices`, 'not supported when `hostUsers` is false');
  });
}

function validateResourceClaims(
  problems: Problems,
  path: string,
  claims: Frozen<PodResourceClaim[]> | undefined,
): void {
  const seen = new Set<string>();
  claims?.forEach((claim, at) => {
    const here = `${path}[${at}]`;
    if (!claim.name) {
      problems.required(`${here}.name`);
    } else if (seen.has(claim.name)) {
      problems.duplicate(`${here}.name`, claim.name);
    } else {
      problems.each(`${here}.name`, claim.name, dnsLabel(claim.name));
      seen.add(claim.name);
    }
    const { resourceClaimName: name, resourceClaimTemplateName: template } = claim;
    if (name !== undefined && template !== undefined)
      problems.invalid(
        here,
        claim,
        'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
      );
    if (name === undefined && template === undefined)
      problems.invalid(here, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    if (name !== undefined) problems.each(`${here}.resourceClaimName`, name, subdomainName(name));
    if (template !== undefined) problems.each(`${here}.resourceClaimTemplateName`, template, subdomainName(template));
  });
}

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchChars = 2048;

function validateDnsConfig(
  problems: Problems,
  path: string,
  config: Frozen<PodDNSConfig> | undefined,
  policy: string | undefined,
): void {
  const nameservers = config?.nameservers ?? [];
  if (policy === 'None') {
    if (config === undefined) return problems.required(path, 'must provide `dnsConfig` when `dnsPolicy` is None');
    if (nameservers.length === 0) return problems.required(`${path}.nameservers`, 'must provide at least one');
  }
  if (config === undefined) return;
  if (nameservers.length > maxNameservers)
    problems.invalid(`${path}.nameservers`, nameservers, `must not have more than ${maxNameservers} nameservers`);
  nameservers.forEach((server, at) => problems.each(`${path}.nameservers[${at}]`, server, ipAddress(server)));
  const searches = config.searches ?? [];
  if (searches.length > maxSearches)
    problems.invalid(`${path}.searches`, searches, `must not have more than ${maxSearches} search paths`);
  if (searches.join(' ').length > maxSearchChars)
    problems.invalid(`${path}.searches`, searches, `must not have more than ${maxSearchChars} characters in all`);
  searches.forEach((search, at) => {
    // "." and names with a trailing dot are fully qualified; underscores occur in service records' domains.
    if (search === '.') return;
    problems.each(`${path}.searches[${at}]`, search, dnsSubdomainWithUnderscore(search.replace(/\.$/, '')));
  });
  config.options?.forEach(({ name }, at) => {
    if (!name) problems.required(`${path}.options[${at}]`, 'must not be empty');
  });
}

function validateHostAliases(problems: Problems, path: string, aliases: Frozen<HostAlias[]> | undefined): void {
  aliases?.forEach(({ ip = '', hostnames = [] }, at) => {
    problems.each(`${path}[${at}].ip`, ip, ipAddress(ip));
    hostnames.forEach((name, i) => problems.each(`${path}[${at}].hostnames[${i}]`, name, dnsSubdomain(name)));
  });
}

// Owns the validation of services.
import type { Service, ServicePort } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { protocols } from '../../../api/validation/containers.ts';
import { dnsLabel, dnsSubdomain, qualifiedName } from '../../../api/names.ts';
import { cidr, ipAddress, ipFamily, isIpAddress, portNumber, specialAddress } from '../../../api/validation/formats.ts';
import { validatePortOrName } from '../../../api/validation/handlers.ts';
import { validateLabels } from '../../../api/validation/labels.ts';
import type { Problems } from '../../../api/validation/problems.ts';

type Spec = Frozen<Service>['spec'];

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const kubeletPort = 10250;
const maxAffinitySeconds = 86400;
const sourceRangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const topologyMode = 'service.kubernetes.io/topology-mode';
const topologyHints = 'service.kubernetes.io/topology-aware-hints';

export const isHeadless = ({ clusterIPs = [] }: Spec): boolean => clusterIPs.length === 1 && clusterIPs[0] === 'None';

/** Reachable from outside of the cluster: then the external traffic policy means something. */
export const isExternal = ({ type, externalIPs = [] }: Spec): boolean =>
  type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && externalIPs.length > 0);

export const needsHealthCheck = ({ type, externalTrafficPolicy }: Spec): boolean =>
  type === 'LoadBalancer' && externalTrafficPolicy === 'Local';

export function validateService(problems: Problems, { metadata, spec = {} }: Frozen<Service>): void {
  const { annotations = {} } = metadata;
  const mode = annotations[topologyMode];
  const hints = annotations[topologyHints];
  if (mode !== undefined && hints !== undefined && mode !== hints)
    problems.invalid(`metadata.annotations[${topologyMode}]`, mode, 'both topology annotations must match');
  const ports = spec.ports ?? [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') problems.required('spec.ports');
  validateByType(problems, spec);
  const names = new Set<string>();
  ports.forEach((port, at) => validatePort(problems, `spec.ports[${at}]`, port, ports.length > 1, names));
  validateLabels(problems, 'spec.selector', spec.selector);
  validateAffinity(problems, spec);
  validateAddresses(problems, spec);
  spec.externalIPs?.forEach((ip, at) => {
    const wrong = ipAddress(ip);
    problems.each(`spec.externalIPs[${at}]`, ip, wrong.length > 0 ? wrong : specialAddress(ip));
  });
  problems.oneOf('spec.type', spec.type, types);
  validatePortUse(problems, spec);
  validateSourceRanges(problems, spec, annotations[sourceRangesAnnotation]);
  if (spec.allocateLoadBalancerNodePorts !== undefined && spec.type !== 'LoadBalancer')
    problems.forbidden('spec.allocateLoadBalancerNodePorts', "may only be used when `type` is 'LoadBalancer'");
  validateClass(problems, spec);
  validateTrafficPolicies(problems, spec);
}

function validateByType(problems: Problems, spec: Spec): void {
  const headless = (): void =>
    problems.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`);
  switch (spec.type) {
    case 'LoadBalancer':
      spec.ports?.forEach(({ port }, at) => {
        if (port === kubeletPort) problems.invalid(`spec.ports[${at}]`, port, 'may not be exposed: it is the kubelet');
      });
      if (isHeadless(spec)) headless();
      break;
    case 'NodePort':
      if (isHeadless(spec)) headless();
      break;
    case 'ExternalName':
      if (spec.clusterIPs?.length) problems.forbidden('spec.clusterIPs', 'may not be set for ExternalName services');
      if (spec.ipFamilies?.length) problems.forbidden('spec.ipFamilies', 'may not be set for ExternalName services');
      if (spec.ipFamilyPolicy !== undefined)
        problems.forbidden('spec.ipFamilyPolicy', 'may not be set for ExternalName services');
      validateExternalName(problems, spec.externalName ?? '');
      break;
    default:
  }
}

/** A host name, which may end in a dot. */
function validateExternalName(problems: Problems, externalName: string): void {
  const name = externalName.replace(/\.$/, '');
  if (name === '') problems.required('spec.externalName');
  else problems.each('spec.externalName', name, dnsSubdomain(name));
}

function validatePort(
  problems: Problems,
  path: string,
  port: Frozen<ServicePort>,
  needsName: boolean,
  names: Set<string>,
): void {
  if (port.name) {
    problems.each(`${path}.name`, port.name, dnsLabel(port.name));
    if (names.has(port.name)) problems.duplicate(`${path}.name`, port.name);
    names.add(port.name);
  } else if (needsName) {
    problems.required(`${path}.name`);
  }
  problems.each(`${path}.port`, port.port ?? 0, portNumber(port.port ?? 0));
  problems.oneOf(`${path}.protocol`, port.protocol, protocols);
  validatePortOrName(problems, `${path}.targetPort`, port.targetPort);
  if (port.appProtocol !== undefined)
    problems.each(`${path}.appProtocol`, port.appProtocol, qualifiedName(port.appProtocol));
}

function validateAffinity(problems: Problems, spec: Spec): void {
  problems.oneOf('spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None']);
  const path = 'spec.sessionAffinityConfig';
  const config = spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'None' && config !== undefined)
    problems.forbidden(path, 'must not be set when session affinity is None');
  if (spec.sessionAffinity !== 'ClientIP') return;
  const seconds = config?.clientIP?.timeoutSeconds;
  if (config === undefined) problems.required(path);
  else if (config.clientIP === undefined) problems.required(`${path}.clientIP`);
  else if (seconds === undefined) problems.required(`${path}.clientIP.timeoutSeconds`);
  else if (seconds <= 0 || seconds > maxAffinitySeconds)
    problems.invalid(`${path}.clientIP.timeoutSeconds`, seconds, `must be between 1 and ${maxAffinitySeconds}`);
}

export function validateAddresses(problems: Problems, spec: Spec): void {
  if (spec.type === 'ExternalName') return;
  const { clusterIP = '', clusterIPs = [], ipFamilies = [] } = spec;
  const path = 'spec.clusterIPs';
  if (clusterIP !== '') {
    if (clusterIPs.length === 0) problems.required(path);
    else if (clusterIPs[0] !== clusterIP) problems.invalid(path, clusterIPs, 'first value must match `clusterIP`');
  } else if (clusterIPs.length > 0) {
    problems.invalid(path, clusterIPs, 'must be empty when `clusterIP` is not specified');
  }
  ipFamilies.forEach((family, at) => {
    problems.optionalOneOf(`spec.ipFamilies[${at}]`, family, ['IPv4', 'IPv6']);
    if (ipFamilies.indexOf(family) < at) problems.duplicate(`spec.ipFamilies[${at}]`, family);
  });
  problems.optionalOneOf('spec.ipFamilyPolicy', spec.ipFamilyPolicy, [
    'PreferDualStack',
    'RequireDualStack',
    'SingleStack',
  ]);
  if (!validateClusterIPs(problems, path, clusterIPs)) return;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(ipFamily)).size < clusterIPs.length)
    problems.invalid(path, clusterIPs, 'may specify no more than one IP for each IP family');
  if (isHeadless(spec)) return;
  clusterIPs.slice(0, ipFamilies.length).forEach((ip, at) => {
    const family = ipFamilies[at];
    if ((family === 'IPv4' || family === 'IPv6') && ipFamily(ip) !== family)
      problems.invalid(`${path}[${at}]`, ip, `expected an ${family} value as indicated by ipFamilies[${at}]`);
  });
}

/** False: some are no addresses, and nothing more can be said of them. */
function validateClusterIPs(problems: Problems, path: string, clusterIPs: readonly string[]): boolean {
  let formed = true;
  clusterIPs.forEach((ip, at) => {
    if (at === 0 && ip === 'None') {
      if (clusterIPs.length === 1) return;
      formed = false;
      problems.invalid(path, clusterIPs, "'None' must be the first and only value");
    } else if (!isIpAddress(ip)) {
      formed = false;
      problems.each(`${path}[${at}]`, ip, ipAddress(ip));
    }
  });
  if (clusterIPs.length > 2) problems.invalid(path, clusterIPs, 'may only hold up to 2 values');
  return formed;
}

function validatePortUse(problems: Problems, spec: Spec): void {
  if (spec.type === 'ClusterIP')
    spec.ports?.forEach(({ nodePort }, at) => {
      if (nodePort) problems.forbidden(`spec.ports[${at}].nodePort`, "may not be used when `type` is 'ClusterIP'");
    });
  const unique = (key: (port: Frozen<ServicePort>) => string | undefined, field: string): void => {
    const seen = new Set<string>();
    spec.ports?.forEach((port, at) => {
      const text = key(port);
      if (text === undefined) return;
      if (seen.has(text)) problems.duplicate(`spec.ports[${at}]${field}`, text);
      seen.add(text);
    });
  };
  unique(({ protocol, nodePort }) => (nodePort ? `${protocol}/${nodePort}` : undefined), '.nodePort');
  unique(({ protocol, port }) => `${protocol}/${port}`, '');
}

/** Capital letters in the path as upstream has them. */
function validateSourceRanges(problems: Problems, spec: Spec, annotation: string | undefined): void {
  const detail = "may only be used when `type` is 'LoadBalancer'";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  if (ranges.length > 0) {
    const path = 'spec.LoadBalancerSourceRanges';
    if (spec.type !== 'LoadBalancer') problems.forbidden(path, detail);
    ranges.forEach((range, at) => problems.each(`${path}[${at}]`, range, cidr(range.trim())));
  } else if (annotation !== undefined) {
    const path = `metadata.annotations[${sourceRangesAnnotation}]`;
    if (spec.type !== 'LoadBalancer') problems.forbidden(path, detail);
    if (annotation.trim() !== '')
      for (const range of annotation.split(',')) problems.each(path, range, cidr(range.trim()));
  }
}

function validateClass(problems: Problems, spec: Spec): void {
  const name = spec.loadBalancerClass;
  if (name === undefined) return;
  if (spec.type === 'LoadBalancer') problems.each('spec.loadBalancerClass', name, qualifiedName(name));
  else problems.forbidden('spec.loadBalancerClass', "may only be used when `type` is 'LoadBalancer'");
}

function validateTrafficPolicies(problems: Problems, spec: Spec): void {
  const external = spec.externalTrafficPolicy ?? '';
  if (isExternal(spec)) problems.oneOf('spec.externalTrafficPolicy', external, ['Cluster', 'Local']);
  else if (external !== '')
    problems.invalid('spec.externalTrafficPolicy', external, 'may only be set for externally-accessible services');
  const port = spec.healthCheckNodePort ?? 0;
  // A port that is needed and not given is allocated.
  if (needsHealthCheck(spec)) {
    if (port !== 0) problems.each('spec.healthCheckNodePort', port, portNumber(port));
  } else if (port !== 0) {
    problems.invalid('spec.healthCheckNodePort', port, 'is for load balancers with externalTrafficPolicy Local');
  }
  if (spec.internalTrafficPolicy === undefined) {
    if (spec.type === 'ClusterIP' || spec.type === 'NodePort' || spec.type === 'LoadBalancer')
      problems.required('spec.internalTrafficPolicy');
  } else {
    problems.optionalOneOf('spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local']);
  }
  problems.optionalOneOf('spec.trafficDistribution', spec.trafficDistribution, [
    'PreferClose',
    'PreferSameNode',
    'PreferSameZone',
  ]);
}

/** What may not change while a service is what it is. Reported before everything else. */
export function validateServiceChange(problems: Problems, next: Frozen<Service>, prev: Frozen<Service>): void {
  const [after, before] = [next.spec, prev.spec];
  if (after.type !== 'ExternalName' && before.type !== 'ExternalName') {
    const wasHeadless = isHeadless(before);
    const isNowHeadless = isHeadless(after);
    if (!(wasHeadless && isNowHeadless)) validateAddressChange(problems, after, before);
    if (!wasHeadless && !isNowHeadless) validateFamilyChange(problems, after, before);
  }
  if (after.type === 'LoadBalancer' && before.type === 'LoadBalancer')
    if (after.loadBalancerClass !== before.loadBalancerClass)
      problems.invalid('spec.loadBalancerClass', after.loadBalancerClass, 'may not change once set');
  validateClass(problems, after);
  if (needsHealthCheck(before) && needsHealthCheck(after) && after.healthCheckNodePort !== before.healthCheckNodePort)
    problems.forbidden('spec.healthCheckNodePort', 'field is immutable');
}

function validateAddressChange(problems: Problems, next: Spec, prev: Spec): void {
  const after = next.clusterIPs ?? [];
  const before = prev.clusterIPs ?? [];
  const changed = (at: number): void => problems.invalid(`spec.clusterIPs[${at}]`, after, 'may not change once set');
  if (before.length === after.length)
    return before.forEach((ip, at) => {
      if (ip !== after[at]) changed(at);
    });
  if (before.length > after.length && after.length === 0)
    problems.invalid('spec.clusterIPs[0]', after, 'primary clusterIP can not be unset');
  if (before.length > 0 && after.length > 0 && after[0] !== before[0]) changed(0);
  if (before.length > after.length && after.length === 1 && next.ipFamilyPolicy !== 'SingleStack')
    problems.invalid(
      'spec.ipFamilyPolicy',
      next.ipFamilyPolicy,
      "must be 'SingleStack' to release the second clusterIP",
    );
}

function validateFamilyChange(problems: Problems, next: Spec, prev: Spec): void {
  const after = next.ipFamilies ?? [];
  const before = prev.ipFamilies ?? [];
  // The families of a new address are found with it.
  if (after.length === 0 && (next.clusterIPs ?? []).length > 0) return;
  const changed = (): void => problems.invalid('spec.ipFamilies[0]', after, 'may not change once set');
  if (before.length === after.length)
    return before.forEach((family, at) => {
      if (family !== after[at]) changed();
    });
  if (before.length > after.length && (next.clusterIPs ?? []).length === 0)
    problems.invalid('spec.ipFamilies[0]', after, 'primary ipFamily can not be unset');
  if (before.length > 0 && after.length > 0 && after[0] !== before[0]) changed();
  if (before.length > after.length && after.length === 1 && next.ipFamilyPolicy !== 'SingleStack')
    problems.invalid(
      'spec.ipFamilyPolicy',
      next.ipFamilyPolicy,
      "must be 'SingleStack' to release the second ipFamily",
    );
}

export function validateLoadBalancerStatus(problems: Problems, { status, spec }: Frozen<Service>): void {
  const path = 'status.loadBalancer.ingress';
  const ingress = status?.loadBalancer?.ingress ?? [];
  if (ingress.length > 0 && spec.type !== 'LoadBalancer')
    return problems.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
  ingress.forEach(({ ip = '', hostname = '', ipMode }, at) => {
    const here = `${path}[${at}]`;
    if (ip !== '') problems.each(`${here}.ip`, ip, ipAddress(ip));
    if (ipMode === undefined) {
      if (ip !== '') problems.required(`${here}.ipMode`, 'must be specified when `ip` is set');
    } else if (ip === '') {
      problems.forbidden(`${here}.ipMode`, 'may not be specified when `ip` is not set');
    } else {
      problems.optionalOneOf(`${here}.ipMode`, ipMode, ['Proxy', 'VIP']);
    }
    if (hostname === '') return;
    problems.each(`${here}.hostname`, hostname, dnsSubdomain(hostname));
    if (ipFamily(hostname) !== undefined)
      problems.invalid(`${here}.hostname`, hostname, 'must be a DNS name, not an IP address');
  });
}

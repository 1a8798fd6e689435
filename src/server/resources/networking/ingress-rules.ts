// Owns the validation of ingresses: hosts, paths, backends, TLS and the addresses of their status.
import { isIP } from 'node:net';
import type {
  HTTPIngressPath,
  IngressBackend,
  IngressLoadBalancerStatus,
  IngressRule,
  IngressSpec,
  IngressTLS,
} from '../../../api/generated/networking.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsLabel, dnsSubdomain, portName, wildcardDnsSubdomain } from '../../../api/names.ts';
import { ipAddress, portNumber } from '../../../api/validation/formats.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { validateTypedReference } from './references.ts';

/** What the stored object had wrong already is not held against an update. */
export interface IngressOptions {
  readonly anySecretName?: boolean;
  readonly anyWildcardRule?: boolean;
}

const hostProblems = (host: string): readonly string[] =>
  host.includes('*') ? wildcardDnsSubdomain(host) : dnsSubdomain(host);

/** Four plain numbers are an address to upstream, leading zeros or not. */
const isAddress = (text: string): boolean => isIP(text) !== 0 || /^\d{1,3}(\.\d{1,3}){3}$/.test(text);

const sequences = ['//', '/./', '/../', '%2f', '%2F'];
const suffixes = ['/..', '/.'];

function validatePath(problems: Problems, here: string, { path = '', pathType }: Frozen<HTTPIngressPath>): boolean {
  const at = `${here}.path`;
  switch (pathType) {
    case undefined:
    case null:
      problems.required(`${here}.pathType`, 'pathType must be specified');
      return false;
    case 'Exact':
    case 'Prefix':
      if (!path.startsWith('/')) problems.invalid(at, path, 'must be an absolute path');
      for (const part of sequences) if (path.includes(part)) problems.invalid(at, path, `must not contain '${part}'`);
      for (const part of suffixes) if (path.endsWith(part)) problems.invalid(at, path, `cannot end with '${part}'`);
      return true;
    case 'ImplementationSpecific':
      if (path !== '' && !path.startsWith('/')) problems.invalid(at, path, 'must be an absolute path');
      return true;
    default:
      problems.notSupported(`${here}.pathType`, pathType, ['Exact', 'ImplementationSpecific', 'Prefix']);
      return true;
  }
}

function validateBackend(problems: Problems, path: string, backend: Frozen<IngressBackend>): void {
  const { resource, service } = backend;
  if (resource && service) return problems.invalid(path, '', 'cannot set both resource and service backends');
  if (resource) return validateTypedReference(problems, `${path}.resource`, resource);
  if (!service) return problems.invalid(path, '', 'resource or service backend is required');
  if (!service.name) problems.required(`${path}.service.name`);
  else problems.each(`${path}.service.name`, service.name, dnsLabel(service.name));
  const { name = '', number = 0 } = service.port ?? {};
  if (name !== '' && number !== 0) problems.invalid(path, '', 'cannot set both port name & port number');
  else if (name !== '') problems.each(`${path}.service.port.name`, name, portName(name));
  else if (number !== 0) problems.each(`${path}.service.port.number`, number, portNumber(number));
  else problems.required(path, 'port name or number is required');
}

function validateRule(problems: Problems, path: string, rule: Frozen<IngressRule>, options: IngressOptions): void {
  const { host = '', http } = rule;
  if (host !== '') {
    if (isAddress(host)) problems.invalid(`${path}.host`, host, 'must be a DNS name, not an IP address');
    problems.each(`${path}.host`, host, hostProblems(host));
    if (host.includes('*') && options.anyWildcardRule) return;
  }
  if (!http) return;
  const paths = http.paths ?? [];
  if (paths.length === 0) problems.required(`${path}.http.paths`);
  paths.forEach((one, at) => {
    const here = `${path}.http.paths[${at}]`;
    if (validatePath(problems, here, one)) validateBackend(problems, `${here}.backend`, one.backend ?? {});
  });
}

const secretProblems = (name: string): readonly string[] => (name === '' ? [] : dnsSubdomain(name));

function validateTls(problems: Problems, path: string, tls: Frozen<IngressTLS>, options: IngressOptions): void {
  tls.hosts?.forEach((host, at) => problems.each(`${path}.hosts[${at}]`, host, hostProblems(host)));
  const { secretName = '' } = tls;
  if (!options.anySecretName) problems.each(`${path}.secretName`, secretName, secretProblems(secretName));
}

export function validateIngressSpec(problems: Problems, spec: Frozen<IngressSpec>, options: IngressOptions): void {
  const rules = spec.rules ?? [];
  if (rules.length === 0 && !spec.defaultBackend)
    problems.invalid('spec', spec.rules ?? [], 'either `defaultBackend` or `rules` must be specified');
  if (spec.defaultBackend) validateBackend(problems, 'spec.defaultBackend', spec.defaultBackend);
  rules.forEach((rule, at) => validateRule(problems, `spec.rules[${at}]`, rule, options));
  spec.tls?.forEach((tls, at) => validateTls(problems, `spec.tls[${at}]`, tls, options));
  const { ingressClassName } = spec;
  if (ingressClassName !== undefined && ingressClassName !== null)
    problems.each('spec.ingressClassName', ingressClassName, dnsSubdomain(ingressClassName));
}

/** The old object's faults, which its updates may keep. */
export function optionsFor({ tls, rules }: Frozen<IngressSpec>): IngressOptions {
  return {
    anySecretName: tls?.some(({ secretName = '' }) => secretProblems(secretName).length > 0) ?? false,
    anyWildcardRule: rules?.some((rule) => rule.host?.includes('*') && hostProblems(rule.host).length > 0) ?? false,
  };
}

export function validateLoadBalancer(
  problems: Problems,
  path: string,
  next: Frozen<IngressLoadBalancerStatus> | undefined,
  prev: Frozen<IngressLoadBalancerStatus> | undefined,
): void {
  const known = new Set(prev?.ingress?.map(({ ip }) => ip));
  next?.ingress?.forEach(({ ip = '', hostname = '' }, at) => {
    const here = `${path}.ingress[${at}]`;
    if (ip !== '' && !known.has(ip)) problems.each(`${here}.ip`, ip, ipAddress(ip));
    if (hostname === '') return;
    problems.each(`${here}.hostname`, hostname, dnsSubdomain(hostname));
    if (isAddress(hostname)) problems.invalid(`${here}.hostname`, hostname, 'must be a DNS name, not an IP address');
  });
}

// Owns what clients are warned of when they write pods and templates: fields that do nothing, doubles, old names.
import type {
  Container,
  Pod,
  PodSpec,
  PodTemplateSpec,
  PreferredSchedulingTerm,
  Volume,
} from '../../../api/generated/core.v1.ts';
import type { ObjectMeta } from '../../../api/generated/meta.v1.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import { dnsLabel, labelValue } from '../../../api/names.ts';
import { addressBits, ipFamily } from '../../../api/validation/formats.ts';
import { containersOf } from '../../../api/validation/operating-system.ts';
import { appArmorPrefix } from '../../../api/validation/pod-annotations.ts';
import { nano } from '../../../api/validation/quantities.ts';

const oldLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'use "node.kubernetes.io/instance-type" instead',
};

const oldVolumes: Readonly<Partial<Record<keyof Volume, string>>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};

const deadAnnotations = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
} as const;

/** Told when a pod is made: those who change pods are mostly controllers. */
export function podWarnings(pod: Frozen<Pod>, prev?: Frozen<Pod>): string[] {
  if (prev !== undefined) return [];
  const warnings = podSpecWarnings('', pod.metadata, pod.spec);
  warnings.push(...appArmorWarnings('metadata.annotations', pod.metadata.annotations, pod.spec, false));
  const wrong = dnsLabel(pod.metadata.name);
  if (wrong.length > 0)
    warnings.push(
      `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${wrong.join(' ')}]`,
    );
  return warnings;
}

/** `prefix` is "" for pods, "spec.template." for most templates. */
export function podSpecWarnings(
  prefix: string,
  metadata: Partial<Frozen<ObjectMeta>> | undefined,
  spec: Frozen<PodSpec> | undefined,
): string[] {
  if (spec === undefined) return [];
  const path = `${prefix}spec`;
  return [
    ...labelWarnings(path, spec),
    ...annotationWarnings(`${prefix}metadata.annotations`, metadata?.annotations, spec),
    ...(prefix === '' ? [] : appArmorWarnings(`${prefix}metadata.annotations`, metadata?.annotations, spec, true)),
    ...listWarnings(path, spec),
    ...(spec.volumes ?? []).flatMap((volume, at) => [...volumeWarnings(`${path}.volumes[${at}]`, volume)]),
    ...[...containersOf(path, spec)].flatMap(([here, container]) => [...containerWarnings(here, container)]),
    ...portNameWarnings(path, spec),
  ];
}

function* deprecated(path: string, label: string): Generator<string> {
  if (oldLabels[label] !== undefined) yield `${path}: deprecated since v1.14; ${oldLabels[label]}`;
}

const noSelector = 'a null labelSelector results in matching no pod';

function* labelWarnings(path: string, spec: Frozen<PodSpec>): Generator<string> {
  for (const label in spec.nodeSelector) yield* deprecated(`${path}.nodeSelector[${label}]`, label);
  const node = spec.affinity?.nodeAffinity;
  const terms = [
    ...(node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []),
    ...(node?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ preference }) => preference),
  ];
  for (const term of terms)
    for (const { key } of term?.matchExpressions ?? []) yield* deprecated(`${path}.affinity.nodeAffinity: ${key}`, key);
  yield* preferenceWarnings(`${path}.affinity.nodeAffinity`, node?.preferredDuringSchedulingIgnoredDuringExecution);
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const affinity = spec.affinity?.[kind];
    const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const term of [...required, ...preferred.map(({ podAffinityTerm }) => podAffinityTerm)]) {
      if (term === undefined) continue;
      if (term.labelSelector === undefined) yield `${path}.affinity.${kind}: ${noSelector}`;
      yield* deprecated(`${path}.affinity.${kind}: topologyKey ${term.topologyKey}`, term.topologyKey);
    }
  }
  for (const [at, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const here = `${path}.topologySpreadConstraints[${at}]`;
    yield* deprecated(`${here}.topologyKey: ${constraint.topologyKey}`, constraint.topologyKey);
    if (constraint.labelSelector === undefined) yield `${here}: ${noSelector}`;
  }
}

/** Values that no label of a node can have. */
function* preferenceWarnings(path: string, terms: readonly Frozen<PreferredSchedulingTerm>[] = []): Generator<string> {
  for (const [at, { preference }] of terms.entries())
    for (const [i, { values }] of (preference?.matchExpressions ?? []).entries())
      for (const [j, value] of (values ?? []).entries())
        for (const wrong of labelValue(value))
          yield `${path}.preferredDuringSchedulingIgnoredDuringExecution[${at}].preference.matchExpressions[${i}].values[${j}]: ${value} is invalid, ${wrong}`;
}

/** Templates are told when they have no field; pods, whose field is made from the annotation, when they are created. */
function* appArmorWarnings(
  path: string,
  annotations: Frozen<ObjectMeta>['annotations'],
  spec: Frozen<PodSpec>,
  fieldCounts: boolean,
): Generator<string> {
  if (annotations === undefined) return;
  for (const [, { name, securityContext }] of containersOf('', spec)) {
    const key = appArmorPrefix + name;
    const hasField = (securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile) !== undefined;
    if (annotations[key] !== undefined && !(fieldCounts && hasField))
      yield `${path}[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
  }
}

function* annotationWarnings(
  path: string,
  annotations: Frozen<ObjectMeta>['annotations'],
  spec: Frozen<PodSpec>,
): Generator<string> {
  if (annotations === undefined) return;
  for (const [key, text] of Object.entries(deadAnnotations))
    if (annotations[key] !== undefined) yield `${path}[${key}]: ${text}`;
  const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
  const moved = 'non-functional in v1.27+; use the "seccompProfile" field instead';
  if (annotations[seccomp] !== undefined && spec.securityContext?.seccompProfile === undefined)
    yield `${path}[${seccomp}]: ${moved}`;
  for (const [, { name, securityContext }] of containersOf('', spec)) {
    const own = `container.${seccomp.replace(/pod$/, '')}${name}`;
    if (annotations[own] !== undefined && securityContext?.seccompProfile === undefined)
      yield `${path}[${own}]: ${moved}`;
  }
}

function* listWarnings(path: string, spec: Frozen<PodSpec>): Generator<string> {
  const ips = new Set<string>();
  for (const [at, { ip }] of (spec.hostAliases ?? []).entries()) {
    const here = `${path}.hostAliases[${at}].ip`;
    if (ips.has(ip)) yield `${here}: duplicate ip "${ip}"`;
    ips.add(ip);
    yield* addressWarnings(here, ip);
  }
  const secrets = new Set<string>();
  for (const [at, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    const here = `${path}.imagePullSecrets[${at}].name`;
    if (name === '') yield `${here}: invalid empty name`;
    else if (secrets.has(name)) yield `${here}: duplicate name "${name}"`;
    secrets.add(name);
  }
  for (const [at, server] of (spec.dnsConfig?.nameservers ?? []).entries())
    yield* addressWarnings(`${path}.dnsConfig.nameservers[${at}]`, server);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    yield `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are treated as 1`;
}

/** IPv6 addresses in an unusual spelling (RFC 5952). */
export function* addressWarnings(path: string, address: string): Generator<string> {
  if (ipFamily(address) !== 'IPv6') return;
  const usual = new URL(`http://[${address}]`).hostname.slice(1, -1);
  if (usual !== address && addressBits(address) >> 32n !== 0xffffn)
    yield `${path}: IPv6 address "${address}" should be in RFC 5952 canonical format ("${usual}")`;
}

function* volumeWarnings(path: string, volume: Frozen<Volume>): Generator<string> {
  for (const field in oldVolumes)
    if (volume[field as keyof Volume] !== undefined) yield `${path}.${field}: ${oldVolumes[field as keyof Volume]}`;
  if (volume.projected === undefined) return;
  const files: string[] = [];
  for (const [at, source] of (volume.projected.sources ?? []).entries()) {
    const own = [
      ...(source.secret?.items ?? []),
      ...(source.configMap?.items ?? []),
      ...(source.downwardAPI?.items ?? []),
      ...[source.serviceAccountToken, source.clusterTrustBundle].filter((item) => item !== undefined),
    ].map((item) => item.path);
    for (const file of own)
      for (const other of files)
        if (file !== other && (file.startsWith(`${other}/`) || other.startsWith(`${file}/`)))
          yield `${path}.projected.sources[${at}]: "${file}" overlaps with "${other}"`;
    files.push(...own);
  }
}

function* containerWarnings(path: string, container: Frozen<Container>): Generator<string> {
  const names = new Set<string>();
  for (const [at, { name }] of (container.env ?? []).entries()) {
    if (names.has(name)) yield `${path}.env[${at}]: hides previous definition of "${name}"`;
    names.add(name);
  }
  for (const list of ['limits', 'requests'] as const)
    for (const name of ['memory', 'ephemeral-storage']) {
      const value = container.resources?.[list]?.[name];
      if (value !== undefined && nano(value) % 1_000_000_000n !== 0n)
        yield `${path}.resources.${list}[${name}]: fractional byte value "${value}" is invalid, must be an integer`;
    }
  const ports = new Map<string, number>();
  for (const [at, { containerPort, protocol, hostPort = 0, hostIP = '' }] of (container.ports ?? []).entries()) {
    const key = `${containerPort}/${protocol}/${hostPort}/${hostIP}`;
    if (ports.has(key)) yield `${path}.ports[${at}]: duplicate port definition with ${path}.ports[${ports.get(key)}]`;
    else ports.set(key, at);
  }
}

/** The same port name in two containers. */
function* portNameWarnings(path: string, spec: Frozen<PodSpec>): Generator<string> {
  const owners = new Map<string, string>();
  for (const [at, container] of (spec.containers ?? []).entries())
    for (const [i, { name }] of (container.ports ?? []).entries()) {
      if (!name) continue;
      const here = `${path}.containers[${at}].ports[${i}]`;
      const other = owners.get(name);
      if (other !== undefined) yield `${here}: duplicate port name "${name}" with ${other}, services take the first`;
      else owners.set(name, here);
    }
}

interface WithTemplate extends KubeObject {
  readonly spec?: { readonly template?: PodTemplateSpec };
}

/** Of what makes pods: whether what counts has changed, or it is new. */
export function isNews(obj: Frozen<KubeObject>, prev: Frozen<KubeObject> | undefined): boolean {
  return prev === undefined || prev.metadata.generation !== obj.metadata.generation;
}

/** Of names that pods' names and hostnames are made from, when they are made. */
export function nameWarnings({ metadata }: Frozen<KubeObject>, prev?: Frozen<KubeObject>): string[] {
  const wrong = prev === undefined ? dnsLabel(metadata.name) : [];
  if (wrong.length === 0) return [];
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${wrong.join(' ')}]`,
  ];
}

/** Of what makes pods: told when it is made, and when it is changed. */
export function templateWarnings(obj: Frozen<WithTemplate>, prev?: Frozen<WithTemplate>): string[] {
  if (!isNews(obj, prev)) return [];
  const template = obj.spec?.template as Frozen<PodTemplateSpec> | undefined;
  return podSpecWarnings('spec.template.', template?.metadata, template?.spec);
}

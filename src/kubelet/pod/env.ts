// Owns a container's environment: values, references, service variables, expansion. Pure: what it refers to is given.
import type { ConfigMap, EnvVar, Secret, Service } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { fieldValue, resourceFieldValue, type FieldContext } from './field-ref.ts';
import { expand } from './expand.ts';
import { ConfigError } from './config-error.ts';
import type { FrozenContainer, FrozenPod } from './pod-words.ts';

export interface EnvSources {
  configMap(name: string): Frozen<ConfigMap> | undefined;
  secret(name: string): Frozen<Secret> | undefined;
  /** Services of the pod's namespace, and `kubernetes` of default. */
  readonly services: readonly Frozen<Service>[];
  readonly fields: FieldContext;
  /** For fileKeyRef: reads a file of a mounted volume. */
  volumeFile(volume: string, path: string): string | undefined;
}

/** The ConfigMaps and Secrets that a container's environment names. */
export function envReferences(container: FrozenContainer): { configMaps: string[]; secrets: string[] } {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const from of container.envFrom ?? []) {
    if (from.configMapRef?.name) configMaps.add(from.configMapRef.name);
    if (from.secretRef?.name) secrets.add(from.secretRef.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.configMapKeyRef?.name) configMaps.add(valueFrom.configMapKeyRef.name);
    if (valueFrom?.secretKeyRef?.name) secrets.add(valueFrom.secretKeyRef.name);
  }
  return { configMaps: [...configMaps], secrets: [...secrets] };
}

/** Throws ConfigError when something that is not optional is missing. Later definitions win; services come first. */
export function containerEnv(pod: FrozenPod, container: FrozenContainer, sources: EnvSources): Map<string, string> {
  const services = serviceEnv(pod, sources.services);
  const result = new Map<string, string>();
  for (const from of container.envFrom ?? []) {
    const prefix = from.prefix ?? '';
    for (const [key, value] of fromObject(from, sources)) result.set(prefix + key, value);
  }
  for (const variable of container.env ?? []) {
    const value = variable.valueFrom
      ? referenced(pod, container, variable, sources)
      : expand(variable.value ?? '', (name) => result.get(name) ?? services.get(name));
    if (value !== undefined) result.set(variable.name, value);
  }
  for (const [name, value] of services) if (!result.has(name)) result.set(name, value);
  return result;
}

type EnvFrom = NonNullable<FrozenContainer['envFrom']>[number];

function fromObject(from: EnvFrom, sources: EnvSources): readonly (readonly [string, string])[] {
  if (from.configMapRef) {
    const name = from.configMapRef.name ?? '';
    const object = sources.configMap(name);
    if (object) return Object.entries(object.data ?? {});
    if (!from.configMapRef.optional) throw missing('configmap', name);
  } else if (from.secretRef) {
    const name = from.secretRef.name ?? '';
    const object = sources.secret(name);
    if (object) return Object.entries(object.data ?? {}).map(([key, value]) => [key, decodeBase64(value)] as const);
    if (!from.secretRef.optional) throw missing('secret', name);
  }
  return [];
}

function missing(kind: string, name: string): ConfigError {
  return new ConfigError(`${kind} "${name}" not found`);
}

function decodeBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8');
}

function referenced(
  pod: FrozenPod,
  container: FrozenContainer,
  { valueFrom }: Frozen<EnvVar>,
  sources: EnvSources,
): string | undefined {
  if (valueFrom?.fieldRef) return fieldValue(valueFrom.fieldRef.fieldPath, sources.fields);
  if (valueFrom?.resourceFieldRef) return resourceFieldValue(valueFrom.resourceFieldRef, container, sources.fields);
  if (valueFrom?.configMapKeyRef) {
    const { name = '', key, optional } = valueFrom.configMapKeyRef;
    const value = sources.configMap(name)?.data?.[key];
    if (value !== undefined || optional) return value;
    if (sources.configMap(name) === undefined) throw missing('configmap', name);
    throw new ConfigError(`couldn't find key ${key} in ConfigMap ${pod.metadata.namespace}/${name}`);
  }
  if (valueFrom?.secretKeyRef) {
    const { name = '', key, optional } = valueFrom.secretKeyRef;
    const value = sources.secret(name)?.data?.[key];
    if (value !== undefined || optional) return value === undefined ? undefined : decodeBase64(value);
    if (sources.secret(name) === undefined) throw missing('secret', name);
    throw new ConfigError(`couldn't find key ${key} in Secret ${pod.metadata.namespace}/${name}`);
  }
  if (valueFrom?.fileKeyRef) return fileKey(valueFrom.fileKeyRef, sources);
  return undefined;
}

/** A file of NAME=value lines in an emptyDir that an init container wrote. */
function fileKey(
  ref: { readonly volumeName: string; readonly path: string; readonly key: string; readonly optional?: boolean },
  sources: EnvSources,
): string | undefined {
  const text = sources.volumeFile(ref.volumeName, ref.path);
  if (text === undefined && !ref.optional)
    throw new ConfigError(`file ${ref.path} not found in volume ${ref.volumeName}`);
  for (const line of (text ?? '').split('\n')) {
    const match = /^\s*([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*$/.exec(line);
    if (match && match[1] === ref.key) return match[2]!.replace(/^'(.*)'$|^"(.*)"$/, '$1$2');
  }
  if (text !== undefined && !ref.optional) throw new ConfigError(`key ${ref.key} not found in file ${ref.path}`);
  return undefined;
}

/** The variables of links to services; without `enableServiceLinks` only those of the API server. */
export function serviceEnv(pod: FrozenPod, services: readonly Frozen<Service>[]): Map<string, string> {
  const result = new Map<string, string>();
  const isMaster = (service: Frozen<Service>): boolean =>
    service.metadata.name === 'kubernetes' && service.metadata.namespace === 'default';
  const links = pod.spec.enableServiceLinks ?? true;
  const chosen = services
    .filter((service) => isMaster(service) || (links && service.metadata.namespace === pod.metadata.namespace))
    // The namespace's own service of the name wins over the master's.
    .toSorted((a, b) => Number(isMaster(b)) - Number(isMaster(a)) || (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const service of chosen) addServiceEnv(result, service);
  return result;
}

function addServiceEnv(result: Map<string, string>, { metadata, spec }: Frozen<Service>): void {
  const ip = spec.clusterIP;
  const ports = spec.ports ?? [];
  if (!ip || ip === 'None' || ports.length === 0) return;
  const prefix = metadata.name.toUpperCase().replaceAll('-', '_');
  result.set(`${prefix}_SERVICE_HOST`, ip);
  result.set(`${prefix}_SERVICE_PORT`, String(ports[0]!.port));
  for (const { name, port } of ports)
    if (name) result.set(`${prefix}_SERVICE_PORT_${name.toUpperCase().replaceAll('-', '_')}`, String(port));
  const host = ip.includes(':') ? `[${ip}]` : ip;
  ports.forEach(({ port, protocol = 'TCP' }, index) => {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${host}:${port}`;
    const each = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    if (index === 0) result.set(`${prefix}_PORT`, url);
    result.set(each, url);
    result.set(`${each}_PROTO`, scheme);
    result.set(`${each}_PORT`, String(port));
    result.set(`${each}_ADDR`, ip);
  });
}

// Owns the downward API: values of a pod's own fields and of container resources. Pure.
import { amount } from './quantities.ts';
import { ConfigError } from './config-error.ts';
import { allContainersOf, type FrozenContainer, type FrozenPod } from './pod-words.ts';

export interface FieldContext {
  readonly pod: FrozenPod;
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
  readonly nodeName: string;
  /** What stands for a missing limit. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Throws ConfigError for a path that the downward API does not have. */
export function fieldValue(path: string, { pod, podIps, hostIps, nodeName }: FieldContext): string {
  const { metadata, spec } = pod;
  const keyed = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(path);
  if (keyed) return metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2]!] ?? '';
  switch (path) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return formatMap(metadata.labels ?? {});
    case 'metadata.annotations':
      return formatMap(metadata.annotations ?? {});
    case 'spec.nodeName':
      return spec.nodeName ?? nodeName;
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.podIP':
      return podIps[0] ?? '';
    case 'status.podIPs':
      return podIps.join(',');
    case 'status.hostIP':
      return hostIps[0] ?? '';
    case 'status.hostIPs':
      return hostIps.join(',');
    default:
      throw new ConfigError(`unsupported fieldPath: ${path}`);
  }
}

/** `key="value"` lines, sorted, values quoted as Go does. */
function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .toSorted()
    .map((key) => `${key}=${JSON.stringify(map[key])}`)
    .join('\n');
}

export interface ResourceFieldRef {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: string;
}

/** Without a limit the node's allocatable counts. Rounded up to whole divisors. */
export function resourceFieldValue(
  ref: ResourceFieldRef,
  own: FrozenContainer | undefined,
  { pod, allocatable }: FieldContext,
): string {
  const container = ref.containerName ? allContainersOf(pod).find(({ name }) => name === ref.containerName) : own;
  if (container === undefined) throw new ConfigError(`container ${ref.containerName ?? ''} not found`);
  const match = /^(limits|requests)\.(.+)$/.exec(ref.resource);
  if (!match) throw new ConfigError(`unsupported container resource : ${ref.resource}`);
  const [, kind, name] = match;
  const text = container.resources?.[kind as 'limits' | 'requests']?.[name!];
  const value = text ?? (kind === 'limits' ? allocatable[name!] : container.resources?.limits?.[name!]);
  const divisor = amount(ref.divisor) || 1;
  return String(Math.ceil(Number((amount(value) / divisor).toFixed(6))));
}

// Owns the validation of references to a pod's own fields and resources, in environment variables and in volumes.
import type { ObjectFieldSelector, ResourceFieldSelector } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { qualifiedName } from '../names.ts';
import type { Problems } from './problems.ts';
import { nano } from './quantities.ts';

export const envFieldPaths: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

export const volumeFieldPaths: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]);

/** Every path that names a field of a pod; anything else is not even converted. */
const convertible: ReadonlySet<string> = new Set([
  ...envFieldPaths,
  ...volumeFieldPaths,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);

export function validateFieldRef(
  problems: Problems,
  path: string,
  selector: Frozen<ObjectFieldSelector>,
  allowed: ReadonlySet<string>,
): void {
  if (!selector.apiVersion) return problems.required(`${path}.apiVersion`);
  if (!selector.fieldPath) return problems.required(`${path}.fieldPath`);
  if (selector.apiVersion !== 'v1')
    return problems.invalid(`${path}.fieldPath`, selector.fieldPath, `unsupported pod version: ${selector.apiVersion}`);
  const match = /^(.*)\['(.*)'\]$/s.exec(selector.fieldPath);
  if (match !== null) {
    const [, base = '', key = ''] = match;
    if (base === 'metadata.annotations') problems.each(path, key, qualifiedName(key.toLowerCase()));
    else if (base === 'metadata.labels') problems.each(path, key, qualifiedName(key));
    else problems.invalid(`${path}.fieldPath`, selector.fieldPath, `field label does not support subscript: ${base}`);
    return;
  }
  if (!convertible.has(selector.fieldPath))
    return problems.invalid(
      `${path}.fieldPath`,
      selector.fieldPath,
      `field label not supported: ${selector.fieldPath}`,
    );
  if (!allowed.has(selector.fieldPath))
    problems.notSupported(`${path}.fieldPath`, selector.fieldPath, [...allowed].sort());
}

const resourcePaths = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

const byteDivisors = new Set(['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']);
const cpuDivisors = new Set(['1m', '1']);

const isHugePagesPath = (resource: string): boolean => /^(limits|requests)\.hugepages-/.test(resource);

export function validateResourceFieldRef(
  problems: Problems,
  path: string,
  selector: Frozen<ResourceFieldSelector>,
  inVolume: boolean,
): void {
  const { resource, divisor } = selector;
  if (inVolume && !selector.containerName) problems.required(`${path}.containerName`);
  else if (!resource) problems.required(`${path}.resource`);
  else if (!resourcePaths.includes(resource) && !isHugePagesPath(resource))
    problems.notSupported(`${path}.resource`, resource, resourcePaths);
  if (divisor === undefined || nano(divisor) === 0n || !resource) return;
  const allowed = resource.endsWith('.cpu') ? cpuDivisors : byteDivisors;
  if ((resourcePaths.includes(resource) || isHugePagesPath(resource)) && !allowed.has(divisor))
    problems.invalid(`${path}.divisor`, resource, `only divisor's values ${[...allowed].join(', ')} are supported`);
}

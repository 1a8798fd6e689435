// Owns which names of compute resources are allowed where, and which count in whole units only.
import { qualifiedName } from '../names.ts';
import { isWhole, nano } from './quantities.ts';
import type { Problems } from './problems.ts';

const container = new Set(['cpu', 'memory', 'ephemeral-storage']);
const counted = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const integer = new Set(counted);
const quota = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  ...counted,
]);
const standard = new Set([...quota, 'storage']);

export const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith('requests.hugepages-');
export const isNativeResource = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');
export const isOvercommitAllowed = (name: string): boolean => isNativeResource(name) && !isHugePages(name);
export const isStandardQuotaResource = (name: string): boolean => quota.has(name) || isQuotaHugePages(name);

/** What is wrong with the name of an extended resource: quotas must be able to name requests of it. */
export function extendedResourceProblems(name: string): readonly string[] {
  const wrong = qualifiedName(`requests.${name}`);
  if (name.startsWith('requests.')) return ['may not start with "requests."', ...wrong];
  if (/(^|\.)kubernetes\.io\//.test(name)) return ['may not be of the domain "kubernetes.io/"', ...wrong];
  return name.includes('/') ? wrong : ['must be a path with a domain, such as "example.com/gpu"', ...wrong];
}

function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false;
  return qualifiedName(`requests.${name}`).length === 0;
}

const isIntegerResource = (name: string): boolean => integer.has(name) || isExtendedResource(name);

/** Any compute resource: standard, or qualified by a domain. */
export function validateResourceName(problems: Problems, path: string, name: string): void {
  const wrong = qualifiedName(name);
  problems.each(path, name, wrong);
  if (wrong.length === 0 && !name.includes('/') && !standard.has(name) && !isQuotaHugePages(name))
    problems.invalid(path, name, 'must be a standard resource type or fully qualified');
}

/** What containers may ask for. */
export function validateContainerResourceName(problems: Problems, path: string, name: string): void {
  if (container.has(name)) return;
  validateResourceName(problems, path, name);
  if (!name.includes('/')) {
    if (!isHugePages(name)) problems.invalid(path, name, 'must be a standard resource for containers');
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    problems.invalid(path, name, "doesn't follow extended resource name standard");
  }
}

export function validateQuotaResourceName(problems: Problems, path: string, name: string): void {
  validateResourceName(problems, path, name);
  if (!name.includes('/') && !isStandardQuotaResource(name))
    problems.invalid(path, name, 'must be a standard resource for quota');
}

/** Not negative, and whole where the resource comes in whole units. */
export function validateResourceQuantity(problems: Problems, path: string, name: string, value: string): void {
  if (nano(value) < 0n) problems.invalid(path, value, 'must be greater than or equal to 0');
  if (isIntegerResource(name) && !isWhole(value)) problems.invalid(path, value, 'must be an integer');
}

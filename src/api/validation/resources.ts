// Owns the validation of resource requests and limits of containers and of whole pods.
import type { Container, PodSpec, ResourceRequirements } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import type { Problems } from './problems.ts';
import { nano } from './quantities.ts';
import {
  isHugePages,
  isOvercommitAllowed,
  validateContainerResourceName,
  validateResourceName,
  validateResourceQuantity,
} from './resource-names.ts';

type Check = (problems: Problems, path: string, name: string) => void;

const isCpuOrMemory = (name: string): boolean => name === 'cpu' || name === 'memory';

export function validateContainerResources(
  problems: Problems,
  path: string,
  resources: Frozen<ResourceRequirements> | undefined,
  claimNames: ReadonlySet<string>,
): void {
  if (resources === undefined) return;
  validateAmounts(problems, path, resources, validateContainerResourceName);
  validateClaims(problems, `${path}.claims`, resources.claims, claimNames);
}

function validateAmounts(
  problems: Problems,
  path: string,
  { limits, requests }: Frozen<ResourceRequirements>,
  checkName: Check,
): void {
  for (const name in limits) {
    const here = `${path}.limits[${name}]`;
    checkName(problems, here, name);
    validateResourceQuantity(problems, here, name, limits[name]!);
    if (isHugePages(name)) validateHugePages(problems, here, name, limits[name]!);
  }
  for (const name in requests) {
    const here = `${path}.requests[${name}]`;
    const request = requests[name]!;
    const limit = limits?.[name];
    checkName(problems, here, name);
    validateResourceQuantity(problems, here, name, request);
    if (limit === undefined) {
      if (!isOvercommitAllowed(name))
        problems.required(`${path}.limits`, 'Limit must be set for non overcommitable resources');
    } else if (nano(request) !== nano(limit) && !isOvercommitAllowed(name)) {
      problems.invalid(`${path}.requests`, request, `must be equal to ${name} limit of ${limit}`);
    } else if (nano(request) > nano(limit)) {
      problems.invalid(`${path}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`);
    }
    if (isHugePages(name)) validateHugePages(problems, here, name, request);
  }
  const names = [...Object.keys(limits ?? {}), ...Object.keys(requests ?? {})];
  if (names.some(isHugePages) && !names.some(isCpuOrMemory))
    problems.forbidden(path, 'HugePages require cpu or memory');
}

function validateHugePages(problems: Problems, path: string, name: string, value: string): void {
  const page = nano(name.slice('hugepages-'.length));
  if (page <= 0n || nano(value) % page !== 0n)
    problems.invalid(path, value, `${value} is not positive integer multiple of ${name}`);
}

function validateClaims(
  problems: Problems,
  path: string,
  claims: Frozen<ResourceRequirements>['claims'],
  claimNames: ReadonlySet<string>,
): void {
  if (claims === undefined) return;
  const seen = new Set<string>();
  claims.forEach(({ name, request }, at) => {
    const here = `${path}[${at}]`;
    if (!name) return problems.required(here);
    const key = request ? `${name}/${request}` : name;
    if (seen.has(key) || seen.has(name)) problems.duplicate(here, key);
    seen.add(key);
    if (!claimNames.has(name)) problems.notFound(here, name);
  });
}

/** Requests and limits of the pod as a whole: they bound those of its containers. */
export function validatePodLevelResources(
  problems: Problems,
  path: string,
  spec: Frozen<PodSpec>,
  claimNames: ReadonlySet<string>,
): void {
  const resources = spec.resources;
  if (resources === undefined) return;
  if (spec.os?.name === 'windows') return problems.forbidden(path, 'may not be set for a windows pod');
  if (resources.claims !== undefined)
    problems.forbidden(`${path}.claims`, 'claims may not be set for Resources at pod-level');
  validateAmounts(problems, path, resources, (list, here, name) => {
    const before = list.count;
    validateResourceName(list, here, name);
    if (list.count === before && !isCpuOrMemory(name) && !isHugePages(name))
      list.notSupported(here, name, ['cpu', 'hugepages-', 'memory']);
  });
  validateClaims(problems, `${path}.claims`, resources.claims, claimNames);
  for (const name in resources.requests) {
    const sum = totalRequests(spec, name);
    if (sum > nano(resources.requests[name]))
      problems.invalid(
        `${path}.requests[${name}]`,
        resources.requests[name],
        'must be greater than or equal to aggregate container requests',
      );
  }
  for (const name in resources.limits) {
    if (isHugePages(name) && totalLimits(spec, name) > nano(resources.limits[name])) {
      problems.invalid(
        `${path}.limits[${name}]`,
        resources.limits[name],
        'must be greater than or equal to aggregate container limits',
      );
    }
  }
  (spec.containers ?? []).forEach((container, at) => {
    for (const name in resources.limits) {
      const limit = container.resources?.limits?.[name];
      if (nano(limit) <= nano(resources.limits[name])) continue;
      // Upstream's own path.
      const here = `${path}.containers[${at}][${name}].limits`;
      problems.invalid(here, limit, `must be less than or equal to pod limits of ${resources.limits[name]}`);
    }
  });
}

const totalRequests = (spec: Frozen<PodSpec>, name: string): bigint =>
  totalOf(spec.containers, spec.initContainers, ({ resources }) => nano(resources?.requests?.[name]));

const totalLimits = (spec: Frozen<PodSpec>, name: string): bigint =>
  totalOf(spec.containers, spec.initContainers, ({ resources }) => nano(resources?.limits?.[name]));

/** What a pod needs at its peak: sidecars run with everything that starts after them. */
export function totalOf<C extends Pick<Frozen<Container>, 'restartPolicy'>>(
  containers: readonly C[] | null | undefined,
  initContainers: readonly C[] | null | undefined,
  amount: (container: C) => bigint,
): bigint {
  let sidecars = 0n;
  let peak = 0n;
  for (const container of initContainers ?? []) {
    const here = amount(container) + sidecars;
    if (container.restartPolicy === 'Always') sidecars = here;
    if (here > peak) peak = here;
  }
  const running = (containers ?? []).reduce((sum, container) => sum + amount(container), sidecars);
  return running > peak ? running : peak;
}

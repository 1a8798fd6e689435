// Owns resource amounts as numbers: CPU in thousandths, the rest in whole units (bytes, devices). Quantities are parsed once, here.
import { LRUCache } from 'lru-cache';
import type { Frozen } from '../api/meta.ts';
import type { Container, Pod, ResourceRequirements } from '../api/generated/core.v1.ts';

type ResourceList = Readonly<Record<string, string>>;

/** Amounts by resource. Mutable: caches add to and take from their own. */
export class Resources {
  cpuMilli = 0;
  memoryBytes = 0;
  ephemeralBytes = 0;
  /** Extended resources and huge pages; undefined while there are none. */
  scalars: Map<string, number> | undefined = undefined;

  static of(list: ResourceList | undefined): Resources {
    const result = new Resources();
    if (list !== undefined) for (const name of Object.keys(list)) result.set(name, list[name]!);
    return result;
  }

  set(name: string, quantity: string): void {
    if (name === 'cpu') this.cpuMilli = milli(quantity);
    else if (name === 'memory') this.memoryBytes = whole(quantity);
    else if (name === 'ephemeral-storage') this.ephemeralBytes = whole(quantity);
    else if (name !== 'pods') (this.scalars ??= new Map()).set(name, whole(quantity));
  }

  get(name: string): number {
    if (name === 'cpu') return this.cpuMilli;
    if (name === 'memory') return this.memoryBytes;
    if (name === 'ephemeral-storage') return this.ephemeralBytes;
    return this.scalars?.get(name) ?? 0;
  }

  clone(): Resources {
    const result = new Resources();
    result.add(this);
    return result;
  }

  add(other: Resources, sign = 1): void {
    this.cpuMilli += sign * other.cpuMilli;
    this.memoryBytes += sign * other.memoryBytes;
    this.ephemeralBytes += sign * other.ephemeralBytes;
    if (other.scalars === undefined) return;
    this.scalars ??= new Map();
    for (const [name, amount] of other.scalars) this.scalars.set(name, (this.scalars.get(name) ?? 0) + sign * amount);
  }

  raiseTo(other: Resources): void {
    this.cpuMilli = Math.max(this.cpuMilli, other.cpuMilli);
    this.memoryBytes = Math.max(this.memoryBytes, other.memoryBytes);
    this.ephemeralBytes = Math.max(this.ephemeralBytes, other.ephemeralBytes);
    if (other.scalars === undefined) return;
    this.scalars ??= new Map();
    for (const [name, amount] of other.scalars) this.scalars.set(name, Math.max(this.scalars.get(name) ?? 0, amount));
  }
}

const suffixes: Readonly<Record<string, number>> = {
  '': 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const quantityPattern = /^([+-]?[0-9]*\.?[0-9]*)(?:[eE]([+-]?[0-9]+)|([numkKMGTPEi]{0,2}))$/;

/** `quantity` times `scale`, rounded up as upstream's Value and MilliValue do; 0 for what is no quantity (the server refuses those). */
function scaled(quantity: string, scale: number): number {
  const match = quantityPattern.exec(quantity);
  const factor = match?.[3] === undefined ? 1 : suffixes[match[3]];
  if (match === null || factor === undefined) return 0;
  const exponent = match[2] === undefined ? '' : `e${match[2]}`;
  const value = Number(`${match[1]}${exponent}`) * scale * factor;
  // Rounding errors of the decimal fraction must not round 100.00000000000001 up to 101.
  const nearest = Math.round(value);
  return Math.abs(value - nearest) <= Math.abs(value) * 1e-12 ? nearest : Math.ceil(value);
}

const milliOf = new LRUCache<string, number>({ max: 4096 });
const wholeOf = new LRUCache<string, number>({ max: 4096 });

export function milli(quantity: string): number {
  let value = milliOf.get(quantity);
  if (value === undefined) milliOf.set(quantity, (value = scaled(quantity, 1000)));
  return value;
}

export function whole(quantity: string): number {
  let value = wholeOf.get(quantity);
  if (value === undefined) wholeOf.set(quantity, (value = scaled(quantity, 1)));
  return value;
}

/** What scoring takes for containers that request nothing, so that they spread too. */
const defaultCpuMilli = 100;
const defaultMemoryBytes = 200 * 1024 * 1024;

type Requests = (container: Frozen<Container>) => Resources;

/**
 * What a pod takes of a node: containers and sidecars together, or the largest init container if that is more, plus overhead;
 * pod-level requests stand in for what they name (KEP-2837). While a resize is under way, the largest of what is wanted,
 * allocated and in use (KEP-1287).
 */
export function podRequests(pod: Frozen<Pod>): Resources {
  return sum(pod, requestsOf(pod));
}

/** The same with a minimum of CPU and memory for every container that names none. */
export function nonZeroRequests(pod: Frozen<Pod>): Resources {
  const actual = requestsOf(pod);
  return sum(pod, (container) => {
    const requests = actual(container).clone();
    const named = container.resources?.requests;
    if (named?.['cpu'] === undefined) requests.cpuMilli = defaultCpuMilli;
    if (named?.['memory'] === undefined) requests.memoryBytes = defaultMemoryBytes;
    return requests;
  });
}

function requestsOf(pod: Frozen<Pod>): Requests {
  const infeasible = pod.status?.conditions?.some(
    (condition) => condition.type === 'PodResizePending' && condition.reason === 'Infeasible',
  );
  const statuses = new Map(
    [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].map((status) => [
      status.name,
      status,
    ]),
  );
  return (container) => {
    const wanted = Resources.of(container.resources?.requests);
    const status = statuses.size === 0 ? undefined : statuses.get(container.name);
    if (status?.resources === undefined && status?.allocatedResources === undefined) return wanted;
    const held = Resources.of(status.resources?.requests);
    held.raiseTo(Resources.of(status.allocatedResources));
    if (!infeasible) held.raiseTo(wanted);
    return held;
  };
}

function sum(pod: Frozen<Pod>, requests: Requests): Resources {
  const total = new Resources();
  for (const container of pod.spec.containers) total.add(requests(container));
  const sidecars = new Resources();
  const initPeak = new Resources();
  for (const container of pod.spec.initContainers ?? []) {
    const own = requests(container);
    if (container.restartPolicy === 'Always') {
      total.add(own);
      sidecars.add(own);
      initPeak.raiseTo(sidecars);
    } else {
      const peak = own.clone();
      peak.add(sidecars);
      initPeak.raiseTo(peak);
    }
  }
  total.raiseTo(initPeak);
  applyPodLevel(total, pod.spec.resources);
  if (pod.spec.overhead !== undefined) total.add(Resources.of(pod.spec.overhead));
  return total;
}

function applyPodLevel(total: Resources, resources: Frozen<ResourceRequirements> | undefined): void {
  for (const [name, quantity] of Object.entries(resources?.requests ?? {}))
    if (name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')) total.set(name, quantity);
}

// Owns what a pod asks for in all: containers, init containers, sidecars, pod-level resources, overhead (KEPs 753 and 2837).
import type { Container, PodSpec, ResourceRequirements } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { addQuantities, compareQuantities, formatQuantity, parseQuantity, type Quantity } from '../quantity.ts';

/** Amounts by resource name. */
export type Amounts = ReadonlyMap<string, Quantity>;

type Side = 'requests' | 'limits';

/** Of these, pod-level resources stand in place of the containers' sum; hugepages likewise. */
const podLevel = (name: string): boolean => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');

export function podRequests(spec: Frozen<PodSpec>): Amounts {
  return podSum(spec, 'requests');
}

/** Only what is limited counts: a container without a limit adds nothing. */
export function podLimits(spec: Frozen<PodSpec>): Amounts {
  return podSum(spec, 'limits');
}

function podSum(spec: Frozen<PodSpec>, side: Side): Amounts {
  const total = containersSum(spec, side);
  for (const [name, amount] of amountsOf(spec.resources, side)) if (podLevel(name)) total.set(name, amount);
  // Overhead of the runtime is asked for always, and limited where there is a limit at all.
  for (const [name, text] of Object.entries(spec.overhead ?? {}))
    if (side === 'requests' || total.has(name)) add(total, name, parseQuantity(text));
  return total;
}

/** The larger of what runs in the end and of what runs while each init container does; sidecars run on from their turn. */
function containersSum(spec: Frozen<PodSpec>, side: Side): Map<string, Quantity> {
  const total = new Map<string, Quantity>();
  for (const container of spec.containers ?? []) addAll(total, amountsOf(container.resources, side));
  const sidecars = new Map<string, Quantity>();
  const peak = new Map<string, Quantity>();
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container.resources, side);
    if (isSidecar(container)) {
      addAll(total, own);
      addAll(sidecars, own);
      raise(peak, sidecars);
    } else {
      const during = new Map(sidecars);
      addAll(during, own);
      raise(peak, during);
    }
  }
  raise(total, peak);
  return total;
}

export function isSidecar(container: Frozen<Container>): boolean {
  return container.restartPolicy === 'Always';
}

function amountsOf(resources: Frozen<ResourceRequirements> | undefined, side: Side): Map<string, Quantity> {
  return new Map(Object.entries(resources?.[side] ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

function add(total: Map<string, Quantity>, name: string, amount: Quantity): void {
  const before = total.get(name);
  total.set(name, before === undefined ? amount : addQuantities(before, amount));
}

function addAll(total: Map<string, Quantity>, amounts: Amounts): void {
  for (const [name, amount] of amounts) add(total, name, amount);
}

function raise(total: Map<string, Quantity>, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const before = total.get(name);
    if (before === undefined || compareQuantities(before, amount) < 0) total.set(name, amount);
  }
}

/** As a ResourceList, with canonical texts. */
export function resourceList(amounts: Amounts): Record<string, string> {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));
}

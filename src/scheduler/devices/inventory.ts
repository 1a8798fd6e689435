// Owns which devices there are: resource slices gathered into pools, the newest generation of each, and what is taken. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { NodeSelector } from '../../api/generated/core.v1.ts';
import type {
  Device,
  DeviceTaint,
  DeviceTaintRule,
  ResourceClaim,
  ResourceSlice,
} from '../../api/generated/resource.v1.ts';
import { type NodeMatcher, nodeSelectorMatcher, type Selectable } from '../node-selector.ts';
import { whole } from '../resources.ts';

/** Where a device can be used from. */
type Reach =
  | { readonly nodeName: string }
  | { readonly selector: Frozen<NodeSelector>; readonly matches: NodeMatcher }
  | 'all';

export interface PoolDevice {
  readonly id: string;
  readonly pool: Pool;
  readonly device: Frozen<Device>;
  readonly reach: Reach;
  readonly taints: readonly Frozen<DeviceTaint>[];
}

export interface Pool {
  readonly driver: string;
  readonly name: string;
  /** False while slices of the newest generation are missing: then nothing of it may be given out. */
  readonly complete: boolean;
  readonly devices: PoolDevice[];
  /** "set/counter" to how much there is. */
  readonly counters: ReadonlyMap<string, number>;
}

function deviceId(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`;
}

export function poolsOf(
  slices: readonly Frozen<ResourceSlice>[],
  rules: readonly Frozen<DeviceTaintRule>[],
): readonly Pool[] {
  const grouped = new Map<string, Frozen<ResourceSlice>[]>();
  for (const slice of slices) {
    const { driver, pool } = slice.spec;
    const key = `${driver}/${pool.name}`;
    const known = grouped.get(key);
    if (known === undefined) grouped.set(key, [slice]);
    else if (pool.generation > known[0]!.spec.pool.generation) grouped.set(key, [slice]);
    else if (pool.generation === known[0]!.spec.pool.generation) known.push(slice);
  }
  return [...grouped.values()].map((members) => poolOf(members, rules));
}

function poolOf(slices: readonly Frozen<ResourceSlice>[], rules: readonly Frozen<DeviceTaintRule>[]): Pool {
  const { driver, pool } = slices[0]!.spec;
  const counters = new Map<string, number>();
  for (const { spec } of slices)
    for (const set of spec.sharedCounters ?? [])
      for (const [name, { value }] of Object.entries(set.counters ?? {}))
        counters.set(`${set.name}/${name}`, whole(value));
  const devices: PoolDevice[] = [];
  const result: Pool = {
    driver,
    name: pool.name,
    complete: slices.length === pool.resourceSliceCount,
    devices,
    counters,
  };
  for (const { spec } of slices.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)))
    for (const device of spec.devices ?? [])
      devices.push({
        id: deviceId(driver, pool.name, device.name),
        pool: result,
        device,
        reach: reachOf(spec.perDeviceNodeSelection === true ? device : spec),
        taints: [...(device.taints ?? []), ...ruledTaints(rules, driver, pool.name, device.name)],
      });
  return result;
}

function reachOf(from: {
  readonly nodeName?: string;
  readonly nodeSelector?: Frozen<NodeSelector>;
  readonly allNodes?: boolean;
}): Reach {
  if (from.nodeName !== undefined && from.nodeName !== '') return { nodeName: from.nodeName };
  if (from.nodeSelector !== undefined)
    return { selector: from.nodeSelector, matches: nodeSelectorMatcher(from.nodeSelector) };
  return 'all';
}

function ruledTaints(
  rules: readonly Frozen<DeviceTaintRule>[],
  driver: string,
  pool: string,
  device: string,
): readonly Frozen<DeviceTaint>[] {
  return rules.flatMap(({ spec: { deviceSelector: selector, taint } }) => {
    if (selector === undefined || taint === undefined) return [];
    const fits =
      (selector.driver ?? driver) === driver &&
      (selector.pool ?? pool) === pool &&
      (selector.device ?? device) === device;
    return fits ? [taint] : [];
  });
}

export function reaches({ reach }: PoolDevice, node: Selectable): boolean {
  if (reach === 'all') return true;
  return 'nodeName' in reach ? reach.nodeName === node.name : reach.matches(node);
}

/** Devices that allocated claims hold (not those looked at with admin access). */
export function takenBy(claims: Iterable<Frozen<ResourceClaim>>): Set<string> {
  const taken = new Set<string>();
  for (const { status } of claims)
    for (const { driver, pool, device, adminAccess } of status?.allocation?.devices?.results ?? [])
      if (adminAccess !== true) taken.add(deviceId(driver, pool, device));
  return taken;
}

/** What the taken devices of a pool leave of its counters. */
export function countersLeft(pool: Pool, taken: ReadonlySet<string>): Map<string, number> {
  const left = new Map(pool.counters);
  for (const device of pool.devices) if (taken.has(device.id)) spendCounters(left, device, 1);
  return left;
}

/** Takes (or with -1 gives back) what the device uses. Answers false when that is more than there is; then nothing is taken. */
export function spendCounters(left: Map<string, number>, { device }: PoolDevice, sign: 1 | -1): boolean {
  const uses = (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters ?? {}).map(([name, { value }]) => [`${counterSet}/${name}`, whole(value)] as const),
  );
  if (sign === 1 && uses.some(([key, amount]) => (left.get(key) ?? 0) < amount)) return false;
  for (const [key, amount] of uses) left.set(key, (left.get(key) ?? 0) - sign * amount);
  return true;
}

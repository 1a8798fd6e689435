// Owns choosing devices for claims on one node: a depth-first search that takes the first combination that satisfies everything. Pure.
import type { Frozen } from '../../api/meta.ts';
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceClaimConfiguration,
  DeviceClass,
  DeviceClassConfiguration,
  DeviceConstraint,
  DeviceRequestAllocationResult,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
} from '../../api/generated/resource.v1.ts';
import type { NodeSelector, NodeSelectorTerm } from '../../api/generated/core.v1.ts';
import { thaw } from '../../api/meta.ts';
import type { Selectable } from '../node-selector.ts';
import { countersLeft, type Pool, type PoolDevice, reaches, spendCounters } from './inventory.ts';
import { attributeText, selects } from './selectors.ts';

export interface AllocationInput {
  readonly claims: readonly Frozen<ResourceClaim>[];
  readonly pools: readonly Pool[];
  readonly taken: ReadonlySet<string>;
  readonly class: (name: string) => Frozen<DeviceClass> | undefined;
}

export interface Allocation {
  readonly claim: Frozen<ResourceClaim>;
  readonly result: AllocationResult;
  /** Which of its alternatives each prioritized request got, from 0. */
  readonly choices: readonly number[];
}

/** One way to satisfy one request. */
interface Wish {
  readonly name: string;
  /** The request's own name, which constraints may use for all its alternatives. */
  readonly parent: string;
  readonly exact: Frozen<ExactDeviceRequest>;
  readonly choice: number | undefined;
}

interface Pick {
  readonly claimAt: number;
  readonly wish: Wish;
  readonly device: PoolDevice;
}

/** How many steps a search may take before it counts as failed: hostile claims must not stop the scheduler. */
const maxSteps = 100_000;

/** undefined when the node cannot satisfy all claims. Throws CelError when a selector fails on a device. */
export function allocate(input: AllocationInput, node: Selectable): readonly Allocation[] | undefined {
  const search = new Search(input, node);
  return search.run() ? search.result() : undefined;
}

class Search {
  readonly #input: AllocationInput;
  readonly #node: Selectable;
  readonly #devices: readonly PoolDevice[];
  readonly #picks: Pick[] = [];
  readonly #used = new Set<string>();
  readonly #left = new Map<Pool, Map<string, number>>();
  readonly #matching = new Map<Frozen<ExactDeviceRequest>, readonly PoolDevice[]>();
  #steps = 0;

  constructor(input: AllocationInput, node: Selectable) {
    this.#input = input;
    this.#node = node;
    this.#devices = input.pools.flatMap(({ devices }) => devices.filter((device) => reaches(device, node)));
  }

  run(): boolean {
    return this.#claim(0);
  }

  #claim(claimAt: number): boolean {
    const claim = this.#input.claims[claimAt];
    return claim === undefined || this.#request(claimAt, 0);
  }

  #request(claimAt: number, requestAt: number): boolean {
    const request = this.#input.claims[claimAt]!.spec.devices.requests[requestAt];
    if (request === undefined) return this.#claim(claimAt + 1);
    const wishes: Wish[] = request.exactly
      ? [{ name: request.name, parent: request.name, exact: request.exactly, choice: undefined }]
      : (request.firstAvailable ?? []).map((sub, choice) => ({
          name: `${request.name}/${sub.name}`,
          parent: request.name,
          exact: sub,
          choice,
        }));
    const next = () => this.#request(claimAt, requestAt + 1);
    return wishes.some((wish) => this.#wish(claimAt, wish, next));
  }

  #wish(claimAt: number, wish: Wish, next: () => boolean): boolean {
    const matching = this.#matchingFor(wish.exact);
    if (wish.exact.allocationMode !== 'All') return this.#some(claimAt, wish, matching, 0, wish.exact.count ?? 1, next);
    // All means all: one that is taken, or that the node has yet to hear of, spoils it.
    if (matching.length === 0 || matching.some(({ pool }) => !pool.complete)) return false;
    return this.#all(claimAt, wish, matching, 0, next);
  }

  /** Devices that could serve, in order, without regard to who holds them. */
  #matchingFor(exact: Frozen<ExactDeviceRequest>): readonly PoolDevice[] {
    let matching = this.#matching.get(exact);
    if (matching === undefined) {
      const deviceClass = this.#input.class(exact.deviceClassName);
      const expressions = [...(deviceClass?.spec.selectors ?? []), ...(exact.selectors ?? [])].map(
        ({ cel }) => cel?.expression,
      );
      matching =
        deviceClass === undefined
          ? []
          : this.#devices.filter(({ pool, device }) =>
              expressions.every((expression) => expression === undefined || selects(expression, pool.driver, device)),
            );
      this.#matching.set(exact, matching);
    }
    return matching;
  }

  #some(
    claimAt: number,
    wish: Wish,
    matching: readonly PoolDevice[],
    from: number,
    count: number,
    next: () => boolean,
  ): boolean {
    if (count === 0) return next();
    for (let at = from; at + count <= matching.length; at++)
      if (this.#with(claimAt, wish, matching[at]!, () => this.#some(claimAt, wish, matching, at + 1, count - 1, next)))
        return true;
    return false;
  }

  #all(claimAt: number, wish: Wish, matching: readonly PoolDevice[], at: number, next: () => boolean): boolean {
    if (at === matching.length) return next();
    return this.#with(claimAt, wish, matching[at]!, () => this.#all(claimAt, wish, matching, at + 1, next));
  }

  /** Takes the device, goes on, and gives it back when that leads nowhere. */
  #with(claimAt: number, wish: Wish, device: PoolDevice, go: () => boolean): boolean {
    if (++this.#steps > maxSteps) return false;
    const admin = wish.exact.adminAccess === true;
    if (!device.pool.complete || !toleratesAll(wish.exact.tolerations, device)) return false;
    if (!admin && (this.#input.taken.has(device.id) || this.#used.has(device.id))) return false;
    if (!this.#agrees(claimAt, wish, device)) return false;
    const left = this.#countersOf(device.pool);
    if (!admin && !spendCounters(left, device, 1)) return false;
    if (!admin) this.#used.add(device.id);
    this.#picks.push({ claimAt, wish, device });
    if (go()) return true;
    this.#picks.pop();
    if (!admin) {
      this.#used.delete(device.id);
      spendCounters(left, device, -1);
    }
    return false;
  }

  #countersOf(pool: Pool): Map<string, number> {
    let left = this.#left.get(pool);
    if (left === undefined) this.#left.set(pool, (left = countersLeft(pool, this.#input.taken)));
    return left;
  }

  #agrees(claimAt: number, wish: Wish, device: PoolDevice): boolean {
    const constraints = this.#input.claims[claimAt]!.spec.devices.constraints ?? [];
    return constraints.every((constraint) => {
      if (!concerns(constraint, wish)) return true;
      const name = constraint.matchAttribute ?? constraint.distinctAttribute;
      if (name === undefined) return true;
      const value = attributeText(device.pool.driver, device.device, name);
      if (value === undefined) return false;
      const others = this.#picks.filter((pick) => pick.claimAt === claimAt && concerns(constraint, pick.wish));
      const equal = (pick: Pick) => attributeText(pick.device.pool.driver, pick.device.device, name) === value;
      return constraint.matchAttribute !== undefined ? others.every(equal) : !others.some(equal);
    });
  }

  result(): readonly Allocation[] {
    return this.#input.claims.map((claim, claimAt) => {
      const picks = this.#picks.filter((pick) => pick.claimAt === claimAt);
      const config = configOf(claim, picks, this.#input.class);
      const selector = selectorOf(picks, this.#node.name);
      return {
        claim,
        choices: [...new Map(picks.map(({ wish }) => [wish.parent, wish.choice])).values()].filter(
          (choice) => choice !== undefined,
        ),
        result: {
          devices: { results: picks.map(resultOf), ...(config.length > 0 && { config }) },
          ...(selector !== undefined && { nodeSelector: selector }),
        },
      };
    });
  }
}

function concerns({ requests = [] }: Frozen<DeviceConstraint>, { name, parent }: Wish): boolean {
  return requests.length === 0 || requests.includes(name) || requests.includes(parent);
}

function toleratesAll(tolerations: readonly Frozen<DeviceToleration>[] = [], { taints }: PoolDevice): boolean {
  return taints
    .filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute')
    .every((taint) =>
      tolerations.some(
        ({ key, operator = 'Equal', value, effect }) =>
          (!effect || effect === taint.effect) &&
          (!key || key === taint.key) &&
          (operator === 'Exists' || (key === taint.key && (value ?? '') === (taint.value ?? ''))),
      ),
    );
}

function resultOf({ wish, device }: Pick): DeviceRequestAllocationResult {
  const { adminAccess, tolerations } = wish.exact;
  const { bindingConditions, bindingFailureConditions } = device.device;
  return {
    request: wish.name,
    driver: device.pool.driver,
    pool: device.pool.name,
    device: device.device.name,
    ...(adminAccess === true && { adminAccess }),
    ...(tolerations !== undefined && tolerations.length > 0 && { tolerations: thaw<DeviceToleration[]>(tolerations) }),
    ...(bindingConditions !== undefined && { bindingConditions: [...bindingConditions] }),
    ...(bindingFailureConditions !== undefined && { bindingFailureConditions: [...bindingFailureConditions] }),
  };
}

function configOf(
  claim: Frozen<ResourceClaim>,
  picks: readonly Pick[],
  classOf: AllocationInput['class'],
): DeviceAllocationConfiguration[] {
  const wishes = new Map(picks.map(({ wish }) => [wish.name, wish]));
  const fromClass = [...wishes.values()].flatMap(({ name, exact }) =>
    (classOf(exact.deviceClassName)?.spec.config ?? []).map((config) => ({
      source: 'FromClass',
      requests: [name],
      ...thaw<DeviceClassConfiguration>(config),
    })),
  );
  const fromClaim = (claim.spec.devices.config ?? []).map((config) => ({
    source: 'FromClaim',
    ...thaw<DeviceClaimConfiguration>(config),
  }));
  return [...fromClass, ...fromClaim];
}

/** From where all devices of the claim can be used; undefined: from everywhere. */
function selectorOf(picks: readonly Pick[], nodeName: string): NodeSelector | undefined {
  const terms: NodeSelectorTerm[] = [];
  for (const { device } of picks) {
    const { reach } = device;
    if (reach === 'all') continue;
    if ('nodeName' in reach)
      return {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
      };
    const term = thaw<NodeSelectorTerm>(reach.selector.nodeSelectorTerms[0] ?? {});
    if (!terms.some((known) => JSON.stringify(known) === JSON.stringify(term))) terms.push(term);
  }
  if (terms.length <= 1) return terms[0] && { nodeSelectorTerms: [terms[0]] };
  // A device selector has one term; all of them must hold together.
  const matchExpressions = terms.flatMap((term) => term.matchExpressions ?? []);
  const matchFields = terms.flatMap((term) => term.matchFields ?? []);
  return {
    nodeSelectorTerms: [
      { ...(matchExpressions.length > 0 && { matchExpressions }), ...(matchFields.length > 0 && { matchFields }) },
    ],
  };
}

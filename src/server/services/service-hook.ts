// Owns giving services their addresses and ports when they are stored, and taking them back; IPAddress objects tell of it.
import type { Service, ServiceSpec } from '../../api/generated/core.v1.ts';
import { invalid, statusError } from '../../api/status-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { randomInteger, randomUuid } from '../../base/random.ts';
import type { Operation, Store } from '../../store/store.ts';
import type { Collection } from '../served/served.ts';
import { TakenMeanwhile } from '../storage/together.ts';
import type { Attempt, Together } from '../storage/together.ts';
import type { StoreHook, Taken } from '../store-hook.ts';
import { timeText } from '../verbs/metadata.ts';
import type { Allocations } from './allocations.ts';
import type { ServiceMetrics } from '../metrics/services.ts';
import type { IpRange } from './ip-range.ts';
import { addressObject, ipsOf, portsOf } from './plan-repair.ts';
import type { NodePortLedger, PortRange } from './node-port-ledger.ts';
import { assignFamilies, type Family, familyOf, isSettled } from './ip-families.ts';
import { alignClusterIPs, keepAllocations } from '../resources/core/service-update.ts';

export interface ServiceHookDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly allocations: Allocations;
  /** Of the flags: they say which families there are, the primary first. */
  readonly ranges: readonly IpRange[];
  /** Of the ServiceCIDR objects that are ready. */
  readonly announced: () => readonly IpRange[];
  readonly nodePorts: PortRange;
  readonly ledger: NodePortLedger;
  /** Of IPAddress objects. */
  readonly addresses: Collection;
  readonly metrics?: ServiceMetrics;
}

type ServiceObject = KubeObject & Service;

const kind = { group: '', kind: 'Service' };

/** What one write has taken so far. */
interface Draft {
  readonly claims: string[];
  readonly ips: string[];
  readonly ports: number[];
  /** Of these, what the client named: how to refuse it when another server was faster. */
  readonly named: Map<string, (why: string) => never>;
}

class Refused extends Error {
  readonly why: FieldError;
  constructor(why: FieldError) {
    super(why.message);
    this.why = why;
  }
}

export function serviceHook(deps: ServiceHookDeps): StoreHook {
  const { allocations, ranges, nodePorts, store, addresses, ledger, clock, metrics } = deps;

  const families = [...new Set(ranges.map(({ family }) => family))];

  /** One range, or several once ServiceCIDRs were added; those of the flags until the first is there. */
  function rangesOf(family: Family): readonly IpRange[] {
    const found = deps.announced().filter((range) => range.family === family);
    return found.length > 0 ? found : ranges.filter((range) => range.family === family);
  }

  function assignIps(spec: ServiceSpec, prev: Frozen<ServiceSpec> | undefined, draft: Draft, dryRun: boolean): void {
    if (spec.clusterIPs?.[0] === 'None' || isSettled(spec, prev)) return;
    const given = spec.clusterIPs ?? [];
    const held = prev?.type === 'ExternalName' ? [] : (prev?.clusterIPs ?? []);
    // An update gives addresses where there are none yet; what becomes of those that are there is validation's to say.
    const first = held.length;
    const ips = [...given];
    for (const [at, family] of spec.ipFamilies!.entries()) {
      if (at < first) continue;
      const wanted = given[at] ?? '';
      const ranged = rangesOf(family as Family);
      ips[at] = wanted === '' ? newIp(ranged, draft, dryRun) : chosenIp(wanted, spec, draft, dryRun);
    }
    spec.clusterIPs = ips;
    if (ips[0]) spec.clusterIP = ips[0];
  }

  function newIp(from: readonly IpRange[], draft: Draft, dryRun: boolean): string {
    const startMs = clock.monotonic();
    const start = randomInteger(deps.random, Math.max(from.length, 1));
    for (let step = 0; step < from.length; step++) {
      const range = from[(start + step) % from.length]!;
      const ip = allocations.freeIp(range);
      if (ip === undefined) {
        if (!dryRun) metrics?.address(range.cidr, 'dynamic', undefined);
        continue;
      }
      claim(ip, draft);
      draft.ips.push(ip);
      if (!dryRun) metrics?.address(range.cidr, 'dynamic', (clock.monotonic() - startMs) / 1000);
      return ip;
    }
    throw statusError('InternalError', 'failed to allocate a serviceIP: range is full');
  }

  function chosenIp(ip: string, spec: ServiceSpec, draft: Draft, dryRun: boolean): string {
    const refuse = (why: string): never => {
      const detail = `failed to allocate IP ${ip}: ${why}`;
      throw new Refused(fieldError.invalid('spec.clusterIPs', spec.clusterIPs, detail));
    };
    const startMs = clock.monotonic();
    const allowed = rangesOf(familyOf(ip));
    const range = allowed.find((one) => one.contains(ip));
    if (range === undefined)
      refuse(
        `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${allowed.map(({ cidr }) => cidr).join(', ')}`,
      );
    const cidr = range?.cidr ?? '';
    if (allocations.isTaken(ip) && !dryRun) {
      metrics?.address(cidr, 'static', undefined);
      refuse('provided IP is already allocated');
    }
    draft.named.set(ip, refuse);
    claim(ip, draft);
    draft.ips.push(ip);
    if (!dryRun) metrics?.address(cidr, 'static', (clock.monotonic() - startMs) / 1000);
    return ip;
  }

  function claim(what: string, draft: Draft): void {
    allocations.reserve(what);
    draft.claims.push(what);
  }

  function claimPort(port: number, draft: Draft): void {
    claim(`port ${port}`, draft);
    draft.ports.push(port);
  }

  /** What the client names first, in the order of the list; then the rest. */
  function assignPorts(
    spec: ServiceSpec,
    draft: Draft,
    isUpdate: boolean,
    held: ReadonlySet<string>,
    dryRun: boolean,
  ): void {
    if (spec.type !== 'NodePort' && spec.type !== 'LoadBalancer') return;
    const gives = spec.type === 'NodePort' || spec.allocateLoadBalancerNodePorts !== false;
    const byPort = new Map<number, number>();
    const mine = new Set(held);
    for (const [at, port] of (spec.ports ?? []).entries()) {
      if (!port.nodePort && !gives) continue;
      const known = byPort.get(port.port);
      // One number serves TCP and UDP of the same port.
      const wanted =
        port.nodePort || known || spec.ports!.find((other) => other.port === port.port && other.nodePort)?.nodePort;
      if (!wanted || (isUpdate && !port.nodePort)) port.nodePort = newPort(draft, dryRun);
      else {
        if (known !== wanted && !(isUpdate && mine.has(`port ${wanted}`))) takePort(wanted, at, draft, dryRun);
        port.nodePort = wanted;
      }
      mine.add(`port ${port.nodePort}`);
      if (known === undefined) byPort.set(port.port, port.nodePort);
    }
  }

  function takePort(port: number, at: number, draft: Draft, dryRun: boolean): void {
    const refuse = (why: string): never => {
      throw new Refused(fieldError.invalid(`spec.ports[${at}].nodePort`, port, why));
    };
    // A trial run looks at what is taken, not at the range, as upstream does.
    if (!dryRun && (port < nodePorts.from || port > nodePorts.to))
      refuse(`provided port is not in the valid range. The range of valid ports is ${nodePorts.from}-${nodePorts.to}`);
    const name = `port ${port}`;
    if (draft.claims.includes(name) || allocations.isTaken(name)) {
      if (!dryRun) metrics?.port('static', false);
      refuse('provided port is already allocated');
    }
    draft.named.set(name, refuse);
    claimPort(port, draft);
    if (!dryRun) metrics?.port('static', true);
  }

  function newPort(draft: Draft, dryRun: boolean): number {
    const port = allocations.freePort(nodePorts.from, nodePorts.to, (one) => ledger.has(one));
    if (!dryRun) metrics?.port('dynamic', port !== undefined);
    if (port === undefined) throw statusError('InternalError', 'failed to allocate a nodePort: range is full');
    claimPort(port, draft);
    return port;
  }

  function assignHealthPort(spec: ServiceSpec, draft: Draft, held: ReadonlySet<string>, dryRun: boolean): void {
    if (spec.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local') return;
    if (!spec.healthCheckNodePort) {
      spec.healthCheckNodePort = newPort(draft, dryRun);
      return;
    }
    const wanted = `port ${spec.healthCheckNodePort}`;
    if (held.has(wanted)) return;
    const port = spec.healthCheckNodePort;
    const refuse = (why: string): never => {
      throw statusError('InternalError', `failed to allocate requested HealthCheck NodePort ${port}: ${why}`);
    };
    if (allocations.isTaken(wanted)) {
      if (!dryRun) metrics?.port('static', false);
      refuse('provided port is already allocated');
    }
    draft.named.set(wanted, refuse);
    claimPort(port, draft);
    if (!dryRun) metrics?.port('static', true);
  }

  async function assign(
    service: ServiceObject,
    prev: Frozen<ServiceObject> | undefined,
    dryRun: boolean,
  ): Promise<Draft> {
    const draft: Draft = { claims: [], ips: [], ports: [], named: new Map() };
    const { spec } = service;
    if (spec === undefined) return draft;
    if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') await ledger.look();
    const before = prev?.spec;
    const held = new Set(prev === undefined ? [] : portsOf(prev).map((port) => `port ${port}`));
    try {
      if (before !== undefined) keepAllocations(spec, before);
      alignClusterIPs(spec, before);
      const wrong = assignFamilies(spec, before, families);
      if (wrong.length > 0) throw invalid(kind, service.metadata.name ?? '', wrong);
      if (spec.type !== 'ExternalName') assignIps(spec, before, draft, dryRun);
      assignPorts(spec, draft, prev !== undefined, held, dryRun);
      assignHealthPort(spec, draft, held, dryRun);
    } catch (error) {
      allocations.settle(draft.claims);
      throw asInvalid(error, service);
    }
    return draft;
  }

  function addressOf(ip: string, { metadata }: Frozen<KubeObject>): Operation {
    const object = addressObject(ip, metadata.namespace, metadata.name) as KubeObject;
    object.metadata = {
      ...object.metadata,
      uid: randomUuid(deps.random),
      creationTimestamp: timeText(deps.clock.now()),
    };
    const frozen = freeze(addresses.codec.canonical(object)) as KubeObject;
    return { type: 'put', key: addresses.prefix + ip, value: addresses.codec.encode(frozen) };
  }

  /** What the write of `made` needs beside itself: the addresses and ports of the draft are free, and `gone` is given back. */
  function together(draft: Draft, made: Frozen<KubeObject>, gone: Freed): Together {
    const keys = draft.ips.map((ip) => addresses.prefix + ip);
    const ours: Attempt = {
      compare: keys.map((key) => ({ key, target: 'version', is: '=', value: 0 })),
      operations: [
        ...draft.ips.map((ip) => addressOf(ip, made)),
        ...gone.ips.map((ip): Operation => ({ type: 'delete', range: { start: addresses.prefix + ip } })),
      ],
    };
    const unavailable = (what: string, why: string): void => {
      const refuse = draft.named.get(what);
      if (refuse === undefined) throw new TakenMeanwhile(what);
      try {
        refuse(why);
      } catch (error) {
        throw asInvalid(error, made);
      }
    };
    return {
      async attempt(again) {
        // A try that failed may have failed by an address.
        for (const ip of again ? draft.ips : [])
          if ((await store.range({ start: addresses.prefix + ip }, { countOnly: true })).count > 0)
            unavailable(ip, 'provided IP is already allocated');
        if (draft.ports.length === 0 && gone.ports.length === 0) return ours;
        const { attempt, ...rest } = await ledger.begin(draft.ports, gone.ports);
        if (attempt === undefined) {
          for (const port of (rest as { readonly taken: readonly number[] }).taken)
            unavailable(`port ${port}`, 'provided port is already allocated');
          throw new TakenMeanwhile('ports');
        }
        return {
          ...attempt,
          compare: [...ours.compare, ...attempt.compare],
          operations: [...ours.operations, ...attempt.operations],
        };
      },
    };
  }

  return {
    group: '',
    resource: 'services',
    async create(object, { dryRun }): Promise<Taken | undefined> {
      const service = object as ServiceObject;
      const draft = await assign(service, undefined, dryRun);
      if (dryRun) {
        allocations.settle(draft.claims);
        return undefined;
      }
      return {
        with: (made) => together(draft, made, { ips: [], ports: [] }),
        done: () => allocations.settle(draft.claims),
      };
    },
    async update(next, prev, { dryRun }): Promise<Taken | undefined> {
      const service = next as ServiceObject;
      const before = prev as Frozen<ServiceObject>;
      const draft = await assign(service, before, dryRun);
      if (dryRun) {
        allocations.settle(draft.claims);
        return undefined;
      }
      return {
        with: (made) => together(draft, made, freedBy(before, made as Frozen<ServiceObject>)),
        done: () => allocations.settle(draft.claims),
      };
    },
    delete: (object) =>
      together({ claims: [], ips: [], ports: [], named: new Map() }, object, freedBy(object as Frozen<ServiceObject>)),
  };
}

/** What a change, or the end, of a service gives back. */
interface Freed {
  readonly ips: readonly string[];
  readonly ports: readonly number[];
}

function freedBy(before: Frozen<ServiceObject>, after?: Frozen<ServiceObject>): Freed {
  const [ips, ports] = after === undefined ? [[], []] : [ipsOf(after), portsOf(after)];
  return {
    ips: ipsOf(before).filter((ip) => !ips.includes(ip)),
    ports: portsOf(before).filter((port) => !ports.includes(port)),
  };
}

function asInvalid(error: unknown, { metadata }: Frozen<KubeObject>): unknown {
  return error instanceof Refused ? invalid(kind, metadata.name ?? '', [error.why]) : error;
}

/** "30000-32767". Throws for anything else. */
export function portRange(text: string): PortRange {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text);
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || from < 1 || to > 65_535 || from > to) throw new Error(`"${text}" is no range of ports`);
  return { from, to };
}

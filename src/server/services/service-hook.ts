// Owns giving services their addresses and ports when they are stored, and taking them back; IPAddress objects tell of it.
import type { Service, ServiceSpec } from '../../api/generated/core.v1.ts';
import { invalid, statusError } from '../../api/status-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { randomUuid } from '../../base/random.ts';
import type { Operation, Store } from '../../store/store.ts';
import type { Collection } from '../served/served.ts';
import type { StoreHook, Taken } from '../store-hook.ts';
import { timeText } from '../verbs/metadata.ts';
import type { Allocations } from './allocations.ts';
import type { IpRange } from './ip-range.ts';
import { isIPv4 } from 'node:net';

export interface ServiceHookDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly allocations: Allocations;
  /** The primary first. */
  readonly ranges: readonly IpRange[];
  readonly nodePorts: { readonly from: number; readonly to: number };
  /** Of IPAddress objects. */
  readonly addresses: Collection;
}

type ServiceObject = KubeObject & Service;

const kind = { group: '', kind: 'Service' };

/** What one write has taken so far. */
interface Draft {
  readonly claims: string[];
  readonly ips: string[];
  readonly errors: FieldError[];
}

export function serviceHook(deps: ServiceHookDeps): StoreHook {
  const { allocations, ranges, nodePorts, store, addresses } = deps;

  function assignFamilies(spec: ServiceSpec): void {
    const headless = spec.clusterIPs?.[0] === 'None' || spec.clusterIP === 'None';
    const free = headless && Object.keys(spec.selector ?? {}).length === 0;
    if ((spec.ipFamilies ?? []).length === 0) {
      const given = (spec.clusterIPs ?? []).filter((ip) => ip !== 'None');
      spec.ipFamilies = given.length > 0 ? given.map(familyOf) : [ranges[0]!.family];
    }
    // Without a selector the endpoints may be of any family: whoever makes them decides.
    spec.ipFamilyPolicy ??= free ? 'RequireDualStack' : 'SingleStack';
    const wantsTwo =
      spec.ipFamilyPolicy === 'RequireDualStack' || (spec.ipFamilyPolicy === 'PreferDualStack' && ranges.length > 1);
    const [first, second] = spec.ipFamilies!;
    if (wantsTwo && second === undefined) spec.ipFamilies = [first!, first === 'IPv4' ? 'IPv6' : 'IPv4'];
  }

  function assignIps(spec: ServiceSpec, draft: Draft, dryRun: boolean, held: ReadonlySet<string>): void {
    if (spec.clusterIPs?.[0] === 'None' || spec.clusterIP === 'None') {
      spec.clusterIPs = ['None'];
      spec.clusterIP = 'None';
      return;
    }
    const given = [...(spec.clusterIPs ?? [])];
    const ips = spec.ipFamilies!.map((family, at) => {
      const range = ranges.find((candidate) => candidate.family === family);
      if (range === undefined) {
        draft.errors.push(fieldError.invalid(`spec.ipFamilies[${at}]`, family, 'not configured on this cluster'));
        return '';
      }
      const wanted = given[at];
      if (wanted !== undefined && held.has(wanted)) return wanted;
      return wanted === undefined ? newIp(range, draft) : chosenIp(wanted, range, draft, given, dryRun);
    });
    spec.clusterIPs = ips;
    spec.clusterIP = ips[0]!;
  }

  function newIp(range: IpRange, draft: Draft): string {
    const ip = allocations.freeIp(range);
    if (ip === undefined)
      throw statusError('InternalError', `failed to allocate a serviceIP: range ${range.cidr} is full`);
    claim(ip, draft);
    draft.ips.push(ip);
    return ip;
  }

  function chosenIp(ip: string, range: IpRange, draft: Draft, all: readonly string[], dryRun: boolean): string {
    const refuse = (why: string): string => {
      draft.errors.push(fieldError.invalid('spec.clusterIPs', all, `failed to allocate IP ${ip}: ${why}`));
      return ip;
    };
    if (!range.contains(ip))
      return refuse(`the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range.cidr}`);
    if (allocations.isTaken(ip) && !dryRun) return refuse('provided IP is already allocated');
    claim(ip, draft);
    draft.ips.push(ip);
    return ip;
  }

  function claim(what: string, draft: Draft): void {
    allocations.reserve(what);
    draft.claims.push(what);
  }

  function assignPorts(spec: ServiceSpec, draft: Draft, held: ReadonlySet<string>, dryRun: boolean): void {
    const needs =
      spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
    const mine = new Set(held);
    const byPort = new Map<number, number>();
    (spec.ports ?? []).forEach((port, at) => {
      if (!port.nodePort) return;
      const wanted = `port ${port.nodePort}`;
      byPort.set(port.port, port.nodePort);
      if (mine.has(wanted)) return;
      const refuse = (why: string): void =>
        void draft.errors.push(fieldError.invalid(`spec.ports[${at}].nodePort`, port.nodePort, why));
      if (port.nodePort < nodePorts.from || port.nodePort > nodePorts.to)
        return refuse(
          `provided port is not in the valid range. The range of valid ports is ${nodePorts.from}-${nodePorts.to}`,
        );
      if (allocations.isTaken(wanted) && !dryRun) return refuse('provided port is already allocated');
      mine.add(wanted);
      claim(wanted, draft);
    });
    if (!needs) return;
    for (const port of spec.ports ?? []) {
      if (port.nodePort) continue;
      // One number serves TCP and UDP of the same port.
      const shared = byPort.get(port.port);
      const sameProtocol = (spec.ports ?? []).some(
        (other) => other !== port && other.nodePort === shared && other.protocol === port.protocol,
      );
      if (shared !== undefined && !sameProtocol) {
        port.nodePort = shared;
        continue;
      }
      port.nodePort = newPort(draft);
      byPort.set(port.port, port.nodePort);
    }
  }

  function newPort(draft: Draft): number {
    const port = allocations.freePort(nodePorts.from, nodePorts.to);
    if (port === undefined) throw statusError('InternalError', 'failed to allocate a nodePort: range is full');
    claim(`port ${port}`, draft);
    return port;
  }

  function assignHealthPort(spec: ServiceSpec, draft: Draft, held: ReadonlySet<string>): void {
    if (spec.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local') return;
    if (!spec.healthCheckNodePort) {
      spec.healthCheckNodePort = newPort(draft);
      return;
    }
    const wanted = `port ${spec.healthCheckNodePort}`;
    if (held.has(wanted)) return;
    if (allocations.isTaken(wanted))
      throw statusError(
        'InternalError',
        `failed to allocate requested HealthCheck NodePort ${spec.healthCheckNodePort}: provided port is already allocated`,
      );
    claim(wanted, draft);
  }

  function assign(service: ServiceObject, held: ReadonlySet<string>, dryRun: boolean): Draft {
    const draft: Draft = { claims: [], ips: [], errors: [] };
    const { spec } = service;
    if (spec === undefined) return draft;
    try {
      if (spec.type !== 'ExternalName') {
        assignFamilies(spec);
        assignIps(spec, draft, dryRun, held);
      }
      assignPorts(spec, draft, held, dryRun);
      assignHealthPort(spec, draft, held);
      if (draft.errors.length > 0) throw invalid(kind, service.metadata.name, draft.errors);
    } catch (error) {
      allocations.settle(draft.claims);
      throw error;
    }
    return draft;
  }

  function addressOf(ip: string, { metadata }: Frozen<KubeObject>): Operation {
    const object = {
      kind: 'IPAddress',
      apiVersion: 'networking.k8s.io/v1',
      metadata: {
        name: ip,
        uid: randomUuid(deps.random),
        creationTimestamp: timeText(deps.clock.now()),
        labels: {
          'ipaddress.kubernetes.io/ip-family': familyOf(ip),
          'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
        },
      },
      spec: { parentRef: { resource: 'services', namespace: metadata.namespace, name: metadata.name } },
    };
    const frozen = freeze(addresses.codec.canonical(object as unknown as KubeObject)) as KubeObject;
    return { type: 'put', key: addresses.prefix + ip, value: addresses.codec.encode(frozen) };
  }

  async function drop(ips: readonly string[]): Promise<void> {
    if (ips.length === 0) return;
    await store.transact({
      compare: [],
      then: ips.map((ip) => ({ type: 'delete' as const, range: { start: addresses.prefix + ip } })),
    });
  }

  return {
    group: '',
    resource: 'services',
    async create(object, { dryRun }): Promise<Taken | undefined> {
      const service = object as ServiceObject;
      const draft = assign(service, new Set(), dryRun);
      if (dryRun) {
        allocations.settle(draft.claims);
        return undefined;
      }
      return {
        with: {
          compare: draft.ips.map((ip) => ({ key: addresses.prefix + ip, target: 'version', is: '=', value: 0 })),
          operations: draft.ips.map((ip) => addressOf(ip, service as Frozen<KubeObject>)),
        },
        done: () => allocations.settle(draft.claims),
      };
    },
    async update(next, prev, { dryRun }): Promise<Taken | undefined> {
      const service = next as ServiceObject;
      const before = ipsOf(prev as Frozen<ServiceObject>);
      const draft = assign(service, new Set([...before, ...portsOf(prev as Frozen<ServiceObject>)]), dryRun);
      const after = new Set(ipsOf(service as Frozen<ServiceObject>));
      if (dryRun) {
        allocations.settle(draft.claims);
        return undefined;
      }
      return {
        async done(written) {
          allocations.settle(draft.claims);
          if (!written) return;
          await drop(before.filter((ip) => !after.has(ip)));
          if (draft.ips.length > 0)
            await store.transact({
              compare: [],
              then: draft.ips.map((ip) => addressOf(ip, service as Frozen<KubeObject>)),
            });
        },
      };
    },
    deleted: (object) => drop(ipsOf(object as Frozen<ServiceObject>)),
  };
}

/** "30000-32767". Throws for anything else. */
export function portRange(text: string): { readonly from: number; readonly to: number } {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text);
  const [from, to] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || from < 1 || to > 65_535 || from > to) throw new Error(`"${text}" is no range of ports`);
  return { from, to };
}

function familyOf(ip: string): 'IPv4' | 'IPv6' {
  return isIPv4(ip) ? 'IPv4' : 'IPv6';
}

function ipsOf({ spec }: Frozen<ServiceObject>): string[] {
  return (spec?.clusterIPs ?? []).filter((ip) => ip !== 'None' && ip !== '').map(String);
}

function portsOf({ spec }: Frozen<ServiceObject>): string[] {
  const ports = (spec?.ports ?? []).map(({ nodePort }) => nodePort).filter((port) => Boolean(port));
  if (spec?.healthCheckNodePort) ports.push(spec.healthCheckNodePort);
  return ports.map((port) => `port ${port}`);
}

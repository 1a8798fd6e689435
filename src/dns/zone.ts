// Owns what the cluster's names mean: the Kubernetes DNS specification (1.1.0) over Services, EndpointSlices and Namespaces. Pure.
import type { Frozen } from '../api/meta.ts';
import type { Service } from '../api/generated/core.v1.ts';
import type { Endpoint, EndpointSlice } from '../api/generated/discovery.v1.ts';
import { DnsFormatError, type DnsRecord, ipv6Bytes, type Question, recordTypes } from '../wire/dns-message.ts';

/** Where the objects come from. */
export interface ZoneSource {
  service(namespace: string, name: string): Frozen<Service> | undefined;
  slices(namespace: string, serviceName: string): readonly Frozen<EndpointSlice>[];
  hasNamespace(name: string): boolean;
  /** Services with this cluster IP. */
  servicesByIP(ip: string): readonly Frozen<Service>[];
  /** Slices with an endpoint of this address. */
  slicesByIP(ip: string): readonly Frozen<EndpointSlice>[];
}

export interface ZoneOptions {
  /** "cluster.local" */
  readonly domain: string;
  readonly ttlSeconds: number;
  /** The server's own address, for NS; absent: none is given. */
  readonly serverIP?: string;
}

export type ZoneAnswer =
  | {
      readonly code: 'NOERROR' | 'NXDOMAIN';
      readonly answers: readonly DnsRecord[];
      readonly additionals: readonly DnsRecord[];
    }
  /** A name outside to be resolved, under the name that was asked for. */
  | { readonly alias: string; readonly answers: readonly DnsRecord[] }
  /** Not ours: ask an upstream. */
  | 'elsewhere';

const nothing: ZoneAnswer = { code: 'NXDOMAIN', answers: [], additionals: [] };
const empty: ZoneAnswer = { code: 'NOERROR', answers: [], additionals: [] };
const dnsVersion = '1.1.0';

export class Zone {
  readonly #source: ZoneSource;
  readonly #options: ZoneOptions;
  readonly #suffix: string;

  constructor(source: ZoneSource, options: ZoneOptions) {
    this.#source = source;
    this.#options = options;
    this.#suffix = `.${options.domain.toLowerCase()}`;
  }

  /** True for names that are answered here and never asked elsewhere. */
  owns(name: string): boolean {
    const lower = name.toLowerCase();
    return lower === this.#options.domain.toLowerCase() || lower.endsWith(this.#suffix);
  }

  get soa(): DnsRecord {
    const { domain, ttlSeconds } = this.#options;
    return {
      name: domain,
      ttl: ttlSeconds,
      type: 'SOA',
      primary: `ns.dns.${domain}`,
      mailbox: `hostmaster.${domain}`,
      serial: 1,
      refresh: 7200,
      retry: 1800,
      expire: 86_400,
      minimum: ttlSeconds,
    };
  }

  lookup(question: Question): ZoneAnswer {
    const lower = question.name.toLowerCase();
    if (lower.endsWith('.in-addr.arpa') || lower.endsWith('.ip6.arpa')) return this.#reverse(question, lower);
    if (!this.owns(lower)) return 'elsewhere';
    const labels = lower === this.#options.domain.toLowerCase() ? [] : lower.slice(0, -this.#suffix.length).split('.');
    switch (labels.at(-1)) {
      case undefined:
        return this.#apex(question);
      case 'svc':
        return this.#service(question, labels.slice(0, -1));
      case 'pod':
        return this.#pod(question, labels.slice(0, -1));
      case 'dns-version':
        return labels.length === 1 ? this.#only(question, [{ type: 'TXT', text: dnsVersion }]) : nothing;
      case 'dns':
        if (labels.length === 1) return empty;
        return labels.length === 2 && labels[0] === 'ns' ? this.#only(question, this.#serverAddress()) : nothing;
      default:
        return nothing;
    }
  }

  #apex(question: Question): ZoneAnswer {
    const { domain, ttlSeconds } = this.#options;
    const name = question.name;
    if (question.type === recordTypes.SOA)
      return { code: 'NOERROR', answers: [{ ...this.soa, name }], additionals: [] };
    if (question.type !== recordTypes.NS) return empty;
    const target = `ns.dns.${domain}`;
    return {
      code: 'NOERROR',
      answers: [{ name, ttl: ttlSeconds, type: 'NS', target }],
      additionals: this.#serverAddress().map((data) => ({ name: target, ttl: ttlSeconds, ...data })),
    };
  }

  #serverAddress(): Data[] {
    const { serverIP } = this.#options;
    return serverIP === undefined ? [] : [address(serverIP)];
  }

  /** Records of the asked type among these, under the asked name. */
  #only(question: Question, records: readonly Data[]): ZoneAnswer {
    const answers = records
      .filter(({ type }) => question.type === recordTypes.ANY || recordTypes[type] === question.type)
      .map((data) => ({ name: question.name, ttl: this.#options.ttlSeconds, ...data }));
    return { code: 'NOERROR', answers, additionals: [] };
  }

  /** `labels` before "pod": "1-2-3-4", "namespace". Any address is taken at its word, as CoreDNS's "pods insecure". */
  #pod(question: Question, labels: readonly string[]): ZoneAnswer {
    if (labels.length === 0) return empty;
    if (!this.#source.hasNamespace(labels.at(-1)!)) return nothing;
    if (labels.length === 1) return empty;
    const ip = labels.length === 2 ? dashedAddress(labels[0]!) : undefined;
    return ip === undefined ? nothing : this.#only(question, [address(ip)]);
  }

  /** `labels` before "svc": [[_port, _protocol] or [endpoint]], service, namespace. */
  #service(question: Question, labels: readonly string[]): ZoneAnswer {
    if (labels.length === 0) return empty;
    const namespace = labels.at(-1)!;
    if (labels.length === 1) return this.#source.hasNamespace(namespace) ? empty : nothing;
    const name = labels.at(-2)!;
    const service = this.#source.service(namespace, name);
    if (service === undefined) return nothing;
    const rest = labels.slice(0, -2);
    if (service.spec.type === 'ExternalName') {
      if (rest.length > 0) return nothing;
      return this.#alias(question, service.spec.externalName ?? '');
    }
    const headless = service.spec.clusterIP === 'None';
    const endpoints = headless ? this.#endpoints(namespace, name) : [];
    // A headless service without anybody ready does not exist, as for CoreDNS.
    if (headless && endpoints.length === 0) return nothing;
    if (rest.length === 2 && rest[0]!.startsWith('_') && rest[1]!.startsWith('_'))
      return this.#ports(question, service, endpoints, { port: rest[0]!.slice(1), protocol: rest[1]!.slice(1) });
    if (rest.length === 0) {
      if (question.type === recordTypes.SRV) return this.#ports(question, service, endpoints, undefined);
      const ips = headless ? unique(endpoints.map(({ ip }) => ip)) : clusterIPs(service);
      return this.#only(question, ips.map(address));
    }
    const named = rest.length === 1 ? endpoints.filter(({ hostname }) => hostname === rest[0]) : [];
    return named.length === 0 ? nothing : this.#only(question, unique(named.map(({ ip }) => ip)).map(address));
  }

  #alias(question: Question, target: string): ZoneAnswer {
    const alias = target.replace(/\.$/, '');
    const answers: DnsRecord[] = [{ name: question.name, ttl: this.#options.ttlSeconds, type: 'CNAME', target: alias }];
    return question.type === recordTypes.CNAME ? { code: 'NOERROR', answers, additionals: [] } : { alias, answers };
  }

  #ports(
    question: Question,
    service: Frozen<Service>,
    endpoints: readonly NamedEndpoint[],
    wanted: { readonly port: string; readonly protocol: string } | undefined,
  ): ZoneAnswer {
    const base = `${service.metadata.name}.${service.metadata.namespace}.svc.${this.#options.domain}`;
    const fits = (port: { readonly name?: string; readonly protocol?: string }) =>
      wanted === undefined || (port.name === wanted.port && (port.protocol ?? 'TCP').toLowerCase() === wanted.protocol);
    const found: { target: string; port: number; ips: readonly string[] }[] =
      service.spec.clusterIP === 'None'
        ? endpoints
            .filter(fits)
            .flatMap(({ hostname, port, ip }) =>
              port === undefined ? [] : [{ target: `${hostname}.${base}`, port, ips: [ip] }],
            )
        : (service.spec.ports ?? []).filter(fits).map(({ port }) => ({ target: base, port, ips: clusterIPs(service) }));
    if (found.length === 0) return wanted === undefined ? empty : nothing;
    if (question.type !== recordTypes.SRV && question.type !== recordTypes.ANY)
      return this.#only(question, unique(found.flatMap(({ ips }) => ips)).map(address));
    const ttl = this.#options.ttlSeconds;
    const answers = new Map(
      found.map(({ target, port }) => [
        `${target} ${port}`,
        {
          name: question.name,
          ttl,
          type: 'SRV',
          priority: 0,
          weight: Math.max(1, Math.trunc(100 / found.length)),
          port,
          target,
        } as const,
      ]),
    );
    const additionals = new Map(
      found.flatMap(({ target, ips }) =>
        ips.map((ip) => [`${target} ${ip}`, { name: target, ttl, ...address(ip) }] as const),
      ),
    );
    return { code: 'NOERROR', answers: [...answers.values()], additionals: [...additionals.values()] };
  }

  /** Ready endpoints, one a port (or one without, for a slice that has no ports). */
  #endpoints(namespace: string, name: string): readonly NamedEndpoint[] {
    return this.#source.slices(namespace, name).flatMap((slice) =>
      (slice.endpoints ?? []).filter(isReady).flatMap((endpoint) =>
        endpoint.addresses.flatMap((ip) => {
          const hostname = hostnameOf(endpoint, ip);
          const ports = slice.ports?.length ? slice.ports : [{}];
          return ports.map((port): NamedEndpoint => ({ ...port, ip, hostname }));
        }),
      ),
    );
  }

  #reverse(question: Question, lower: string): ZoneAnswer {
    const ip = reversedAddress(lower);
    if (ip === undefined) return 'elsewhere';
    const { domain } = this.#options;
    const names = this.#source
      .servicesByIP(ip)
      .map(({ metadata }) => `${metadata.name}.${metadata.namespace}.svc.${domain}`);
    for (const slice of this.#source.slicesByIP(ip)) {
      const namespace = slice.metadata.namespace ?? '';
      const name = slice.metadata.labels?.['kubernetes.io/service-name'];
      const service = name === undefined ? undefined : this.#source.service(namespace, name);
      if (service?.spec.clusterIP !== 'None') continue;
      for (const endpoint of slice.endpoints ?? [])
        if (isReady(endpoint) && endpoint.addresses.includes(ip))
          names.push(`${hostnameOf(endpoint, ip)}.${name}.${namespace}.svc.${domain}`);
    }
    if (names.length === 0) return 'elsewhere';
    return this.#only(
      question,
      unique(names).map((target) => ({ type: 'PTR', target })),
    );
  }
}

type Data =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'PTR'; readonly target: string }
  | { readonly type: 'TXT'; readonly text: string };

interface NamedEndpoint {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
  readonly ip: string;
  readonly hostname: string;
}

/** Not-ready addresses that a service publishes are marked ready in its slices. */
const isReady = ({ conditions }: Frozen<Endpoint>): boolean => conditions?.ready !== false;

const unique = (values: readonly string[]): string[] => [...new Set(values)];

function address(ip: string): { readonly type: 'A' | 'AAAA'; readonly address: string } {
  return { type: ip.includes(':') ? 'AAAA' : 'A', address: ip };
}

function clusterIPs({ spec }: Frozen<Service>): readonly string[] {
  const all = spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? ''];
  return all.filter((ip) => ip !== '' && ip !== 'None');
}

function hostnameOf(endpoint: Frozen<Endpoint>, ip: string): string {
  return endpoint.hostname || ip.replaceAll(/[.:]/g, '-');
}

/** "10-0-0-1" or "fd00--1"; undefined for what is no address. */
function dashedAddress(label: string): string | undefined {
  if (/^\d{1,3}(-\d{1,3}){3}$/.test(label)) {
    const parts = label.split('-').map(Number);
    return parts.every((part) => part <= 255) ? parts.join('.') : undefined;
  }
  if (!/^[0-9a-f]{0,4}(-[0-9a-f]{0,4}){2,7}$/.test(label)) return undefined;
  const text = label.replaceAll('-', ':');
  try {
    ipv6Bytes(text);
  } catch (error) {
    if (error instanceof DnsFormatError) return undefined;
    throw error;
  }
  return text;
}

/** The address in "4.3.2.1.in-addr.arpa" or a full ip6.arpa name, in Kubernetes' spelling. */
function reversedAddress(name: string): string | undefined {
  const v4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa$/.exec(name);
  if (v4 !== null) return v4.slice(1).toReversed().join('.');
  const v6 = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name);
  if (v6 === null) return undefined;
  const digits = v6[1]!.split('.').slice(0, 32).toReversed().join('');
  return canonicalIPv6(digits.match(/.{4}/g)!.map((group) => Number.parseInt(group, 16)));
}

/** RFC 5952: the longest run of zeros is "::". */
function canonicalIPv6(groups: readonly number[]): string {
  let best = { at: 0, length: 0 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (at + length < 8 && groups[at + length] === 0) length++;
    if (length > best.length) best = { at, length };
  }
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  if (best.length < 2) return text(groups);
  return `${text(groups.slice(0, best.at))}::${text(groups.slice(best.at + best.length))}`;
}

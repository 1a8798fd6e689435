// Owns the answer to a query: from the zone, through an alias, or from an upstream. No sockets of its own.
import { decode } from 'dns-packet';
import {
  type Answer,
  type DnsRecord,
  encodeAnswer,
  inspectAnswer,
  type Query,
  type Question,
  recordTypes,
} from '../wire/dns-message.ts';
import type { Forwarder } from './forwarder.ts';
import type { DnsMetrics } from './metrics.ts';
import type { Zone } from './zone.ts';

const classIN = 1;
const maxAliases = 8;
/** Without EDNS a UDP answer has so much room (RFC 1035); with it at most so much, to stay clear of fragmentation. */
const plainUdpBytes = 512;
const maxUdpBytes = 4096;
const maxTcpBytes = 65_535;

export class Resolver {
  readonly #zone: Zone;
  readonly #forwarder: Forwarder;
  readonly #metrics: DnsMetrics;

  constructor(zone: Zone, forwarder: Forwarder, metrics: DnsMetrics) {
    this.#zone = zone;
    this.#forwarder = forwarder;
    this.#metrics = metrics;
  }

  async resolve(query: Query, transport: 'udp' | 'tcp'): Promise<Buffer> {
    const room = roomFor(query, transport);
    const { question } = query;
    const refuse = (code: Answer['code']) => encodeAnswer(query, { code, authoritative: false, answers: [] }, room);
    if (query.opcode !== 0) return refuse('NOTIMP');
    if (query.edns !== undefined && query.edns.version !== 0) return refuse('BADVERS');
    if (question.class !== classIN) return refuse('REFUSED');
    // Zone transfers and their like.
    if (question.type >= 249 && question.type <= 254) return refuse('NOTIMP');
    const found = this.#zone.lookup(question);
    if (found === 'elsewhere') return (await this.#relay(query, room)) ?? refuse('SERVFAIL');
    if ('alias' in found) return encodeAnswer(query, await this.#follow(query, found.alias, [...found.answers]), room);
    return encodeAnswer(query, this.#own(found), room);
  }

  #own({
    code,
    answers,
    additionals,
  }: {
    code: Answer['code'];
    answers: readonly DnsRecord[];
    additionals: readonly DnsRecord[];
  }): Answer {
    return {
      code,
      authoritative: true,
      answers,
      additionals,
      // Tells how long "no" may be believed.
      ...(answers.length === 0 && { authorities: [this.#zone.soa] }),
    };
  }

  /** Undefined when no upstream answers. An answer that is too long for the client is cut to "ask again over TCP". */
  async #relay(query: Query, room: number): Promise<Buffer | undefined> {
    const relayed = await this.#forwarder.ask(query.question, query.id, query.edns?.dnssecOk ?? false);
    this.#metrics.forwarded(relayed === undefined ? 'failed' : relayed.cached ? 'cached' : 'answered');
    if (relayed === undefined) return undefined;
    const { message } = relayed;
    const codes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'] as const;
    const code = codes[inspectAnswer(message).code] ?? 'SERVFAIL';
    if (message.length > room || query.edns === undefined) {
      // The upstream was asked with EDNS; a client without must not get its OPT record, so the answer is written anew.
      return encodeAnswer(query, { code, authoritative: false, ...recordsOf(message) }, room);
    }
    return message;
  }

  /** Resolves a CNAME's target, here or elsewhere, and puts its records behind the alias. */
  async #follow(query: Query, target: string, answers: DnsRecord[]): Promise<Answer> {
    let name = target;
    for (let depth = 0; depth < maxAliases; depth++) {
      const question: Question = { ...query.question, name };
      const found = this.#zone.lookup(question);
      if (found === 'elsewhere') {
        const relayed = await this.#forwarder.ask(question, 0, false);
        this.#metrics.forwarded(relayed === undefined ? 'failed' : relayed.cached ? 'cached' : 'answered');
        if (relayed === undefined) return { code: 'SERVFAIL', authoritative: false, answers };
        return { code: 'NOERROR', authoritative: true, answers: [...answers, ...recordsOf(relayed.message).answers] };
      }
      if (!('alias' in found)) return { code: 'NOERROR', authoritative: true, answers: [...answers, ...found.answers] };
      answers.push(...found.answers);
      name = found.alias;
    }
    return { code: 'SERVFAIL', authoritative: false, answers: [] };
  }
}

function roomFor({ edns }: Query, transport: 'udp' | 'tcp'): number {
  if (transport === 'tcp') return maxTcpBytes;
  return edns === undefined ? plainUdpBytes : Math.min(maxUdpBytes, Math.max(plainUdpBytes, edns.udpSize));
}

/** The records of kinds that we write ourselves; others are left out. */
function recordsOf(message: Buffer): { answers: DnsRecord[]; authorities: DnsRecord[] } {
  const { answers = [], authorities = [] } = decode(message);
  return { answers: answers.flatMap(recordOf), authorities: authorities.flatMap(recordOf) };
}

type Decoded = NonNullable<ReturnType<typeof decode>['answers']>[number];

function recordOf(record: Decoded): DnsRecord[] {
  if (!('ttl' in record) || !(record.type in recordTypes)) return [];
  const { name, ttl = 0 } = record;
  const common = { name: plain(name), ttl };
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return [{ ...common, type: record.type, address: record.data }];
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return [{ ...common, type: record.type, target: plain(record.data) }];
    case 'SRV': {
      const { priority = 0, weight = 0, port, target } = record.data;
      return [{ ...common, type: 'SRV', priority, weight, port, target: plain(target) }];
    }
    case 'TXT':
      return [record.data].flat().map((text) => ({ ...common, type: 'TXT', text: text.toString() }));
    case 'SOA': {
      const { mname, rname, serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0 } = record.data;
      return [
        {
          ...common,
          type: 'SOA',
          primary: plain(mname),
          mailbox: plain(rname),
          serial,
          refresh,
          retry,
          expire,
          minimum,
        },
      ];
    }
    default:
      return [];
  }
}

const plain = (name: string): string => (name === '.' ? '' : name);

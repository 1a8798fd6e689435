// Owns DNS messages (RFC 1035, EDNS0): reading queries, writing compressed answers that fit, ageing relayed ones. Knows no zone.

export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;

export const responseCodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;
export type ResponseCode = keyof typeof responseCodes;

export interface Question {
  /** As asked, without the final dot; "" is the root. Octets that are no plain text are escaped: "a\.b", "\007". */
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

export interface Query {
  readonly id: number;
  readonly opcode: number;
  readonly recursionDesired: boolean;
  readonly checkingDisabled: boolean;
  readonly question: Question;
  /** Absent when the query has no OPT record. */
  readonly edns?: { readonly udpSize: number; readonly version: number; readonly dnssecOk: boolean };
}

/** Names without the final dot. */
export type RecordData =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'CNAME' | 'PTR' | 'NS'; readonly target: string }
  | {
      readonly type: 'SRV';
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly type: 'TXT'; readonly text: string }
  | {
      readonly type: 'SOA';
      readonly primary: string;
      readonly mailbox: string;
      readonly serial: number;
      readonly refresh: number;
      readonly retry: number;
      readonly expire: number;
      readonly minimum: number;
    };

export type DnsRecord = { readonly name: string; readonly ttl: number } & RecordData;

export interface Answer {
  readonly code: ResponseCode;
  readonly authoritative: boolean;
  readonly answers: readonly DnsRecord[];
  readonly authorities?: readonly DnsRecord[];
  readonly additionals?: readonly DnsRecord[];
}

export class DnsFormatError extends Error {
  override readonly name = 'DnsFormatError';
}

const headerBytes = 12;

/** Throws DnsFormatError for what is no query with exactly one question. */
export function parseQuery(message: Buffer): Query {
  if (message.length < headerBytes) throw new DnsFormatError('shorter than a header');
  const flags = message.readUInt16BE(2);
  if ((flags & 0x8000) !== 0) throw new DnsFormatError('not a query');
  if (message.readUInt16BE(4) !== 1) throw new DnsFormatError('not exactly one question');
  const { name, end } = readName(message, headerBytes);
  if (end + 4 > message.length) throw new DnsFormatError('question cut off');
  const edns = findEdns(message, end + 4);
  return {
    id: message.readUInt16BE(0),
    opcode: (flags >> 11) & 15,
    recursionDesired: (flags & 0x0100) !== 0,
    checkingDisabled: (flags & 0x0010) !== 0,
    question: { name, type: message.readUInt16BE(end), class: message.readUInt16BE(end + 2) },
    ...(edns && { edns }),
  };
}

function findEdns(message: Buffer, start: number): Query['edns'] {
  let at = start;
  const records = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);
  for (let i = 0; i < records; i++) {
    const record = readRecord(message, at);
    if (record.type === recordTypes.OPT)
      return {
        udpSize: record.class,
        version: (record.ttl >>> 16) & 255,
        dnssecOk: (record.ttl & 0x8000) !== 0,
      };
    at = record.end;
  }
  return undefined;
}

function readRecord(message: Buffer, start: number) {
  const at = skipName(message, start);
  if (at + 10 > message.length) throw new DnsFormatError('record cut off');
  const dataAt = at + 10;
  const end = dataAt + message.readUInt16BE(at + 8);
  if (end > message.length) throw new DnsFormatError('record data cut off');
  return {
    type: message.readUInt16BE(at),
    class: message.readUInt16BE(at + 2),
    ttl: message.readUInt32BE(at + 4),
    ttlAt: at + 4,
    dataAt,
    end,
  };
}

/** Past a name, without following it. */
function skipName(message: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const length = message[at];
    if (length === undefined) throw new DnsFormatError('name cut off');
    if (length === 0) return at + 1;
    if ((length & 0xc0) === 0xc0) return at + 2;
    if ((length & 0xc0) !== 0) throw new DnsFormatError('unknown kind of label');
    at += 1 + length;
  }
}

/** Follows compression only backwards, so that no name is endless. */
function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  let end = -1;
  let bytes = 0;
  let floor = start;
  for (;;) {
    const length = message[at];
    if (length === undefined) throw new DnsFormatError('name cut off');
    if (length === 0) return { name: labels.join('.'), end: end < 0 ? at + 1 : end };
    if ((length & 0xc0) === 0xc0) {
      if (at + 2 > message.length) throw new DnsFormatError('name cut off');
      const target = message.readUInt16BE(at) & 0x3fff;
      if (target >= floor) throw new DnsFormatError('name points forward');
      if (end < 0) end = at + 2;
      floor = target;
      at = target;
      continue;
    }
    if ((length & 0xc0) !== 0) throw new DnsFormatError('unknown kind of label');
    bytes += length + 1;
    if (bytes > 254 || at + 1 + length > message.length) throw new DnsFormatError('name too long or cut off');
    labels.push(labelText(message.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
}

function labelText(label: Buffer): string {
  let text = '';
  for (const byte of label) {
    if (byte === 0x2e || byte === 0x5c) text += `\\${String.fromCharCode(byte)}`;
    else if (byte > 0x20 && byte < 0x7f) text += String.fromCharCode(byte);
    else text += `\\${String(byte).padStart(3, '0')}`;
  }
  return text;
}

function labelsOf(name: string): Buffer[] {
  const labels: Buffer[] = [];
  let bytes: number[] = [];
  for (let at = 0; at < name.length; at++) {
    const char = name[at]!;
    if (char === '.') {
      labels.push(Buffer.from(bytes));
      bytes = [];
    } else if (char === '\\') {
      const digits = /^[0-9]{3}/.exec(name.slice(at + 1))?.[0];
      bytes.push(digits === undefined ? name.charCodeAt(at + 1) : Number(digits));
      at += digits === undefined ? 1 : 3;
    } else bytes.push(char.charCodeAt(0));
  }
  if (bytes.length > 0) labels.push(Buffer.from(bytes));
  return labels;
}

class Writer {
  readonly #bytes: Buffer;
  length = 0;
  readonly #names = new Map<string, number>();

  constructor(size: number) {
    this.#bytes = Buffer.alloc(size);
  }

  /** Each write throws RangeError when the room is used up. */
  u8(value: number): void {
    this.length = this.#bytes.writeUInt8(value, this.length);
  }
  u16(value: number): void {
    this.length = this.#bytes.writeUInt16BE(value, this.length);
  }
  u32(value: number): void {
    this.length = this.#bytes.writeUInt32BE(value, this.length);
  }
  raw(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.#bytes.length) throw new RangeError('full');
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }
  patch16(at: number, value: number): void {
    this.#bytes.writeUInt16BE(value, at);
  }
  read16(at: number): number {
    return this.#bytes.readUInt16BE(at);
  }

  /** A tail that was written before is pointed to. */
  name(name: string, compress = true): void {
    const labels = labelsOf(name);
    for (let at = 0; at < labels.length; at++) {
      const tail = labels
        .slice(at)
        .map((label) => label.toString('latin1').toLowerCase())
        .join('\0');
      const known = compress ? this.#names.get(tail) : undefined;
      if (known !== undefined) {
        this.u16(0xc000 | known);
        return;
      }
      if (this.length < 0x4000) this.#names.set(tail, this.length);
      const label = labels[at]!;
      if (label.length === 0 || label.length > 63) throw new DnsFormatError(`bad label in "${name}"`);
      this.u8(label.length);
      this.raw(label);
    }
    this.u8(0);
  }

  /** Takes back what was written since `length` was `to`, with the names that began there. */
  rewind(to: number): void {
    this.length = to;
    for (const [tail, at] of this.#names) if (at >= to) this.#names.delete(tail);
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }
}

const ourUdpSize = 1232;

/** An answer of at most `maxBytes`: whole records are left out and the truncation bit set when it does not fit (extra records go silently). */
export function encodeAnswer(query: Query, answer: Answer, maxBytes: number): Buffer {
  const writer = new Writer(Math.max(512, maxBytes));
  const code = responseCodes[answer.code];
  const flags =
    0x8000 |
    (query.opcode << 11) |
    (answer.authoritative ? 0x0400 : 0) |
    (query.recursionDesired ? 0x0100 : 0) |
    0x0080 |
    (query.checkingDisabled ? 0x0010 : 0) |
    (code & 15);
  for (const value of [query.id, flags, 1, 0, 0, 0]) writer.u16(value);
  writer.name(query.question.name);
  writer.u16(query.question.type);
  writer.u16(query.question.class);
  const reserve = query.edns ? 11 : 0;
  const limit = Math.max(512, maxBytes) - reserve;
  const sections = [answer.answers, answer.authorities ?? [], answer.additionals ?? []];
  let cut = false;
  sections.forEach((records, section) => {
    for (const record of records) {
      if (cut || !writeWithin(writer, record, limit)) {
        if (section < 2 && !cut) {
          writer.patch16(2, writer.read16(2) | 0x0200);
          cut = true;
        }
        return;
      }
      writer.patch16(6 + 2 * section, writer.read16(6 + 2 * section) + 1);
    }
  });
  if (query.edns) writeOpt(writer, code, query.edns.dnssecOk);
  return writer.done();
}

function writeOpt(writer: Writer, code: number, dnssecOk: boolean): void {
  writer.u8(0);
  writer.u16(recordTypes.OPT);
  writer.u16(ourUdpSize);
  writer.u8(code >> 4);
  writer.u8(0);
  writer.u16(dnssecOk ? 0x8000 : 0);
  writer.u16(0);
  writer.patch16(10, writer.read16(10) + 1);
}

function writeWithin(writer: Writer, record: DnsRecord, limit: number): boolean {
  const start = writer.length;
  try {
    writeRecord(writer, record);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    writer.rewind(start);
    return false;
  }
  if (writer.length <= limit) return true;
  writer.rewind(start);
  return false;
}

function writeRecord(writer: Writer, record: DnsRecord): void {
  writer.name(record.name);
  writer.u16(recordTypes[record.type]);
  writer.u16(1);
  writer.u32(record.ttl);
  const lengthAt = writer.length;
  writer.u16(0);
  writeData(writer, record);
  writer.patch16(lengthAt, writer.length - lengthAt - 2);
}

function writeData(writer: Writer, record: DnsRecord): void {
  switch (record.type) {
    case 'A':
      writer.raw(Buffer.from(record.address.split('.').map(Number)));
      return;
    case 'AAAA':
      writer.raw(ipv6Bytes(record.address));
      return;
    case 'SRV':
      writer.u16(record.priority);
      writer.u16(record.weight);
      writer.u16(record.port);
      // RFC 2782: the target is not compressed.
      writer.name(record.target, false);
      return;
    case 'TXT': {
      const text = Buffer.from(record.text).subarray(0, 255);
      writer.u8(text.length);
      writer.raw(text);
      return;
    }
    case 'SOA':
      writer.name(record.primary);
      writer.name(record.mailbox);
      for (const value of [record.serial, record.refresh, record.retry, record.expire, record.minimum])
        writer.u32(value);
      return;
    default:
      writer.name(record.target);
  }
}

/** Sixteen bytes of an address as Kubernetes writes it ("fd00::1", "::ffff:1.2.3.4"). */
export function ipv6Bytes(address: string): Buffer {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const pair = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
  const text = dotted ? `${dotted[1]}${pair(dotted[2]!, dotted[3]!)}:${pair(dotted[4]!, dotted[5]!)}` : address;
  const [head = '', tail] = text.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const left = groups(head);
  const right = groups(tail ?? '');
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const all = [...left, ...Array.from({ length: Math.max(0, zeros) }, () => 0), ...right];
  if (all.length !== 8 || all.some((group) => !(group >= 0 && group <= 0xffff)))
    throw new DnsFormatError(`"${address}" is no IPv6 address`);
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]));
}

/** A short answer with nothing but a code, for a message that may not even parse. */
export function errorReply(message: Buffer, code: ResponseCode): Buffer | undefined {
  if (message.length < headerBytes || (message[2]! & 0x80) !== 0) return undefined;
  const reply = Buffer.alloc(headerBytes);
  message.copy(reply, 0, 0, 2);
  reply[2] = 0x80 | (message[2]! & 0x79);
  reply[3] = 0x80 | (responseCodes[code] & 15);
  return reply;
}

export interface RelayedFacts {
  readonly code: number;
  readonly truncated: boolean;
  /** Where TTLs stand, for `aged`. */
  readonly ttlOffsets: readonly number[];
  /** The smallest TTL (for a negative answer that of its SOA, at most the SOA's minimum); undefined: not to be kept. */
  readonly ttlSeconds: number | undefined;
}

/** What a relay needs to know of an upstream's answer. Throws DnsFormatError. */
export function inspectAnswer(message: Buffer): RelayedFacts {
  if (message.length < headerBytes) throw new DnsFormatError('shorter than a header');
  const flags = message.readUInt16BE(2);
  if ((flags & 0x8000) === 0) throw new DnsFormatError('not an answer');
  let at = headerBytes;
  for (let i = 0; i < message.readUInt16BE(4); i++) at = skipName(message, at) + 4;
  const answers = message.readUInt16BE(6);
  const total = answers + message.readUInt16BE(8) + message.readUInt16BE(10);
  const ttlOffsets: number[] = [];
  let smallest: number | undefined;
  let negative: number | undefined;
  for (let i = 0; i < total; i++) {
    const record = readRecord(message, at);
    at = record.end;
    if (record.type === recordTypes.OPT) continue;
    ttlOffsets.push(record.ttlAt);
    if (i < answers) smallest = Math.min(smallest ?? Infinity, record.ttl);
    if (record.type === recordTypes.SOA && i >= answers && record.end - record.dataAt >= 22)
      negative = Math.min(record.ttl, message.readUInt32BE(record.end - 4));
  }
  return {
    code: flags & 15,
    truncated: (flags & 0x0200) !== 0,
    ttlOffsets,
    ttlSeconds: answers > 0 ? smallest : negative,
  };
}

/** A copy for another asker: its id, TTLs lower by the time it lay here. */
export function aged(message: Buffer, facts: RelayedFacts, id: number, ageSeconds: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeUInt16BE(id, 0);
  for (const at of facts.ttlOffsets) copy.writeUInt32BE(Math.max(0, copy.readUInt32BE(at) - ageSeconds), at);
  return copy;
}

/** A query for an upstream. */
export function encodeQuery(
  id: number,
  question: Question,
  options: { readonly udpSize?: number; readonly dnssecOk?: boolean } = {},
): Buffer {
  const writer = new Writer(512);
  for (const value of [id, 0x0100, 1, 0, 0, 1]) writer.u16(value);
  writer.name(question.name);
  writer.u16(question.type);
  writer.u16(question.class);
  writer.u8(0);
  writer.u16(recordTypes.OPT);
  writer.u16(options.udpSize ?? ourUdpSize);
  writer.u16(0);
  writer.u16(options.dnssecOk === true ? 0x8000 : 0);
  writer.u16(0);
  return writer.done();
}

/** True when the answer is to this question: id, question and case-insensitive name. */
export function answersQuestion(message: Buffer, id: number, question: Question): boolean {
  try {
    if (message.length < headerBytes || message.readUInt16BE(0) !== id || message.readUInt16BE(4) !== 1) return false;
    const { name, end } = readName(message, headerBytes);
    return (
      end + 4 <= message.length &&
      name.toLowerCase() === question.name.toLowerCase() &&
      message.readUInt16BE(end) === question.type &&
      message.readUInt16BE(end + 2) === question.class
    );
  } catch (error) {
    if (error instanceof DnsFormatError) return false;
    throw error;
  }
}

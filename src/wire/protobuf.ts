// Owns the protobuf wire format: reading and writing messages described by tables. Knows no message of its own.

/** Scalar field types, as descriptors name them. 64-bit integers are bigint: CRI's nanoseconds and etcd's lease ids exceed 2^53. */
export type Scalar =
  | 'string'
  | 'bytes'
  | 'bool'
  | 'int32'
  | 'uint32'
  | 'sint32'
  | 'fixed32'
  | 'sfixed32'
  | 'int64'
  | 'uint64'
  | 'sint64'
  | 'fixed64'
  | 'sfixed64'
  | 'float'
  | 'double';

/** Enum values travel as their names; a number that has no name here is kept as its decimal text. */
export interface EnumType {
  readonly names: ReadonlyMap<number, string>;
  readonly numbers: ReadonlyMap<string, number>;
}

export type FieldType = Scalar | EnumType | Message<object>;

/**
 * One field: number, JSON name, type, and what it is. `one`: a singular scalar with a default; `opt`: may be absent (messages,
 * oneof members, proto3 optional); `rep`: a list; `map`: a string-keyed record whose key type is the fifth entry.
 */
export type FieldRow = readonly [
  number: number,
  name: string,
  type: FieldType,
  kind: 'one' | 'opt' | 'rep' | 'map',
  key?: Scalar,
];

/** What may be given to write a message: everything may be left out, and 64-bit integers may be safe numbers. */
export type Init<T> = T extends bigint
  ? bigint | number
  : T extends string | number | boolean | Uint8Array | undefined
    ? T
    : T extends readonly (infer E)[]
      ? readonly Init<E>[]
      : { readonly [K in keyof T]?: Init<T[K]> };

export interface Message<T extends object> {
  /** The full name, without a leading dot. */
  readonly name: string;
  encode(value: Init<T>): Uint8Array;
  /** Throws ProtobufError on malformed bytes. Unknown fields are skipped; absent scalars get their defaults. */
  decode(bytes: Uint8Array): T;
}

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

export function enumType(values: Readonly<Record<string, number>>): EnumType {
  const names = new Map<number, string>();
  for (const [name, number] of Object.entries(values)) if (!names.has(number)) names.set(number, name);
  return { names, numbers: new Map(Object.entries(values)) };
}

/** `rows` is a thunk because messages refer to each other in circles. */
export function message<T extends object>(name: string, rows: () => readonly FieldRow[]): Message<T> {
  return new TableMessage(name, rows) as unknown as Message<T>;
}

type Values = Record<string, unknown>;

interface Field {
  readonly number: number;
  readonly name: string;
  readonly type: FieldType;
  readonly kind: 'one' | 'opt' | 'rep' | 'map';
  readonly key: Scalar;
  readonly wire: number;
}

/** Nesting beyond this is refused, as Go's decoder does: strangers choose it. */
const maxDepth = 100;

class TableMessage implements Message<Values> {
  readonly name: string;
  readonly #rows: () => readonly FieldRow[];
  #fields: readonly Field[] | undefined;
  #byNumber: ReadonlyMap<number, Field> = new Map();

  constructor(name: string, rows: () => readonly FieldRow[]) {
    this.name = name;
    this.#rows = rows;
  }

  #compiled(): readonly Field[] {
    if (this.#fields === undefined) {
      this.#fields = this.#rows().map(([number, name, type, kind, key]) => ({
        number,
        name,
        type,
        kind,
        key: key ?? 'string',
        wire: wireOf(type),
      }));
      this.#byNumber = new Map(this.#fields.map((field) => [field.number, field]));
    }
    return this.#fields;
  }

  encode(value: Values): Uint8Array {
    const writer = new Writer();
    this.write(value, writer);
    return writer.finish();
  }

  write(value: Values, writer: Writer): void {
    for (const field of this.#compiled()) {
      const content = value[field.name];
      if (content === undefined || content === null) continue;
      if (field.kind === 'rep') writeList(writer, field, content as readonly unknown[]);
      else if (field.kind === 'map') writeMap(writer, field, content as Values);
      else if (field.kind === 'opt' || !isDefault(field.type, content)) {
        writer.tag(field.number, field.wire);
        writeValue(writer, field.type, content);
      }
    }
  }

  decode(bytes: Uint8Array): Values {
    return this.read(new Reader(bytes, 0, bytes.length), 0);
  }

  read(reader: Reader, depth: number): Values {
    if (depth > maxDepth) throw new ProtobufError(`${this.name}: nested too deep`);
    const value: Values = {};
    for (const { name, type, kind } of this.#compiled()) {
      if (kind === 'one') value[name] = defaultOf(type);
      else if (kind === 'rep') value[name] = [];
      else if (kind === 'map') value[name] = Object.create(null) as Values;
    }
    while (!reader.done()) {
      const tag = reader.uint32();
      const field = this.#byNumber.get(tag >>> 3);
      const wire = tag & 7;
      if (field === undefined) reader.skip(wire);
      else if (field.kind === 'rep') readList(reader, field, wire, value[field.name] as unknown[], depth);
      else if (wire !== field.wire) throw new ProtobufError(`${this.name}.${field.name}: wrong wire type ${wire}`);
      else if (field.kind === 'map') readMap(reader, field, value[field.name] as Values, depth);
      else value[field.name] = readValue(reader, field.type, depth, value[field.name]);
    }
    return value;
  }
}

function isMessage(type: FieldType): type is TableMessage & Message<object> {
  return type instanceof TableMessage;
}

function wireOf(type: FieldType): number {
  if (isMessage(type)) return 2;
  if (typeof type !== 'string') return 0;
  switch (type) {
    case 'string':
    case 'bytes':
      return 2;
    case 'double':
    case 'fixed64':
    case 'sfixed64':
      return 1;
    case 'float':
    case 'fixed32':
    case 'sfixed32':
      return 5;
    default:
      return 0;
  }
}

const noBytes = new Uint8Array(0);

function defaultOf(type: FieldType): unknown {
  if (typeof type !== 'string') return isMessage(type) ? undefined : ((type as EnumType).names.get(0) ?? '0');
  switch (type) {
    case 'string':
      return '';
    case 'bytes':
      return noBytes;
    case 'bool':
      return false;
    case 'int64':
    case 'uint64':
    case 'sint64':
    case 'fixed64':
    case 'sfixed64':
      return 0n;
    default:
      return 0;
  }
}

function isDefault(type: FieldType, value: unknown): boolean {
  if (typeof type === 'string')
    return type === 'bytes' ? (value as Uint8Array).length === 0 : value === 0 || value === 0n || !value;
  return !isMessage(type) && enumNumber(type as EnumType, value) === 0;
}

function enumNumber(type: EnumType, value: unknown): number {
  const number = type.numbers.get(value as string) ?? Number(value);
  if (!Number.isInteger(number)) throw new ProtobufError(`no enum value ${String(value)}`);
  return number;
}

function writeValue(writer: Writer, type: FieldType, value: unknown): void {
  if (typeof type === 'string') writeScalar(writer, type, value);
  else if (isMessage(type)) writer.nested(() => type.write(value as Values, writer));
  else writer.varint(BigInt(enumNumber(type as EnumType, value)));
}

function writeScalar(writer: Writer, type: Scalar, value: unknown): void {
  switch (type) {
    case 'string':
      return writer.string(value as string);
    case 'bytes':
      return writer.bytes(value as Uint8Array);
    case 'bool':
      return writer.uint32(value ? 1 : 0);
    case 'uint32':
      return writer.uint32(value as number);
    case 'int32':
    case 'int64':
    case 'uint64':
      return writer.varint(value as number | bigint);
    case 'sint32':
    case 'sint64': {
      const big = BigInt(value as number | bigint);
      return writer.varint(BigInt.asUintN(64, (big << 1n) ^ (big >> 63n)));
    }
    case 'double':
      return writer.fixed(8, (view, at) => view.setFloat64(at, value as number, true));
    case 'float':
      return writer.fixed(4, (view, at) => view.setFloat32(at, value as number, true));
    case 'fixed64':
    case 'sfixed64':
      return writer.fixed(8, (view, at) => view.setBigInt64(at, BigInt.asIntN(64, BigInt(value as bigint)), true));
    case 'fixed32':
    case 'sfixed32':
      return writer.fixed(4, (view, at) => view.setInt32(at, (value as number) | 0, true));
  }
}

function writeList(writer: Writer, field: Field, list: readonly unknown[]): void {
  if (list.length === 0) return;
  if (field.wire === 2) {
    for (const item of list) {
      writer.tag(field.number, 2);
      writeValue(writer, field.type, item);
    }
    return;
  }
  writer.tag(field.number, 2);
  writer.nested(() => {
    for (const item of list) writeValue(writer, field.type, item);
  });
}

function writeMap(writer: Writer, field: Field, record: Values): void {
  for (const [key, item] of Object.entries(record)) {
    writer.tag(field.number, 2);
    writer.nested(() => {
      writer.tag(1, wireOf(field.key));
      writeScalar(writer, field.key, field.key === 'string' ? key : BigInt(key));
      writer.tag(2, wireOf(field.type));
      writeValue(writer, field.type, item);
    });
  }
}

function readValue(reader: Reader, type: FieldType, depth: number, earlier?: unknown): unknown {
  if (typeof type === 'string') return readScalar(reader, type);
  if (!isMessage(type)) {
    const number = Number(BigInt.asIntN(32, reader.varint()));
    return (type as EnumType).names.get(number) ?? String(number);
  }
  const value = type.read(reader.slice(), depth + 1);
  return earlier === undefined ? value : Object.assign(earlier as Values, value);
}

function readScalar(reader: Reader, type: Scalar): unknown {
  switch (type) {
    case 'string':
      return reader.string();
    case 'bytes':
      return reader.bytes();
    case 'bool':
      return reader.varint() !== 0n;
    case 'uint32':
      return reader.uint32();
    case 'int32':
      return Number(BigInt.asIntN(32, reader.varint()));
    case 'int64':
      return BigInt.asIntN(64, reader.varint());
    case 'uint64':
      return reader.varint();
    case 'sint32':
    case 'sint64': {
      const raw = reader.varint();
      const value = (raw >> 1n) ^ -(raw & 1n);
      return type === 'sint32' ? Number(BigInt.asIntN(32, value)) : BigInt.asIntN(64, value);
    }
    case 'double':
      return reader.fixed(8).getFloat64(0, true);
    case 'float':
      return reader.fixed(4).getFloat32(0, true);
    case 'fixed64':
      return reader.fixed(8).getBigUint64(0, true);
    case 'sfixed64':
      return reader.fixed(8).getBigInt64(0, true);
    case 'fixed32':
      return reader.fixed(4).getUint32(0, true);
    case 'sfixed32':
      return reader.fixed(4).getInt32(0, true);
  }
}

function readList(reader: Reader, field: Field, wire: number, list: unknown[], depth: number): void {
  if (wire === field.wire) list.push(readValue(reader, field.type, depth));
  else if (wire === 2) {
    const packed = reader.slice();
    while (!packed.done()) list.push(readValue(packed, field.type, depth));
  } else throw new ProtobufError(`${field.name}: wrong wire type ${wire}`);
}

function readMap(reader: Reader, field: Field, record: Values, depth: number): void {
  const entry = reader.slice();
  let key: unknown = defaultOf(field.key);
  let item: unknown;
  while (!entry.done()) {
    const tag = entry.uint32();
    if (tag >>> 3 === 1 && (tag & 7) === wireOf(field.key)) key = readScalar(entry, field.key);
    else if (tag >>> 3 === 2 && (tag & 7) === wireOf(field.type)) item = readValue(entry, field.type, depth);
    else entry.skip(tag & 7);
  }
  record[String(key)] = item ?? (isMessage(field.type) ? field.type.decode(noBytes) : defaultOf(field.type));
}

const textDecoder = new TextDecoder('utf-8');
const textEncoder = new TextEncoder();

/** Reads one message's bytes. */
export class Reader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  done(): boolean {
    return this.#at >= this.#end;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new ProtobufError('truncated message');
    return this.#bytes[this.#at++]!;
  }

  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new ProtobufError('varint too long');
  }

  varint(): bigint {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError('varint too long');
  }

  #take(length: number): number {
    const start = this.#at;
    if (length > this.#end - start) throw new ProtobufError('truncated message');
    this.#at = start + length;
    return start;
  }

  /** The bytes are a view: whoever keeps them keeps the whole message. */
  bytes(): Uint8Array {
    const length = this.uint32();
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  string(): string {
    return textDecoder.decode(this.bytes());
  }

  slice(): Reader {
    const length = this.uint32();
    const start = this.#take(length);
    return new Reader(this.#bytes, start, start + length);
  }

  fixed(length: number): DataView {
    const start = this.#take(length);
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + start, length);
  }

  skip(wire: number): void {
    if (wire === 0) this.varint();
    else if (wire === 1) this.#take(8);
    else if (wire === 2) this.#take(this.uint32());
    else if (wire === 5) this.#take(4);
    else throw new ProtobufError(`wire type ${wire} is not supported`);
  }
}

/** Grows as needed; nested messages are written in place and their length inserted after. */
export class Writer {
  #bytes = new Uint8Array(256);
  #at = 0;

  #room(length: number): void {
    const needed = this.#at + length;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }

  uint32(value: number): void {
    this.#room(5);
    let rest = value >>> 0;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  tag(number: number, wire: number): void {
    this.uint32((number << 3) | wire);
  }

  varint(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value <= 0x7fffffff) return this.uint32(value);
    let rest = BigInt.asUintN(64, BigInt(value));
    this.#room(10);
    while (rest > 0x7fn) {
      this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#at++] = Number(rest);
  }

  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  string(value: string): void {
    this.bytes(textEncoder.encode(value));
  }

  fixed(length: number, set: (view: DataView, at: number) => void): void {
    this.#room(length);
    set(new DataView(this.#bytes.buffer), this.#at);
    this.#at += length;
  }

  nested(write: () => void): void {
    const start = this.#at;
    write();
    const length = this.#at - start;
    let size = 1;
    for (let rest = length >>> 7; rest > 0; rest >>>= 7) size++;
    this.#room(size);
    this.#bytes.copyWithin(start + size, start, this.#at);
    this.#at = start;
    this.uint32(length);
    this.#at += length;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#at);
  }
}

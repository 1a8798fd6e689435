// Owns the mapping between JSON-shaped objects and protobuf messages of the API, compiled from schemas, each once.
import { setOwn } from '../meta.ts';
import type { ListSchema, ObjectSchema, Schema } from '../schema/schema.ts';
import { absent, ProtobufError, type Reader, type ValueCodec, type Writer } from './protobuf-bytes.ts';
import { scalarCodec } from './protobuf-scalars.ts';

type Json = Record<string, unknown>;

interface Slot {
  readonly number: number;
  write(writer: Writer, object: Json): void;
  read(reader: Reader, wire: number, object: Json): void;
}

interface MessagePlan {
  /** By number, ascending. */
  readonly slots: readonly Slot[];
  readonly byNumber: readonly (Slot | undefined)[];
}

const plans = new WeakMap<ObjectSchema, MessagePlan>();

function planOf(schema: ObjectSchema): MessagePlan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    plan = makePlan(schema, 0, []);
    plans.set(schema, plan);
  }
  return plan;
}

/** The fields that lie `depth` embedded messages deep under `prefix`. */
function makePlan(schema: ObjectSchema, depth: number, prefix: readonly number[]): MessagePlan {
  const here = schema.fields.filter(
    (field) => field.proto > 0 && prefix.every((number, at) => field.within[at] === number),
  );
  const slots: Slot[] = here.filter((field) => field.within.length === depth).map((field) => fieldSlot(field));
  const embedded = new Set(here.filter((field) => field.within.length > depth).map((field) => field.within[depth]!));
  for (const number of embedded) slots.push(embeddedSlot(number, makePlan(schema, depth + 1, [...prefix, number])));
  slots.sort((a, b) => a.number - b.number);
  const byNumber: (Slot | undefined)[] = [];
  for (const slot of slots) byNumber[slot.number] = slot;
  return { slots, byNumber };
}

function embeddedSlot(number: number, plan: MessagePlan): Slot {
  return {
    number,
    write(writer, object) {
      const before = writer.length;
      writePlan(plan, writer, object);
      writer.uint32(writer.length - before);
      writer.tag(number, 2);
    },
    read(reader, wire, object) {
      expectWire(wire, 2);
      const outer = reader.enter();
      readPlan(plan, reader, object);
      reader.leave(outer);
    },
  };
}

type Field = ObjectSchema['fields'][number];

function fieldSlot(field: Field): Slot {
  const { schema } = field;
  if (schema.type === 'list' && schema.message === undefined) return listSlot(field, schema);
  if (schema.type === 'map') return mapSlot(field, schema.values);
  const { name, proto: number, pointer } = field;
  const codec = lazyCodec(schema);
  const zero = pointer || schema.type === 'bytes' || schema.type === 'list' ? undefined : zeroMessage(schema);
  return {
    number,
    write(writer, object) {
      let value = object[name];
      if (value === undefined || value === null) {
        if (zero === undefined) return;
        value = zero;
      }
      const { wire, write } = codec();
      write(writer, value);
      writer.tag(number, wire);
    },
    read(reader, wire, object) {
      const { wire: expected, read } = codec();
      expectWire(wire, expected);
      object[name] = read(reader);
    },
  };
}

/** What a field that is no pointer writes when it is unset; codecs write nothing for a null time or raw. */
function zeroMessage(schema: Schema): unknown {
  switch (schema.type) {
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'double':
    case 'intOrString':
      return 0;
    case 'quantity':
      return '';
    case 'duration':
      return '0s';
    case 'object':
      return {};
    default:
      return absent;
  }
}

function listSlot({ name, proto: number }: Field, schema: ListSchema): Slot {
  const codec = lazyCodec(schema.items);
  return {
    number,
    write(writer, object) {
      const list = object[name];
      if (!Array.isArray(list)) return;
      const { wire, write } = codec();
      for (let at = list.length - 1; at >= 0; at--) {
        write(writer, list[at]);
        writer.tag(number, wire);
      }
    },
    read(reader, wire, object) {
      const list = (object[name] ??= []) as unknown[];
      const { wire: expected, read } = codec();
      if (wire === 2 && expected !== 2) {
        const outer = reader.enter();
        while (reader.at < reader.end) list.push(read(reader));
        reader.leave(outer);
      } else {
        expectWire(wire, expected);
        list.push(read(reader));
      }
    },
  };
}

function mapSlot({ name, proto: number }: Field, values: Schema): Slot {
  const codec = lazyCodec(values);
  return {
    number,
    write(writer, object) {
      const map = object[name] as Json | undefined | null;
      if (map === undefined || map === null) return;
      const { wire, write } = codec();
      const keys = sortedKeys(map);
      for (let at = keys.length - 1; at >= 0; at--) {
        const before = writer.length;
        write(writer, map[keys[at]!]);
        writer.tag(2, wire);
        writer.text(keys[at]!);
        writer.tag(1, 2);
        writer.uint32(writer.length - before);
        writer.tag(number, 2);
      }
    },
    read(reader, wire, object) {
      expectWire(wire, 2);
      const map = (object[name] ??= {}) as Json;
      const { wire: expected, read } = codec();
      const outer = reader.enter();
      let key = '';
      let value: unknown;
      while (reader.at < reader.end) {
        const tag = reader.uint32();
        if (tag === 10) key = reader.text();
        else if (tag === ((2 << 3) | expected)) value = read(reader);
        else reader.skip(tag & 7);
      }
      reader.leave(outer);
      setOwn(map, key, value === undefined ? emptyOf(values) : value);
    },
  };
}

/** Objects in their canonical form have them in order already. */
function sortedKeys(map: Json): string[] {
  const keys = Object.keys(map);
  for (let at = 1; at < keys.length; at++) if (keys[at - 1]! > keys[at]!) return keys.sort();
  return keys;
}

function emptyOf(schema: Schema): unknown {
  if (schema.type === 'object' || schema.type === 'map') return {};
  if (schema.type === 'list') return [];
  if (schema.type === 'quantity') return '0';
  const zero = zeroMessage(schema);
  return zero === absent ? null : zero;
}

function lazyCodec(schema: Schema): () => ValueCodec {
  let codec: ValueCodec | undefined;
  return () => (codec ??= codecOf(schema));
}

/** The codec of a value that stands alone: in a field, a list or a map. */
function codecOf(schema: Schema): ValueCodec {
  switch (schema.type) {
    case 'object':
      return messageCodec(schema);
    case 'list':
      return listMessageCodec(schema);
    case 'alternative':
      return alternativeCodec(schema.or, schema.object);
    case 'map':
      throw new Error('a map is no protobuf value of its own');
    default:
      return scalarCodec(schema.type);
  }
}

function messageCodec(schema: ObjectSchema): ValueCodec {
  const plan = planOf(schema);
  return {
    wire: 2,
    write(writer, value) {
      const before = writer.length;
      if (value !== absent) writePlan(plan, writer, value as Json);
      writer.uint32(writer.length - before);
    },
    read(reader) {
      const object: Json = {};
      const outer = reader.enter();
      readPlan(plan, reader, object);
      reader.leave(outer);
      return object;
    },
  };
}

/** Go slice types with names are messages: { repeated items = 1 }. */
function listMessageCodec(schema: ListSchema): ValueCodec {
  const plan: MessagePlan = (() => {
    const field = { name: 'items', proto: 1 } as Field;
    const slot = listSlot(field, schema);
    return { slots: [slot], byNumber: [undefined, slot] };
  })();
  return wrapped(
    plan,
    (value) => ({ items: value }),
    (object) => object['items'] ?? [],
  );
}

function wrapped(plan: MessagePlan, into: (value: unknown) => Json, from: (object: Json) => unknown): ValueCodec {
  return {
    wire: 2,
    write(writer, value) {
      const before = writer.length;
      if (value !== absent) writePlan(plan, writer, into(value));
      writer.uint32(writer.length - before);
    },
    read(reader) {
      const object: Json = {};
      const outer = reader.enter();
      readPlan(plan, reader, object);
      reader.leave(outer);
      return from(object);
    },
  };
}

const fieldOf = (name: string, proto: number, schema: Schema, pointer: boolean): Field => ({
  name,
  proto,
  schema,
  pointer,
  required: false,
  omitempty: true,
  omitzero: false,
  within: [],
  patchStrategy: [],
});

const strings: ListSchema = { type: 'list', items: { type: 'string' }, listType: 'atomic', mapKeys: [] };

/** JSONSchemaPropsOrBool {allows 1, schema 2}, …OrArray {schema 1, schemas 2}, …OrStringArray {schema 1, property 2}. */
function alternativeCodec(or: 'bool' | 'list' | 'strings', object: Schema): ValueCodec {
  const isBool = or === 'bool';
  const other: Schema = isBool
    ? { type: 'boolean' }
    : or === 'strings'
      ? strings
      : { type: 'list', items: object, listType: 'atomic', mapKeys: [] };
  const otherSlot = fieldSlot(fieldOf('other', isBool ? 1 : 2, other, false));
  const objectSlot = fieldSlot(fieldOf('object', isBool ? 2 : 1, object, true));
  const slots = isBool ? [otherSlot, objectSlot] : [objectSlot, otherSlot];
  return wrapped(
    { slots, byNumber: [undefined, ...slots] },
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? { object: value, ...(isBool && { other: true }) }
        : { other: value },
    (read) => read['object'] ?? read['other'] ?? (isBool ? false : []),
  );
}

function writePlan(plan: MessagePlan, writer: Writer, object: Json): void {
  for (let at = plan.slots.length - 1; at >= 0; at--) plan.slots[at]!.write(writer, object);
}

function readPlan(plan: MessagePlan, reader: Reader, object: Json): void {
  while (reader.at < reader.end) {
    const tag = reader.uint32();
    const slot = plan.byNumber[tag >>> 3];
    if (slot === undefined) {
      if (tag >>> 3 === 0) throw new ProtobufError('proto: illegal tag 0');
      reader.skip(tag & 7);
    } else slot.read(reader, tag & 7, object);
  }
}

function expectWire(wire: number, expected: number): void {
  if (wire !== expected) throw new ProtobufError(`proto: wrong wireType = ${wire}`);
}

/** The message alone, without envelope. */
export function writeMessage(schema: ObjectSchema, writer: Writer, object: unknown): void {
  writePlan(planOf(schema), writer, object as Json);
}

export function readMessage(schema: ObjectSchema, reader: Reader): Json {
  const object: Json = {};
  readPlan(planOf(schema), reader, object);
  return object;
}

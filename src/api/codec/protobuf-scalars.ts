// Owns how single values travel in protobuf: numbers, text, and the API's own types which are small messages.
import { canonicalQuantity, QuantityError } from '../quantity.ts';
import type { ScalarType } from '../schema/schema.ts';
import { formatDuration, formatMicroTime, formatTime, parseDuration, parseInstant } from '../time.ts';
import { parseExact } from './json-parse.ts';
import { jsonText, sharedJsonOf } from './shared-json.ts';
import { isEnveloped } from './protobuf-envelope.ts';
import { absent, ProtobufError, type Reader, type ValueCodec, type Writer } from './protobuf-bytes.ts';

export function scalarCodec(type: ScalarType): ValueCodec {
  return codecs[type];
}

const integer = (min: number, max: number): ValueCodec => ({
  wire: 0,
  write: (writer, value) => writer.int64(value as number),
  read(reader) {
    const value = reader.int64();
    // Go cuts to the field's width; a value outside it was never written by Go.
    if (value < min || value > max) throw new ProtobufError('proto: integer out of range');
    return value;
  },
});

/** A message of which `write` puts the fields, last first, and `read` is called for each. */
function message<T>(
  write: (writer: Writer, value: unknown) => void,
  start: () => T,
  read: (reader: Reader, number: number, wire: number, into: T) => void,
  finish: (into: T) => unknown,
): ValueCodec {
  return {
    wire: 2,
    write(writer, value) {
      const before = writer.length;
      if (value !== absent && value !== null) write(writer, value);
      writer.uint32(writer.length - before);
    },
    read(reader) {
      const into = start();
      const outer = reader.enter();
      while (reader.at < reader.end) {
        const tag = reader.uint32();
        read(reader, tag >>> 3, tag & 7, into);
      }
      reader.leave(outer);
      return finish(into);
    },
  };
}

interface Stamp {
  seconds: number;
  nanos: number;
  isSet: boolean;
}

const time = (isMicro: boolean): ValueCodec =>
  message<Stamp>(
    (writer, value) => {
      const instant = parseInstant(value as string);
      if (instant === undefined) throw new ProtobufError(`not a time: ${String(value).slice(0, 100)}`);
      writer.int64(isMicro ? Math.floor(instant.nanos / 1000) * 1000 : 0);
      writer.tag(2, 0);
      writer.int64(instant.seconds);
      writer.tag(1, 0);
    },
    () => ({ seconds: 0, nanos: 0, isSet: false }),
    (reader, number, wire, into) => {
      into.isSet = true;
      if (number === 1 && wire === 0) into.seconds = reader.int64();
      else if (number === 2 && wire === 0) into.nanos = reader.int64();
      else reader.skip(wire);
    },
    ({ seconds, nanos, isSet }) => {
      if (!isSet) return null;
      // Years 0 to 9999, as the text form can say them.
      if (seconds < -62167219200 || seconds > 253402300799 || nanos < 0 || nanos > 999_999_999)
        throw new ProtobufError('time out of range');
      return isMicro ? formatMicroTime({ seconds, nanos }) : formatTime(seconds);
    },
  );

const duration = message<{ nanoseconds: bigint }>(
  (writer, value) => {
    writer.int64(Number(parseDuration(value as string) ?? 0n));
    writer.tag(1, 0);
  },
  () => ({ nanoseconds: 0n }),
  (reader, number, wire, into) => {
    if (number === 1 && wire === 0) into.nanoseconds = BigInt(reader.int64());
    else reader.skip(wire);
  },
  ({ nanoseconds }) => formatDuration(nanoseconds),
);

const quantity = message<{ text: string }>(
  (writer, value) => {
    writer.text(value === '' ? '0' : String(value));
    writer.tag(1, 2);
  },
  () => ({ text: '' }),
  (reader, number, wire, into) => {
    if (number === 1 && wire === 2) into.text = reader.text();
    else reader.skip(wire);
  },
  ({ text }) => {
    try {
      return text === '' ? '0' : canonicalQuantity(text);
    } catch (error) {
      if (error instanceof QuantityError) throw new ProtobufError(error.message);
      throw error;
    }
  },
);

const intOrString = message<{ type: number; int: number; text: string }>(
  (writer, value) => {
    const isText = typeof value === 'string';
    writer.text(isText ? value : '');
    writer.tag(3, 2);
    writer.int64(isText ? 0 : (value as number));
    writer.tag(2, 0);
    writer.uint32(isText ? 1 : 0);
    writer.tag(1, 0);
  },
  () => ({ type: 0, int: 0, text: '' }),
  (reader, number, wire, into) => {
    if (number === 1 && wire === 0) into.type = reader.int64();
    else if (number === 2 && wire === 0) into.int = reader.int64() | 0;
    else if (number === 3 && wire === 2) into.text = reader.text();
    else reader.skip(wire);
  },
  ({ type, int, text }) => (type === 1 ? text : int),
);

/** RawExtension, JSON, FieldsV1: JSON text within bytes. */
const raw = message<{ value: unknown }>(
  (writer, value) => {
    writer.text(jsonText(value));
    writer.tag(1, 2);
  },
  () => ({ value: null }),
  (reader, number, wire, into) => {
    if (number === 1 && wire === 2) into.value = jsonOf(reader.bytes(), parseExact);
    else reader.skip(wire);
  },
  ({ value }) => value,
);

/** FieldsV1, which many objects hold alike: read as the one shared value. */
const fields: ValueCodec = {
  ...raw,
  read(reader) {
    const outer = reader.enter();
    let value: unknown = null;
    while (reader.at < reader.end) {
      const tag = reader.uint32();
      if (tag === 10) value = jsonOf(reader.bytes(), sharedJsonOf);
      else reader.skip(tag & 7);
    }
    reader.leave(outer);
    return value;
  },
};

function jsonOf(bytes: Buffer, parse: (text: string) => unknown): unknown {
  if (bytes.length === 0) return null;
  if (isEnveloped(bytes)) throw new ProtobufError('an embedded object must be JSON');
  try {
    return parse(bytes.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ProtobufError('an embedded object is no JSON');
    throw error;
  }
}

const codecs: Readonly<Record<ScalarType, ValueCodec>> = {
  string: {
    wire: 2,
    write: (writer, value) => writer.text(value as string),
    read: (reader) => reader.text(),
  },
  boolean: {
    wire: 0,
    write: (writer, value) => writer.uint32(value === true ? 1 : 0),
    read: (reader) => reader.int64() !== 0,
  },
  int32: integer(-(2 ** 31), 2 ** 31 - 1),
  int64: integer(-(2 ** 63), 2 ** 63),
  uint8: integer(0, 255),
  double: {
    wire: 1,
    write: (writer, value) => writer.double(value as number),
    read: (reader) => reader.double(),
  },
  bytes: {
    wire: 2,
    write: (writer, value) => writer.bytes(Buffer.from((value ?? '') as string, 'base64')),
    read: (reader) => reader.bytes().toString('base64'),
  },
  quantity,
  time: time(false),
  microTime: time(true),
  duration,
  intOrString,
  raw,
  fields,
  any: raw,
};

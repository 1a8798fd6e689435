// Proves protobuf both ways: known bytes, generated objects of every kind, watch frames, hostile bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { arbitrary } from './arbitrary.suite.ts';
import { kindNames, schemaOf } from '../schema/builtin.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { isStatusError } from '../status-error.ts';
import { decodeParsed } from './decode.ts';
import { encodeText } from './encode.ts';
import { parseJson } from './json-parse.ts';
import { decodeProtobuf, decodeWatchFrame, encodeProtobuf, encodeWatchFrame } from './protobuf.ts';

test('the envelope and the message are those of upstream', () => {
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { k: 'v' } };
  const bytes = encodeProtobuf(schemaOf('v1', 'ConfigMap')!, object);
  const meta = '0a0161' + '1200' + '1a00' + '2200' + '2a00' + '3200' + '3800' + '4200';
  const message = `0a${(meta.length / 2).toString(16).padStart(2, '0')}${meta}12060a016b120176`;
  const raw = `12${(message.length / 2).toString(16).padStart(2, '0')}${message}`;
  assert.equal(
    bytes.toString('hex'),
    `6b3873000a0f0a0276311209${Buffer.from('ConfigMap').toString('hex')}${raw}1a002200`,
  );
  assert.deepEqual(decodeProtobuf(bytes).object, object);
});

/** Kinds whose fields have no protobuf numbers are JSON only. */
const kinds = kindNames().flatMap((name): { apiVersion: string; kind: string; schema: ObjectSchema }[] => {
  const at = name.lastIndexOf('/');
  const [apiVersion, kind] = [name.slice(0, at), name.slice(at + 1)];
  const schema = schemaOf(apiVersion, kind)!;
  const isJsonOnly =
    schema.fields.every((field) => field.proto === 0) || /^(PodMetrics|NodeMetrics|WatchEvent)/.test(kind);
  return isJsonOnly ? [] : [{ apiVersion, kind, schema }];
});

test('objects of every kind survive JSON and protobuf', () => {
  assert.ok(kinds.length > 130, `${kinds.length} kinds`);
  for (const { apiVersion, kind, schema } of kinds)
    fc.assert(
      fc.property(arbitrary(schema, 6), (generated) => {
        const text = JSON.stringify({ ...(generated as object), kind, apiVersion });
        const { object, strict } = decodeParsed(schema, parseJson(text), kind, apiVersion);
        assert.deepEqual(strict, []);
        const written = encodeText(schema, object);
        assert.deepEqual(JSON.parse(written), object);
        assert.equal(encodeText(schema, decodeParsed(schema, parseJson(written), kind, apiVersion).object), written);
        const read = encodeText(schema, decodeProtobuf(encodeProtobuf(schema, object)).object);
        assert.equal(withoutEmpty(read), withoutEmpty(written));
      }),
      { numRuns: 6 },
    );
});

/** Protobuf does not tell an empty list or map from none, nor the kind of embedded objects. */
function withoutEmpty(text: string): string {
  const stripped = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value ?? undefined;
    if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => stripped(item) ?? null);
    const kept = Object.entries(value).flatMap(([key, inner]) => {
      const left = stripped(inner);
      return left === undefined ? [] : [[key, left] as const];
    });
    return kept.length === 0 ? undefined : Object.fromEntries(kept);
  };
  return JSON.stringify(stripped(JSON.parse(text)));
}

test('watch frames', () => {
  const object = encodeProtobuf(schemaOf('v1', 'Namespace')!, {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: 'a' },
    spec: {},
    status: {},
  });
  const frame = encodeWatchFrame('ADDED', object);
  assert.equal(frame.readUInt32BE(0), frame.length - 4);
  const { type, enveloped } = decodeWatchFrame(frame.subarray(4));
  assert.equal(type, 'ADDED');
  assert.deepEqual(decodeProtobuf(enveloped).object['metadata'], { name: 'a' });
});

test('hostile bytes are refused with 400 or read', () => {
  const whole = encodeProtobuf(schemaOf('v1', 'Pod')!, {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a', labels: { __proto: 'x' }, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'c', resources: { limits: { cpu: '1' } } }] },
    status: {},
  });
  const check = (bytes: Uint8Array): void => {
    try {
      decodeProtobuf(bytes);
    } catch (error) {
      assert.ok(isStatusError(error, 'BadRequest'), String(error));
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), check));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 4 }), (changes) => {
      const broken = Buffer.from(whole);
      for (const [at, byte] of changes) broken[at] = byte;
      check(broken);
    }),
    { numRuns: 2000 },
  );
  for (let length = 0; length < whole.length; length++) check(whole.subarray(0, length));
});

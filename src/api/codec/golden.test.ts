// Proves that decoding and encoding give back every recorded object of upstream, field for field.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { schemaOf } from '../schema/builtin.ts';
import { decodeParsed } from './decode.ts';
import { parseJson } from './json-parse.ts';
import { decodeProtobuf, encodeProtobuf } from './protobuf.ts';
import { normalize } from './structure.ts';

interface Recording {
  readonly steps: readonly { readonly only?: unknown }[];
  readonly answers: readonly { readonly body?: unknown }[];
}

const root = join(process.cwd(), 'test/golden/recorded');

/** Placeholders of the recordings stand where values of other forms were. */
function fill(text: string): string {
  return (
    text
      .replace(
        /"(eventTime|renewTime|acquireTime|lastObservedTime)":"<[a-z-]*time>"/g,
        '"$1":"2026-01-01T00:00:00.000000Z"',
      )
      // Protobuf knows no kind of embedded objects; upstream fills these in when it converts a StatefulSet.
      .replaceAll('"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name"', '"metadata":{"name"')
      .replaceAll('<time>', '2026-01-01T00:00:00Z')
      .replace(/"(nodePort|healthCheckNodePort)":"<[^"]*>"/g, '"$1":30000')
  );
}

function* recordedObjects(): Generator<[string, Record<string, unknown>]> {
  for (const area of readdirSync(root))
    for (const file of readdirSync(join(root, area))) {
      // The templates of claims there have kinds as they were sent: the server's matter.
      if (file === 'objects-core-whole-statefulset.json') continue;
      const recording = JSON.parse(readFileSync(join(root, area, file), 'utf8')) as Recording;
      for (const [at, step] of recording.steps.entries()) {
        const body = recording.answers[at]?.body;
        if (step.only === undefined && typeof body === 'object' && body !== null && 'metadata' in body)
          yield [`${file} step ${at}`, JSON.parse(fill(JSON.stringify(body))) as Record<string, unknown>];
      }
    }
}

test('every recorded object survives decoding, normalizing and protobuf', () => {
  let count = 0;
  for (const [where, object] of recordedObjects()) {
    const { apiVersion, kind } = object as { apiVersion: string; kind: string };
    const schema = schemaOf(apiVersion, kind);
    if (schema === undefined) continue;
    const decoded = decodeParsed(schema, parseJson(JSON.stringify(object)), kind, apiVersion);
    assert.deepEqual(decoded.object, object, where);
    assert.deepEqual(decoded.strict, [], where);
    assert.deepEqual(normalize(schema, decoded.object), decoded.object, where);
    if (schema.fields.some((field) => field.proto > 0 && field.name !== 'metadata'))
      assert.deepEqual(normalize(schema, decodeProtobuf(encodeProtobuf(schema, decoded.object)).object), object, where);
    count++;
  }
  assert.ok(count > 1500, `only ${count} objects`);
});

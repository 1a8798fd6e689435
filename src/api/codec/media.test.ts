// Proves bodies of every media type: YAML's scalars and refusals, CBOR, and that all forms mean the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isStatusError } from '../status-error.ts';
import { decodeCbor, encodeCbor } from './cbor.ts';
import { decodeBody, encodeBody, mediaTypes, retype } from './media.ts';
import { parseYaml } from './yaml.ts';
import { writeYaml } from './yaml-write.ts';

const yaml = (text: string): unknown => parseYaml(text).value;

test('YAML scalars are those of YAML 1.1 without dates', () => {
  assert.deepEqual(
    yaml(
      'a: 0644\nb: yes\nc: on\nd: y\ne: 12:30:45\nf: 2026-01-01\ng: 0x1F\nh: ~\ni: "1"\nj: 1.5\nk: 0o17\nl: N\nm: -0644',
    ),
    {
      a: 420,
      b: true,
      c: true,
      d: true,
      e: '12:30:45',
      f: '2026-01-01',
      g: 31,
      h: null,
      i: '1',
      j: 1.5,
      k: 15,
      l: false,
      m: -420,
    },
  );
  assert.deepEqual(yaml('a: 1\n---\na: 2\n'), { a: 1 });
  assert.deepEqual(yaml(''), {});
  assert.deepEqual(yaml('d:\n  <<: {a: "1"}\n  b: "2"'), { d: { a: '1', b: '2' } });
  assert.deepEqual(yaml('{"a": [1, {"b": null}]}'), { a: [1, { b: null }] });
  assert.equal(JSON.stringify(yaml('__proto__: {x: 1}')), '{"__proto__":{"x":1}}');
});

test('doubled keys of YAML are told with their lines, the last one counts', () => {
  const parsed = parseYaml('a: 1\nb:\n  c: 1\n  c: 2\na: 3\n');
  assert.deepEqual(parsed.value, { a: 3, b: { c: 2 } });
  assert.deepEqual(parsed.problems, ['line 4: key "c" already set in map', 'line 5: key "a" already set in map']);
});

test('bad and hostile YAML is refused', () => {
  const laughs = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${'bcdefghij'
    .split('')
    .map((name, at) => `${name}: &${name} [${Array(10).fill(`*${'abcdefghij'[at]}`).join(',')}]`)
    .join('\n')}`;
  for (const text of ['a: [', 'a: *b', '\ta: b', laughs, `a: ${'['.repeat(5000)}`, 'a: .nan', 'a: &a [*a]'])
    assert.throws(
      () => yaml(text),
      (error) => isStatusError(error, 'BadRequest'),
      text.slice(0, 30),
    );
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom(
          'a',
          ':',
          ' ',
          '\n',
          '-',
          '[',
          ']',
          '{',
          '}',
          '&',
          '*',
          '"',
          "'",
          '|',
          '>',
          '!',
          '#',
          '<',
          '1',
        ),
      }),
      (text) => {
        try {
          yaml(text);
        } catch (error) {
          assert.ok(isStatusError(error, 'BadRequest'), String(error));
        }
      },
    ),
    { numRuns: 1000 },
  );
});

test('YAML written reads back the same', () => {
  assert.equal(writeYaml({ b: ['y', '0644', { c: 'no' }], a: '1' }), 'a: "1"\nb:\n- "y"\n- "0644"\n- c: "no"\n');
  fc.assert(
    fc.property(
      // "<<" as a key merges when it is read, and upstream writes it plain all the same.
      fc.dictionary(
        fc.string().filter((key) => key !== '<<'),
        fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string())),
      ),
      (value) => {
        assert.deepEqual(yaml(writeYaml({ value })), JSON.parse(JSON.stringify({ value })));
      },
    ),
  );
});

test('CBOR', () => {
  assert.equal(
    encodeCbor({ a: [1, -1, 'x', null, true, 1.5] }).toString('hex'),
    'd9d9f7a141618601204178f6f5fb3ff8000000000000',
  );
  const read = (hex: string): unknown => decodeCbor(Buffer.from(hex, 'hex'));
  // Text, bytes that are text, bytes with a later form, a tag that says nothing.
  assert.deepEqual(read('84616162c3a9d64200ffc0426162'), ['a', 'é', 'AP8=', 'ab']);
  assert.deepEqual(read('82d54200ffd74200ff'), ['AP8', '00ff']);
  for (const refused of ['61ff', 'c24101', 'd9', 'd6'])
    assert.throws(
      () => read(refused),
      (error) => isStatusError(error, 'BadRequest'),
    );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(decodeCbor(encodeCbor(plain)), plain);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        decodeCbor(bytes);
      } catch (error) {
        assert.ok(isStatusError(error, 'BadRequest'), String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test('all media types mean the same', () => {
  const object = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', resources: {} }] },
    status: {},
  };
  for (const mediaType of mediaTypes) {
    const body = decodeBody(encodeBody(object, mediaType), mediaType);
    assert.deepEqual(body.object, object, mediaType);
    assert.equal(body.isTyped, true);
  }
  assert.throws(
    () => decodeBody(Buffer.from('x'), 'text/plain'),
    (error) => isStatusError(error, 'UnsupportedMediaType'),
  );
});

test('an expected kind stands in; other kinds stay as they are', () => {
  const expected = { apiVersion: 'v1', kind: 'ConfigMap' };
  assert.deepEqual(decodeBody(Buffer.from('{"data":{"a":"b"}}'), 'application/json', expected).object, {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {},
    data: { a: 'b' },
  });
  const custom = decodeBody(
    Buffer.from('{"apiVersion":"x.io/v1","kind":"W","spec":{"a":2.5,"a":3.5}}'),
    'application/json',
  );
  assert.deepEqual(custom.object, { apiVersion: 'x.io/v1', kind: 'W', spec: { a: 3.5 } });
  assert.deepEqual(custom.strict, ['duplicate field "spec.a"']);
  assert.throws(
    () => encodeBody(custom.object, 'application/vnd.kubernetes.protobuf'),
    (error) => isStatusError(error, 'NotAcceptable'),
  );
  assert.throws(
    () => retype({ apiVersion: 'v1', kind: 'Pod', spec: { containers: 1 } }),
    (error) => isStatusError(error, 'BadRequest'),
  );
});

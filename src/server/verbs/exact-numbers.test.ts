// Owns the tests of whole numbers beyond 2^53: kept to the last digit where JSON is free, in every form; in typed fields kept when a
// double holds them, and refused otherwise, after all else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeCbor, encodeCbor } from '../../api/codec/cbor.ts';
import { writeJson } from '../../api/codec/json-write.ts';
import { encodeProtobuf } from '../../api/codec/protobuf.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import { ask } from '../http/ask.suite.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { jsonStorage } from '../storage/envelope.ts';

const path = '/apis/apps/v1/namespaces/default/controllerrevisions';
const body = (data: string, revision = '1', name = 'a') =>
  `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":${JSON.stringify(name)}},"data":${data},"revision":${revision}}`;

let running: TestServer;

before(async () => {
  running = await startTestServer({ featureGates: { CBORServingAndStorage: true } });
});

after(() => running.stop());

const post = (contentType: string, bytes: string | Buffer, query = '?dryRun=All') =>
  ask(running.port, { method: 'POST', path: `${path}${query}`, headers: { 'content-type': contentType }, body: bytes });

/** No double holds the first, and JavaScript writes the last with other digits than it has. */
const longNumbers = ['9007199254740993', '-9007199254740993', '9223372036854775807', '1152921504606846976'];

test('free JSON keeps every digit, typed fields refuse by name what they cannot keep', async () => {
  for (const number of [...longNumbers, '9007199254740992', '9007199254740994', '-9223372036854775808']) {
    const { status, text } = await post('application/json', body(`{"n":[1,{"m":${number}}]}`));
    assert.equal(status, 201, text);
    assert.ok(text.includes(`"m":${number}`), text);
  }
  for (const data of ['{"n":12345678901234567890123}', '{"n":0.1234567890123456789}', '{"n":"9007199254740993"}'])
    assert.equal((await post('application/json', body(data))).status, 201, data);
  assert.equal((await post('application/json', body('{}', '9007199254740992'))).status, 201);
  for (const number of longNumbers.filter((one) => !one.startsWith('-'))) {
    const { status, text } = await post('application/json', body('{}', number));
    assert.equal(status, 400);
    assert.ok(text.includes(`the whole number ${number} is beyond 2^53`), text);
  }
  assert.equal((await post('application/json', body('{}', '9223372036854775808'))).status, 400, 'more than 64 bits');
});

test('in every form, and in patches', async () => {
  const yaml = (number: string) =>
    `apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: a}\nrevision: 1\ndata: {whole: ${number}}\n`;
  for (const number of longNumbers)
    assert.ok((await post('application/yaml', yaml(number))).text.includes(`"whole":${number}`));
  assert.ok((await post('application/yaml', yaml('0x20000000000001'))).text.includes('"whole":9007199254740993'));
  assert.equal((await post('application/yaml', yaml('"9007199254740993"'))).status, 201);
  const large = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata: { name: 'a' }, data: {}, revision: 5 };
  const encoded = encodeProtobuf(schemaOf('apps/v1', 'ControllerRevision')!, large);
  // The revision's one byte becomes nine: 2^56 + 1 and more.
  const at = encoded.lastIndexOf(Buffer.of(0x18, 0x05));
  const number = Buffer.of(0x18, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
  const longer = Buffer.concat([encoded.subarray(0, at), number, encoded.subarray(at + 2)]);
  // The message has grown by eight bytes, and so has its length.
  longer[longer.indexOf(0x12, 30) + 1]! += 8;
  assert.equal((await post('application/vnd.kubernetes.protobuf', encoded)).status, 201);
  assert.equal((await post('application/vnd.kubernetes.protobuf', longer)).status, 400);
  const cbor = encodeCbor({ ...large, data: { n: 'x' } });
  const number64 = Buffer.from('1b0020000000000001', 'hex');
  const place = cbor.indexOf(Buffer.from('416e4178', 'hex'));
  const wide = Buffer.concat([cbor.subarray(0, place + 2), number64, cbor.subarray(place + 4)]);
  assert.equal((await post('application/cbor', cbor)).status, 201);
  const kept = await post('application/cbor', wide);
  assert.equal(kept.status, 201);
  assert.ok(kept.text.includes('"n":9007199254740993'), kept.text);
  assert.equal((await post('application/json', body('{"n":1}', '1', 'patched'), '')).status, 201);
  for (const [type, patch] of [
    ['application/merge-patch+json', '{"revision":9007199254740993}'],
    ['application/json-patch+json', '[{"op":"replace","path":"/revision","value":9007199254740993}]'],
    ['application/strategic-merge-patch+json', '{"revision":9007199254740993}'],
    ['application/apply-patch+yaml', body('{"n":1}', '9007199254740993', 'patched')],
  ] as const) {
    const { status, text } = await ask(running.port, {
      method: 'PATCH',
      path: `${path}/patched?fieldManager=me${type.startsWith('application/apply') ? '&force=true' : ''}`,
      headers: { 'content-type': type },
      body: patch,
    });
    assert.equal(status, 400, `${type}: ${text}`);
  }
});

test('what is wrong besides is told first', async () => {
  const { status, text } = await post('application/json', body('{}', '9007199254740993', 'A_b'));
  assert.equal(status, 422, text);
});

test('values come back from the store and from CBOR as they were', () => {
  const { decode, encode } = jsonStorage();
  for (const number of longNumbers) {
    const object = { apiVersion: 'a/v1', kind: 'B', metadata: { name: 'c' }, n: [BigInt(number)], text: `:${number}` };
    assert.deepEqual(decode(encode(object as never)), object);
    assert.deepEqual(decodeCbor(encodeCbor(object)), object);
  }
});

test('JSON is written as JSON.stringify writes it, but for bigints', () => {
  const value = {
    a: [1, undefined, null],
    b: undefined,
    c: {},
    d: [],
    e: { f: 'x"y', __proto__: null },
    g: true,
    h: Number.NaN,
  };
  for (const indent of [0, 2]) {
    const marked = JSON.stringify({ ...value, n: [17] }, null, indent);
    assert.equal(writeJson({ ...value, n: [17n] }, indent), marked);
    assert.equal(writeJson(value, indent), JSON.stringify(value, null, indent));
  }
  assert.throws(() => writeJson(Object.assign([], { toJSON: () => assert.fail('no JSON') })), /no JSON/);
});

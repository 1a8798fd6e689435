// Owns the tests of whole numbers beyond 2^53: kept when a double holds them, refused in every form otherwise, after all else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodeCbor } from '../../api/codec/cbor.ts';
import { encodeProtobuf } from '../../api/codec/protobuf.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import { StoreCorrupt } from '../../store/store.ts';
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

test('kept, or refused by name', async () => {
  const table: readonly (readonly [data: string, revision: string, code: number])[] = [
    ['{"n":9007199254740992}', '1', 201],
    ['{"n":9007199254740993}', '1', 400],
    ['{"n":-9007199254740993}', '1', 400],
    ['{"n":9223372036854775807}', '1', 400],
    ['{"n":1152921504606846976}', '1', 400],
    ['{"n":9007199254740994}', '1', 201],
    ['{"n":12345678901234567890123}', '1', 201],
    ['{"n":0.1234567890123456789}', '1', 201],
    ['{"n":[1,{"m":9007199254740993}]}', '1', 400],
    ['{"n":"9007199254740993"}', '1', 201],
    ['{}', '9007199254740993', 400],
    ['{}', '9007199254740992', 201],
  ];
  for (const [data, revision, code] of table) {
    const { status, text } = await post('application/json', body(data, revision));
    assert.equal(status, code, `${data} ${revision}: ${text.slice(0, 300)}`);
    if (code === 400) assert.match(text, /the whole number -?[19]\d+ is beyond 2\^53/);
  }
  const kept = await post('application/json', body('{"n":9007199254740994}'));
  assert.match(kept.text, /"n":9007199254740994/);
});

test('in every form, and in patches', async () => {
  const yaml = (number: string) =>
    `apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: a}\nrevision: 1\ndata: {n: ${number}}\n`;
  assert.equal((await post('application/yaml', yaml('9007199254740993'))).status, 400);
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
  const place = cbor.indexOf(Buffer.from('6178', 'hex'));
  const wide = Buffer.concat([
    cbor.subarray(0, place),
    Buffer.from('1b0020000000000001', 'hex'),
    cbor.subarray(place + 2),
  ]);
  assert.equal((await post('application/cbor', cbor)).status, 201);
  assert.equal((await post('application/cbor', wide)).status, 400);
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
  const { status, text } = await post('application/json', body('{"n":9007199254740993}', '-1', 'A_b'));
  assert.equal(status, 422, text);
});

test('stored numbers that cannot be kept make an object unreadable rather than another one', () => {
  const { decode } = jsonStorage();
  const stored = (number: string) =>
    Buffer.from(`{"apiVersion":"a/v1","kind":"B","metadata":{"name":"c"},"n": ${number}}`);
  assert.deepEqual((decode(stored('9007199254740992')) as unknown as { n: number }).n, 2 ** 53);
  assert.throws(() => decode(stored('9007199254740993')), StoreCorrupt);
});

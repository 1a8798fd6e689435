// Owns the tests of large lists: the same in parts as whole in every form, and bounded memory whoever reads how slowly.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { decodeProtobuf } from '../../api/codec/protobuf.ts';
import { adminToken, startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { ask } from './ask.suite.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const protobuf = 'application/vnd.kubernetes.protobuf';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const count = 1500;

let running: TestServer;

interface List {
  readonly kind: string;
  readonly metadata: object;
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly data?: object;
    readonly kind?: string;
  }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

before(async () => {
  running = await startTestServer();
  const names = Array.from({ length: count }, (_, at) => `map-${String(at).padStart(4, '0')}`);
  for (const name of names)
    await running.admin.call({
      method: 'POST',
      path: maps,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { name, fill: 'ü'.repeat(2000) } },
    });
});

after(() => running.stop());

const get = (path: string, headers: Record<string, string> = {}) => ask(running.port, { path, headers });
const namesOf = ({ items }: List): string[] => items.map(({ metadata }) => metadata.name);

test('JSON: in parts as in pages', async () => {
  const reply = await get(maps);
  assert.deepEqual([reply.headers['content-length'], reply.headers['transfer-encoding']], [undefined, 'chunked']);
  assert.ok(reply.bytes.length > 5_000_000 && reply.text.endsWith(']}\n'));
  const all = JSON.parse(reply.text) as List;
  assert.equal(all.items.length, count);
  const pages: List['items'][number][] = [];
  let token = '';
  do {
    const { text } = await get(`${maps}?limit=400${token && `&continue=${token}`}`);
    const page = JSON.parse(text) as List & { metadata: { continue?: string } };
    pages.push(...page.items);
    token = page.metadata.continue ?? '';
  } while (token !== '');
  assert.deepEqual(all.items, pages);
  assert.equal(all.items[0]!.kind, undefined);
});

test('compressed: the same bytes', async () => {
  const plain = await get(maps);
  for (const path of [maps, `${maps}?limit=200`]) {
    const reply = await get(path, { 'accept-encoding': 'deflate, gzip' });
    assert.deepEqual([reply.headers['content-encoding'], reply.headers['vary']], ['gzip', 'Accept-Encoding']);
    const bytes = gunzipSync(reply.bytes);
    if (path === maps) assert.ok(bytes.equals(plain.bytes));
  }
  assert.equal((await get(maps, { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'], undefined);
  assert.equal((await get(`${maps}?limit=1`, { 'accept-encoding': 'gzip' })).headers['content-encoding'], undefined);
});

test('protobuf: whole and in parts, the same as JSON', async () => {
  for (const query of ['', '?limit=3', '?limit=1', '?fieldSelector=metadata.name%3Dnone']) {
    const { bytes } = await get(`${maps}${query}`, { accept: protobuf });
    const { text } = await get(`${maps}${query}`);
    const json = JSON.parse(text) as List;
    const { kind, object } = decodeProtobuf(bytes);
    assert.equal(kind, 'ConfigMapList');
    assert.deepEqual((object as unknown as List).metadata, json.metadata);
    const items = (object as unknown as List).items.map(
      (item) => JSON.parse(JSON.stringify(item)) as List['items'][number],
    );
    assert.deepEqual(items, json.items);
  }
});

test('tables and metadata in parts', async () => {
  const rows = JSON.parse((await get(maps, { accept: table })).text) as List;
  assert.deepEqual([rows.kind, rows.rows.length, rows.rows[7]!.cells.slice(0, 2)], ['Table', count, ['map-0007', 2]]);
  const few = JSON.parse((await get(`${maps}?limit=2`, { accept: table })).text) as List;
  assert.deepEqual(Object.keys(few), Object.keys(rows));
  const metadata = JSON.parse((await get(maps, { accept: partial })).text) as List;
  assert.deepEqual(
    [metadata.kind, namesOf(metadata).length, namesOf(metadata)[3]],
    ['PartialObjectMetadataList', count, 'map-0003'],
  );
});

test('readers that stand still cost no memory to speak of', async () => {
  await get(maps);
  const headers = { ':path': maps, authorization: `Bearer ${adminToken}` };
  const before = process.memoryUsage();
  const sessions = [];
  for (let at = 0; at < 30; at++) {
    const session = connect(`https://127.0.0.1:${running.port}`, { rejectUnauthorized: false });
    const stream = session.request(headers);
    stream.pause();
    await once(stream, 'response');
    sessions.push(session);
  }
  // Whoever reads gets all of it meanwhile.
  assert.equal((JSON.parse((await get(maps)).text) as List).items.length, count);
  const now = process.memoryUsage();
  const grown = now.external + now.heapUsed - before.external - before.heapUsed;
  for (const session of sessions) session.destroy();
  assert.ok(grown < 80_000_000, `30 readers of 6 MB took ${grown} bytes`);
});

// Tests what a request may not cost, in counts that no machine changes: encodings of an object, reads of the store.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { ClientHttp2Stream } from 'node:http2';
import { after, before, mock, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { memoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import { adminToken, startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';

const path = '/api/v1/namespaces/default/configmaps';
const counts = { ranges: 0, transactions: 0 };
let running: TestServer;
let store: Store;

before(async () => {
  store = memoryStore({ clock: systemClock, log: silentLogger, random: systemRandom });
  const counting = new Proxy(store, {
    get(of, name) {
      if (name === 'range') counts.ranges++;
      if (name === 'transact') counts.transactions++;
      const member: unknown = Reflect.get(of, name);
      return typeof member === 'function' ? (member as (...given: unknown[]) => unknown).bind(of) : member;
    },
  });
  running = await startTestServer({}, counting);
});
after(async () => {
  await running.stop();
  await store.close();
});

/** How often the stored object of that name was written as JSON meanwhile. */
async function encodings(name: string, work: () => Promise<void>): Promise<number> {
  const spy = mock.method(JSON, 'stringify');
  await work();
  const made = spy.mock.calls.filter(({ arguments: [value] }) => {
    const { kind, metadata } = (value ?? {}) as { kind?: string; metadata?: { name?: string } };
    return kind === 'ConfigMap' && metadata?.name === name;
  });
  spy.mock.restore();
  return made.length;
}

async function open(): Promise<(method: string, url: string, body?: object) => ClientHttp2Stream> {
  const session = connect(`https://127.0.0.1:${running.port}`, { rejectUnauthorized: false });
  await once(session, 'remoteSettings');
  session.unref();
  return (method, url, body) => {
    const stream = session.request({
      ':method': method,
      ':path': url,
      authorization: `Bearer ${adminToken}`,
      'content-type': 'application/json',
    });
    stream.setEncoding('utf8');
    stream.end(body === undefined ? undefined : JSON.stringify(body));
    return stream;
  };
}

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk as string;
  return text;
}

test('an object is written as JSON once: for its maker, for all who watch, for who gets it and who lists it', async () => {
  const ask = await open();
  const watches = Array.from({ length: 5 }, () => ask('GET', `${path}?watch=true&resourceVersion=0`));
  await Promise.all(watches.map((watch) => once(watch, 'response')));
  const made = await encodings('once', async () => {
    const heard = watches.map((watch) => once(watch, 'data'));
    // What the client sends says no kind, and is not counted.
    assert.match(await textOf(ask('POST', path, { metadata: { name: 'once' }, data: { a: 'b' } })), /"uid"/);
    for (const [event] of await Promise.all(heard)) assert.match(event as string, /^\{"type":"ADDED".*"once"/);
    assert.match(await textOf(ask('GET', `${path}/once`)), /"uid"/);
    for (let turn = 0; turn < 3; turn++) assert.match(await textOf(ask('GET', path)), /"name":"once"/);
  });
  assert.equal(made, 1);
  for (const watch of watches) watch.close();
});

test('reads ask nothing of a store that nobody else writes to; a write is one transaction', async () => {
  const ask = await open();
  counts.ranges = 0;
  counts.transactions = 0;
  assert.match(await textOf(ask('POST', path, { metadata: { name: 'one' } })), /"uid"/);
  assert.deepEqual(counts, { ranges: 0, transactions: 1 });
  await textOf(ask('GET', `${path}/one`));
  await textOf(ask('GET', `${path}?labelSelector=a%3Db`));
  await textOf(ask('GET', path));
  assert.deepEqual(counts, { ranges: 0, transactions: 1 });
});

test('pods of one shape share what admission adds to each and what is noted of their fields', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const post = (to: string, body: object) =>
    running.admin.call({ method: 'POST', path: to, query: new URLSearchParams(), body });
  await post(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  const make = async (name: string) =>
    (await post(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })) as {
      metadata: { managedFields: { fieldsV1: object }[] };
      spec: { tolerations: object[]; volumes: { projected: { sources: object } }[] };
    };
  const [a, b] = [await make('a'), await make('b')];
  assert.equal(a.spec.volumes[0]!.projected.sources, b.spec.volumes[0]!.projected.sources);
  assert.equal(a.spec.tolerations[0], b.spec.tolerations[0]);
  assert.equal(a.metadata.managedFields[0]!.fieldsV1, b.metadata.managedFields[0]!.fieldsV1);
});

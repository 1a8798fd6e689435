// Owns the tests of watches and logs over WebSockets, with a client of its own making.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { decodeProtobuf, decodeWatchFrame } from '../../api/codec/protobuf.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { deferred } from '../../base/task-group.ts';
import { memoryStore } from '../../store/memory.ts';
import { adminToken, startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { ask } from './ask.suite.ts';
import { webSocketLog } from './web-socket.ts';

const maps = '/api/v1/namespaces/default/configmaps';
let running: TestServer;

const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });

before(async () => {
  // Its watches cannot begin before it did.
  for (const value of ['1', '2', '3'])
    await store.transact({ compare: [], then: [{ type: 'put', key: '/other', value: Buffer.from(value) }] });
  running = await startTestServer({}, store);
});

after(async () => {
  await running.stop();
  await store.close();
});

interface Message {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

interface Client {
  readonly webSocket: WebSocket;
  next(): Promise<Message>;
  /** The code of its end. */
  readonly closed: Promise<number>;
}

function open(url: string, protocols: readonly string[] = [], headers: Record<string, string> = {}): Client {
  const webSocket = new WebSocket(url, [...protocols], {
    rejectUnauthorized: false,
    headers: { origin: 'https://page.example', ...headers },
  });
  const messages: Message[] = [];
  let wake = deferred();
  webSocket.on('message', (data: Buffer, isBinary) => {
    messages.push({ data, isBinary });
    wake.resolve();
  });
  const closed = once(webSocket, 'close').then(([code]) => code as number);
  closed.catch(() => undefined);
  return {
    webSocket,
    closed,
    async next() {
      while (messages.length === 0) {
        await wake.promise;
        wake = deferred();
      }
      return messages.shift()!;
    },
  };
}

const url = (query: string): string => `wss://127.0.0.1:${running.port}${maps}?watch=1&${query}`;
const authorized = { authorization: `Bearer ${adminToken}` };

/** The code of the answer that refuses the upgrade. */
async function refusal(client: Client): Promise<number> {
  const [, response] = (await once(client.webSocket, 'unexpected-response')) as [unknown, { statusCode: number }];
  client.webSocket.on('error', () => undefined);
  client.webSocket.terminate();
  return response.statusCode;
}

test('who tells no origin gets no watch; other versions and handshakes without a key are refused', async () => {
  const headers = (origin: string) => ({ ...authorized, ...(origin !== '-' && { origin }) });
  for (const origin of ['null', '::::', ''])
    assert.equal(await refusal(open(url(''), [], headers(origin))), 403, origin);
  const raw = async (lines: readonly string[]): Promise<string> => {
    const socket = connect({ port: running.port, host: '127.0.0.1', rejectUnauthorized: false });
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    await once(socket, 'secureConnect');
    const asked = [`GET ${maps}?watch=1 HTTP/1.1`, 'Host: x', `Authorization: Bearer ${adminToken}`, ...lines];
    socket.write(`${[...asked, 'Connection: Upgrade', 'Upgrade: websocket'].join('\r\n')}\r\n\r\n`);
    await once(socket, 'close');
    return text;
  };
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  assert.equal(await raw(['Sec-WebSocket-Version: 13', key]), 'HTTP/1.1 403 Forbidden\r\n\r\n');
  assert.match(
    await raw(['Sec-WebSocket-Version: 8', key, 'Origin: https://x']),
    /^HTTP\/1\.1 400 .*\r\nSec-WebSocket-Version: 13\r\n/,
  );
  assert.match(await raw(['Sec-WebSocket-Version: 13', 'Origin: https://x']), /^HTTP\/1\.1 400 /);
});

const add = (name: string) =>
  ask(running.port, {
    method: 'POST',
    path: maps,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name } }),
  });

test('events are text messages in JSON, binary ones in protobuf; the end is a proper one', async () => {
  const text = open(url('fieldSelector=metadata.name%3Dws'), [], authorized);
  const binary = open(url('fieldSelector=metadata.name%3Dws&timeoutSeconds=1'), ['any'], {
    ...authorized,
    accept: 'application/vnd.kubernetes.protobuf',
  });
  await Promise.all([once(text.webSocket, 'open'), once(binary.webSocket, 'open')]);
  assert.equal(text.webSocket.protocol, '');
  assert.equal(binary.webSocket.protocol, 'any');
  // What clients say is not listened to.
  text.webSocket.send('hello');
  await add('ws');
  const first = await text.next();
  assert.equal(first.isBinary, false);
  assert.match(first.data.toString(), /^\{"type":"ADDED","object":\{"kind":"ConfigMap".*\}\}\n$/);
  const second = await binary.next();
  assert.equal(second.isBinary, true);
  const { type, enveloped } = decodeWatchFrame(second.data);
  assert.deepEqual([type, decodeProtobuf(enveloped).kind], ['ADDED', 'ConfigMap']);
  assert.equal(await binary.closed, 1000);
  text.webSocket.close();
  assert.equal(await text.closed, 1005);
});

test('a version that is too old is told in a message', async () => {
  const client = open(url('resourceVersion=1'), [], authorized);
  const { data } = await client.next();
  const { type, object } = JSON.parse(data.toString()) as { type: string; object: { code: number } };
  assert.deepEqual([type, object.code], ['ERROR', 410]);
  assert.equal(await client.closed, 1000);
});

test('tokens as subprotocols, refusals before the upgrade', async () => {
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from(adminToken).toString('base64url')}`;
  const client = open(url('fieldSelector=metadata.name%3Dby-protocol'), [token, 'mine']);
  await once(client.webSocket, 'open');
  assert.equal(client.webSocket.protocol, 'mine');
  client.webSocket.terminate();
  const wrong = 'base64url.bearer.authorization.k8s.io.bm9ib2R5';
  for (const [protocols, headers, code] of [
    [[token], {}, 401],
    [[wrong, 'mine'], {}, 401],
    [[], {}, 403],
    [['one', 'two'], authorized, 400],
    [[], { ...authorized, accept: 'application/yaml' }, 406],
  ] as const)
    assert.equal(await refusal(open(url('x=1'), protocols, headers)), code, `${protocols} ${JSON.stringify(headers)}`);
});

test('a reader that stands still holds up nobody and is ended', async () => {
  const client = open(url('labelSelector=slow'), [], authorized);
  await once(client.webSocket, 'open');
  client.webSocket.pause();
  const { admin } = running;
  const body = (at: number) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'slow', labels: { slow: '' } },
    data: { at: String(at), fill: 'x'.repeat(60_000) },
  });
  await admin.call({ method: 'POST', path: maps, body: body(0) });
  for (let at = 1; at < 1300; at++) await admin.call({ method: 'PUT', path: `${maps}/slow`, body: body(at) });
  client.webSocket.resume();
  await client.closed;
});

test('logs: an empty message, then bytes, or base64 under its protocol', async (t) => {
  const server = createServer();
  async function* log(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('line 1\n');
    yield Buffer.alloc(5000, 'x');
  }
  server.on('upgrade', (message, socket, head) => void webSocketLog({ message, socket, head }, log()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const [protocols, want] of [
    [[], 'binary'],
    [['binary.k8s.io'], 'binary'],
    [['other', 'base64.binary.k8s.io'], 'text'],
  ] as const) {
    const client = open(`ws://127.0.0.1:${port}/`, protocols);
    const all: Message[] = [];
    client.webSocket.on('message', (data: Buffer, isBinary) => all.push({ data, isBinary }));
    assert.equal(await client.closed, 1000);
    assert.deepEqual(
      all.map(({ data, isBinary }) => {
        assert.equal(isBinary, want === 'binary');
        return want === 'binary' ? data.length : Buffer.from(data.toString(), 'base64').length;
      }),
      [0, 7, 2048, 2048, 904],
    );
  }
  assert.equal(await refusal(open(`ws://127.0.0.1:${port}/`, ['other'])), 403);
});

// Tests over real sockets what the port bears: slow clients, large headers, floods of streams, strangers, pages of other origins.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { after, before, test } from 'node:test';
import { adminToken, startTestServer } from '../start.suite.ts';
import { field, frame } from './http2-frames.suite.ts';
import type { TestServer } from '../start.suite.ts';

let running: TestServer;
const authorization = `Bearer ${adminToken}`;

before(async () => {
  running = await startTestServer({
    requestTimeoutMs: 150,
    transport: {
      headersTimeoutMs: 150,
      maxConcurrentStreams: 20,
      corsAllowedOrigins: ['^https://ui\\.example\\.com$'],
    },
  });
});
after(() => running.stop());

/** All that the server says until it ends the connection. */
async function raw(lines: string, { port } = running): Promise<string> {
  const socket: TLSSocket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.write(lines);
  await once(socket, 'close');
  return text;
}

async function session({ port } = running): Promise<ClientHttp2Session> {
  const opened = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  opened.on('error', () => undefined);
  await once(opened, 'remoteSettings');
  return opened;
}

function ask(of: ClientHttp2Session, path: string, headers: Record<string, string> = { authorization }) {
  const stream = of.request({ ':path': path, ...headers });
  stream.on('error', () => undefined);
  stream.resume();
  return stream;
}

async function statusOf(stream: ClientHttp2Stream): Promise<number | undefined> {
  const [headers] = (await once(stream, 'response')) as [Record<string, number>];
  return headers[':status'];
}

test('headers that do not come to an end in time end the connection (slowloris)', async () => {
  const text = await raw('GET /version HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  assert.match(text, /^HTTP\/1\.1 408 /);
});

test('a body that does not come in time is a Timeout, and the end of the connection', async () => {
  const start = `POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`;
  const text = await raw(`${start}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"kind":`);
  assert.match(text, /^HTTP\/1\.1 504 [^]*"reason":"Timeout"/);
  const h2 = await session();
  const stream = h2.request({
    ':path': '/api/v1/namespaces/default/configmaps',
    ':method': 'POST',
    authorization,
    'content-type': 'application/json',
  });
  stream.on('error', () => undefined);
  stream.resume();
  stream.write('{"kind":');
  const closed = once(h2, 'close');
  assert.equal(await statusOf(stream), 504);
  await closed;
});

test('headers beyond the limit are refused', async () => {
  const long = 'x'.repeat(1_200_000);
  assert.match(await raw(`GET /version HTTP/1.1\r\nHost: x\r\nX-Long: ${long}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  const h2 = await session();
  const stream = h2.request({ ':path': '/version', authorization, 'x-long': long });
  const refused = await Promise.race([
    once(stream, 'response').then(([headers]) => (headers as Record<string, number>)[':status']),
    new Promise<string>((resolve) => stream.on('error', () => resolve('refused'))),
    once(h2, 'close').then(() => 'refused'),
  ]);
  assert.notEqual(refused, 200);
  h2.destroy();
});

test('streams beyond the limit of a connection are not opened', async () => {
  const h2 = await session();
  assert.equal(h2.remoteSettings.maxConcurrentStreams, 20);
  h2.destroy();
});

/** :method GET, :scheme https, :path / */
const getRoot = Buffer.from([0x82, 0x87, 0x84]);

/** Writes what `next` makes until the server ends the connection; fails when it never does. */
async function flood({ port }: TestServer, most: number, next: (at: number) => Buffer): Promise<void> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  let closed = false;
  // Not events.once: that takes the error of a write to a connection that is gone for its own.
  const gone = new Promise<void>((resolve) => socket.once('close', resolve)).then(() => (closed = true));
  socket.resume();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(frame(4, 0, 0, Buffer.alloc(0)));
  for (let sent = 0; sent < most && !closed; sent++) {
    if (!socket.write(next(sent))) await Promise.race([gone, new Promise((resolve) => socket.once('drain', resolve))]);
    if (sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('still connected')), 30_000).unref());
  await Promise.race([gone, late]);
}

test('streams that are opened and cancelled without end end the connection (rapid reset, CVE-2023-44487)', async (t) => {
  const own = await startTestServer({ transport: { idlePingMs: 200 } });
  t.after(() => own.stop());
  const headers = Buffer.concat([getRoot, field('authorization', authorization)]);
  const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]);
  await flood(own, 60_000, (at) => Buffer.concat([frame(1, 5, at * 2 + 1, headers), frame(3, 0, at * 2 + 1, cancel)]));
  // The server itself goes on.
  const next = await session(own);
  assert.equal(await statusOf(ask(next, '/version')), 200);
  next.destroy();
});

test('headers that are continued without end end the connection (CONTINUATION flood, CVE-2024-27983)', async () => {
  const block = Buffer.concat(Array.from({ length: 100 }, () => field('a', 'b'.repeat(100))));
  await flood(running, 5000, (at) => (at === 0 ? frame(1, 0, 1, getRoot) : frame(9, 0, 1, block)));
});

test('a stranger’s connection of HTTP/2 is good for one turn; who is known keeps it', async () => {
  const h2 = await session();
  const away = once(h2, 'close');
  assert.equal(await statusOf(ask(h2, '/version', {})), 200);
  await away;
  const wrong = await session();
  const gone = once(wrong, 'close');
  assert.equal(await statusOf(ask(wrong, '/version', { authorization: 'Bearer wrong' })), 401);
  await gone;
  const known = await session();
  assert.equal(await statusOf(ask(known, '/version')), 200);
  assert.equal(await statusOf(ask(known, '/version')), 200);
  assert.equal(known.closed, false);
  known.destroy();
});

test('pages of other origins: those that were named, and no others; by default none', async () => {
  const h2 = await session();
  const said = async (origin: string, method = 'GET', of = h2): Promise<unknown> => {
    const stream = of.request({ ':path': '/version', ':method': method, authorization, origin });
    stream.resume();
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    return [headers[':status'], headers['access-control-allow-origin']];
  };
  assert.deepEqual(await said('https://ui.example.com'), [200, 'https://ui.example.com']);
  assert.deepEqual(await said('https://ui.example.com', 'OPTIONS'), [204, 'https://ui.example.com']);
  for (const origin of ['https://ui.example.com.evil.org', 'https://xui.example.com', 'null'])
    assert.deepEqual(await said(origin), [200, undefined]);
  h2.destroy();
  const own = await startTestServer({ transport: { goawayChance: 1 } });
  const plain = await session(own);
  const sentAway = once(plain, 'goaway');
  assert.deepEqual(await said('https://ui.example.com', 'GET', plain), [200, undefined]);
  await sentAway;
  plain.destroy();
  await own.stop();
});

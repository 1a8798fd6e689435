// Owns damaged bytes on connections to a whole API server: HTTP/1.1 text, HTTP/2 frames, SPDY and WebSocket frames behind an upgrade.
// Whatever comes, the server goes on answering others and does not grow.
import assert from 'node:assert/strict';
import { get } from 'node:https';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { field, frame } from '../../../src/server/http/http2-frames.suite.ts';
import { podWithKubelet } from '../../../src/server/streams/pod-with-kubelet.suite.ts';
import {
  dataHeader,
  goAwayFrame,
  pingFrame,
  settingsFrame,
  synStreamFrame,
  windowUpdateFrame,
} from '../../../src/wire/spdy/frames.ts';
import { HeaderWriter } from '../../../src/wire/spdy/headers.ts';
import { Damage } from './mutate.ts';
import type { FuzzOptions } from './readers.suite.ts';

const growthBytes = 512 * 1024 * 1024;
/** A connection that is left open has to be let go of by us. */
const quietMs = 300;

interface Shape {
  readonly name: string;
  readonly protocol: 'http/1.1' | 'h2';
  /** Sent as they are before what is damaged. */
  readonly head: Buffer | string;
  /** Awaits this before the rest. */
  readonly answer?: RegExp;
  readonly good: readonly (Buffer | string)[];
}

const lines = (...parts: readonly string[]): string => `${parts.join('\r\n')}\r\n\r\n`;
const authorized = 'Authorization: Bearer token';

const http1: Shape = {
  name: 'HTTP/1.1',
  protocol: 'http/1.1',
  head: '',
  good: [
    lines('GET /api/v1/pods?limit=1 HTTP/1.1', 'Host: a', authorized, 'Accept: application/json'),
    `${lines('POST /api/v1/namespaces HTTP/1.1', 'Host: a', authorized, 'Content-Type: application/json', 'Transfer-Encoding: chunked')}5\r\n{"a":\r\n3;x=y\r\n{}}\r\n0\r\n\r\n`,
    `${lines('POST /api/v1/namespaces HTTP/1.1', 'Host: a', authorized, 'Content-Length: 4', 'Expect: 100-continue', 'Transfer-Encoding: identity')}{}{}GET / HTTP/1.1\r\nHost: b\r\n\r\n`,
    lines(
      'GET /api/v1/namespaces/default/pods/p/exec?command=a&stdin=1 HTTP/1.1',
      'Host: a',
      authorized,
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
      'X-Stream-Protocol-Version: v4.channel.k8s.io',
    ),
    lines(
      'CONNECT a:443 HTTP/1.1',
      'Host: a',
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAAP__',
    ),
  ],
};

const fields = (pairs: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(Object.entries(pairs).map(([name, value]) => field(name, value)));

const get2 = fields({
  ':method': 'GET',
  ':scheme': 'https',
  ':authority': 'a',
  ':path': '/api/v1/pods?watch=1&timeoutSeconds=1',
  authorization: 'Bearer token',
});
const post2 = fields({
  ':method': 'POST',
  ':scheme': 'https',
  ':authority': 'a',
  ':path': '/api/v1/namespaces',
  authorization: 'Bearer token',
  'content-type': 'application/json',
});
const http2: Shape = {
  name: 'HTTP/2',
  protocol: 'h2',
  head: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  good: [
    Buffer.concat([
      frame(4, 0, 0, Buffer.from('000300000064', 'hex')),
      frame(1, 5, 1, get2),
      frame(8, 0, 0, Buffer.from('7fffffff', 'hex')),
      frame(3, 0, 1, Buffer.alloc(4)),
      frame(6, 0, 0, Buffer.alloc(8)),
    ]),
    Buffer.concat([
      frame(4, 0, 0, Buffer.alloc(0)),
      frame(1, 0, 1, post2.subarray(0, 20)),
      frame(9, 4, 1, post2.subarray(20)),
      frame(0, 0, 1, Buffer.from('{"a":1')),
      frame(0, 1, 1, Buffer.from('}')),
      frame(2, 0, 1, Buffer.alloc(5)),
      frame(7, 0, 0, Buffer.alloc(8)),
    ]),
  ],
};

function upgrade(path: string, ...headers: readonly string[]): string {
  return lines(`GET ${path} HTTP/1.1`, 'Host: a', authorized, 'Connection: Upgrade', ...headers);
}

function spdyStreams(...types: readonly Readonly<Record<string, string>>[]): Buffer {
  const writer = new HeaderWriter();
  const opened = types.map((headers, at) => synStreamFrame(2 * at + 1, writer.block(headers)));
  const data = Buffer.from('some input for a stream');
  const sent = types.map((_, at) => Buffer.concat([dataHeader(2 * at + 1, data.length, at === 1), data]));
  return Buffer.concat([
    settingsFrame(65_536),
    ...opened,
    pingFrame(1),
    ...sent,
    windowUpdateFrame(1, 1_000),
    goAwayFrame(0),
  ]);
}

const spdyExec: Shape = {
  name: 'SPDY: exec',
  protocol: 'http/1.1',
  head: upgrade(
    '/api/v1/namespaces/default/pods/p/exec?command=cat&stdin=true&stdout=true',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
  ),
  answer: /^HTTP\/1.1 101/,
  good: [spdyStreams({ streamtype: 'error' }, { streamtype: 'stdin' }, { streamtype: 'stdout' })],
};

const spdyForward: Shape = {
  name: 'SPDY: port-forward',
  protocol: 'http/1.1',
  head: upgrade(
    '/api/v1/namespaces/default/pods/p/portforward',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: portforward.k8s.io',
  ),
  answer: /^HTTP\/1.1 101/,
  good: [
    spdyStreams(
      { streamtype: 'error', port: '80', requestid: '0' },
      { streamtype: 'data', port: '80', requestid: '0' },
    ),
  ],
};

function masked(opcode: number, payload: Buffer, final = true): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const hidden = payload.map((byte, at) => byte ^ mask[at % 4]!);
  return Buffer.concat([Buffer.from([(final ? 0x80 : 0) | opcode, 0x80 | payload.length]), mask, hidden]);
}

const webSocket: Shape = {
  name: 'WebSocket: exec',
  protocol: 'http/1.1',
  head: upgrade(
    '/api/v1/namespaces/default/pods/p/exec?command=cat&stdin=true&stdout=true&tty=true',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Protocol: v5.channel.k8s.io',
  ),
  answer: /^HTTP\/1.1 101/,
  good: [
    Buffer.concat([
      masked(2, Buffer.from('\x00input')),
      masked(2, Buffer.from('\x04{"Width":80,"Height":24}')),
      masked(9, Buffer.from('ping')),
      masked(2, Buffer.from('\x00a'), false),
      masked(0, Buffer.from('b')),
      masked(2, Buffer.from([255, 0])),
      masked(8, Buffer.from([3, 232])),
    ]),
  ],
};

/** Connects, sends, and waits until the server ends it or has been quiet for a while. Rejects only when it cannot connect. */
function play(port: number, { protocol, head, answer }: Shape, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connectTls(
      { host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [protocol] },
      () => {
        socket.removeListener('error', reject);
        // The server may cut a connection at any time: that is an answer.
        socket.on('error', () => resolve());
        if (head.length > 0) socket.write(head);
        if (answer === undefined) socket.write(bytes);
      },
    );
    socket.once('error', reject);
    let read = '';
    socket.on('data', (chunk: Buffer) => {
      if (answer === undefined || read === 'sent') return;
      read += chunk.toString('latin1');
      if (!read.includes('\r\n\r\n')) return;
      if (!answer.test(read)) {
        socket.destroy();
        reject(new Error(`the upgrade was refused: ${read}`));
        return;
      }
      read = 'sent';
      socket.write(bytes);
    });
    socket.setTimeout(quietMs, () => socket.destroy());
    socket.once('close', () => resolve());
  });
}

function isAlive(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode === 200));
    }).once('error', reject);
  });
}

export function fuzzConnections({ seed, rounds }: FuzzOptions): void {
  describe(`damaged connections (seed ${seed})`, () => {
    for (const shape of [http1, http2, spdyExec, spdyForward, webSocket])
      test(shape.name, async (t) => {
        const port = Number(new URL(await podWithKubelet(t)).port);
        const damage = new Damage(seed);
        for (const good of shape.good) await play(port, shape, Buffer.from(good as string));
        const before = process.memoryUsage.rss();
        const atOnce = 8;
        for (let round = 0; round < rounds; round += atOnce) {
          await Promise.all(Array.from({ length: atOnce }, () => play(port, shape, damage.bytesLike(shape.good))));
          assert.ok(await isAlive(port), `round ${round}`);
        }
        const grown = process.memoryUsage.rss() - before;
        assert.ok(grown < growthBytes, `${grown} bytes more`);
      });
  });
}

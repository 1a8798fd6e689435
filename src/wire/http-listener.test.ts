import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { systemClock } from '../base/clock.ts';
import { deferred } from '../base/task-group.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { httpListener } from './http-listener.ts';

test('a large request behind a large answer that nobody reads yet is no malformed one', async (t) => {
  const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
  const answer = Buffer.alloc(8 * 1024 * 1024, 'a');
  const body = Buffer.alloc(1024 * 1024, 'b');
  const seen: number[] = [];
  const first = deferred();
  const listener = await httpListener({
    clock: systemClock,
    host: '127.0.0.1',
    port: 0,
    key,
    certificate,
    onExchange: (exchange) =>
      void exchange.read(2 * body.length).then((read) => {
        seen.push(read.length);
        exchange.respond(200, { 'Content-Length': String(answer.length) }, answer);
        first.resolve();
      }),
  });
  t.after(() => listener.close());
  const socket = connect({
    port: listener.port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await first.promise;
  socket.write(
    Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`), body]),
  );
  // Sent before a byte of the answer is read.
  await new Promise((resolve) => setImmediate(resolve));
  let size = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > 2 * answer.length) break;
  }
  socket.destroy();
  assert.deepEqual(seen, [0, body.length]);
});

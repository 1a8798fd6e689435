// Owns the tests of what the port refuses by itself, as raw requests: what a 1.37 server says to the same is in the table.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { systemClock } from '../base/clock.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { httpListener } from './http-listener.ts';
import type { HttpListener } from './http-listener.ts';

let listener: HttpListener;
const asked: string[] = [];

before(async () => {
  const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
  listener = await httpListener({
    clock: systemClock,
    host: '127.0.0.1',
    port: 0,
    key,
    certificate,
    onExchange(exchange) {
      asked.push(`${exchange.method} ${exchange.url}`);
      exchange.respond(200, { 'Content-Length': '2' }, Buffer.from('ok'));
    },
  });
});
after(() => listener.close());

/** All that is said until the connection ends, which the client does after a whole answer. */
async function raw(text: string): Promise<string> {
  const socket = connect({
    host: '127.0.0.1',
    port: listener.port,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  await once(socket, 'secureConnect');
  let said = '';
  socket.on('data', (chunk: Buffer) => {
    said += chunk.toString('latin1');
    if (said.endsWith('\r\n\r\nok') || (said.includes('Content-Length: 0') && said.endsWith('\r\n\r\n'))) socket.end();
  });
  socket.write(text);
  await once(socket, 'close');
  return said.replace(/(Date|Keep-Alive|Connection: keep).*\r\n/g, '');
}

const refused = (status: string, body = status): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${body}`;
const fine = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('raw requests and what is said to them', async () => {
  const cases: [request: string, answer: string][] = [
    ['GET /a HTTP/1.1\r\nHost: x\r\n\r\n', fine],
    ['GET https://x:1/b?c HTTP/1.1\r\nHost: x\r\n\r\n', fine],
    ['GET https://x HTTP/1.1\r\nHost: x\r\n\r\n', fine],
    ['GET /d HTTP/1.1\r\nHost:\r\n\r\n', fine],
    ['OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['GET /e HTTP/1.1\r\n\r\n', refused('400 Bad Request: missing required Host header')],
    ['GET /e HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', refused('400 Bad Request')],
    ['GET /e HTTP/1.1\r\nHost: a b\r\n\r\n', refused('400 Bad Request: malformed Host header')],
    ['GET /e HTTP/2.0\r\nHost: x\r\n\r\n', refused('505 HTTP Version Not Supported: unsupported protocol version')],
    ['GET /e\r\n\r\n', refused('400 Bad Request')],
    ['nonsense\r\n\r\n', refused('400 Bad Request')],
    ['GET /e HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n', refused('400 Bad Request')],
    ['FOO /e HTTP/1.1\r\nHost: x\r\n\r\n', refused('405 Method Not Allowed')],
    ['get /e HTTP/1.1\r\nHost: x\r\n\r\n', refused('405 Method Not Allowed')],
    ['F(O /e HTTP/1.1\r\nHost: x\r\n\r\n', refused('400 Bad Request')],
    ['CONNECT /e HTTP/1.1\r\nHost: x\r\n\r\n', refused('405 Method Not Allowed')],
    ['POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n', refused('400 Bad Request')],
    [
      `GET /e HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(1_200_000)}\r\n\r\n`,
      refused('431 Request Header Fields Too Large'),
    ],
  ];
  for (const [request, answer] of cases) {
    const said = await raw(request);
    assert.equal(said, answer, request.slice(0, 80));
  }
  assert.deepEqual(asked, ['GET /a', 'GET /b?c', 'GET /', 'GET /d']);
});

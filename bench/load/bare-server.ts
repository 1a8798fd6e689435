// Owns the yardstick: TLS, HTTP/1.1 and HTTP/2 by node alone, one fixed answer. What it costs tells how fast the machine is just now.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { performServerHandshake } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { selfSigned } from '../../src/testing/self-signed.ts';

const body = Buffer.from(JSON.stringify({ kind: 'Pod', padding: 'x'.repeat(2000) }));
const headers = { 'content-type': 'application/json', 'content-length': body.length };
const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));

const http1 = createServer((_request, response) => {
  response.writeHead(200, headers);
  response.end(body);
});
const server = createTlsServer({ key, cert: certificate, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
  if (socket.alpnProtocol !== 'h2') {
    http1.emit('connection', socket);
    return;
  }
  const session = performServerHandshake(socket);
  session.on('error', () => session.destroy());
  session.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, ...headers });
    stream.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`serving on port ${(server.address() as AddressInfo).port}\n`);
});

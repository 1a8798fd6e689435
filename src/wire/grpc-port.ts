// Owns a port on which gRPC and HTTP/1.1 live side by side, as on etcd's client port. Knows no service and no path.
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Duplex } from 'node:stream';

export interface GrpcPortOptions {
  readonly http1: RequestListener;
  /** PEM. With `clientCa`, clients must show a certificate that it signed. Absent: plain TCP. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer; readonly clientCa?: Buffer };
}

export interface GrpcPort {
  /** What a client dials: the given unix address, or host:port with the chosen port. */
  readonly address: string;
  /** Stops listening and cuts every connection. */
  close(): void;
}

/** What an HTTP/2 client says first (RFC 9113, 3.4); no method of HTTP/1.1 begins so. */
const preface = Buffer.from('PRI * HTTP/2.0');
/** A connection that has not said in this time what it speaks is closed. */
const silenceMs = 30_000;

/** `address`: "unix:/path" or "host:port". `http2` gets connections whose first bytes are still to be read. */
export async function grpcPort(
  address: string,
  http2: (connection: Duplex) => void,
  options: GrpcPortOptions,
): Promise<GrpcPort> {
  const sockets = new Set<Socket>();
  const h1 = createHttpServer({ maxHeaderSize: 16_384, headersTimeout: silenceMs }, options.http1);
  const split = (connection: Socket): void =>
    whenSpoken(connection, (isHttp2) => {
      if (isHttp2) http2(connection);
      else h1.emit('connection', connection);
    });
  const { tls } = options;
  const server: Server =
    tls === undefined
      ? createTcpServer({ noDelay: true }, split)
      : createTlsServer(
          {
            noDelay: true,
            key: tls.key,
            cert: tls.cert,
            ALPNProtocols: ['h2', 'http/1.1'],
            handshakeTimeout: silenceMs,
            ...(tls.clientCa && { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true }),
          },
          split,
        );
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listenOptions(address), () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = server.address();
  return {
    address: address.startsWith('unix:') ? address : address.replace(/:\d+$/, `:${(bound as AddressInfo).port}`),
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function listenOptions(address: string): { path: string } | { host: string; port: number } {
  if (address.startsWith('unix:')) return { path: address.slice('unix:'.length).replace(/^\/\/(?=\/)/, '') };
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(address.slice(colon + 1)) };
}

/** Tells what the first bytes are and leaves them to be read. */
function whenSpoken(connection: Socket, then: (isHttp2: boolean) => void): void {
  const fail = (): void => void connection.destroy();
  connection.on('error', fail);
  connection.setTimeout(silenceMs, fail);
  let seen = Buffer.alloc(0);
  const look = (): void => {
    for (let chunk = connection.read() as Buffer | null; chunk !== null; chunk = connection.read() as Buffer | null)
      seen = Buffer.concat([seen, chunk]);
    const isPrefix = seen.subarray(0, preface.length).equals(preface.subarray(0, seen.length));
    if (isPrefix && seen.length < preface.length) return;
    connection.off('readable', look);
    connection.off('error', fail);
    connection.off('timeout', fail);
    connection.setTimeout(0);
    connection.unshift(seen);
    then(isPrefix);
  };
  connection.on('readable', look);
}

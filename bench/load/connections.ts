// Owns the load's ends of connections: HTTP/1.1 as cheap as can be (the machine is the server's too), HTTP/2, and open watches.
import { connect as connectHttp2 } from 'node:http2';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { Wanted } from './operations.ts';

export type Protocol = 'http1' | 'http2';

/** One request at a time. */
export interface Connection {
  /** Answers with the status; the body is read and dropped. */
  ask(wanted: Wanted): Promise<number>;
  close(): void;
}

export interface Target {
  readonly port: number;
  readonly token: string;
}

const separator = Buffer.from('\r\n\r\n');

function head(target: Target, { method, path, contentType, body }: Wanted): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${target.port}`,
    `Authorization: Bearer ${target.token}`,
    'Accept: application/json',
  ];
  if (contentType !== undefined) lines.push(`Content-Type: ${contentType}`);
  if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

function openTls(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }, () =>
      resolve(socket),
    );
    socket.once('error', reject);
  });
}

/** How an answer in pieces ends: JSON has nothing like it. */
const lastPiece = '0\r\n\r\n';

/** Reads answers that tell their length, and those in pieces (large lists). */
export async function http1Connection(target: Target): Promise<Connection> {
  const socket = await openTls(target.port);
  let settle: { resolve(status: number): void; reject(error: Error): void } | undefined;
  let start: Buffer = Buffer.alloc(0);
  let rest = -1;
  let status = 0;
  let isInPieces = false;
  let tail = '';
  socket.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.subarray(-lastPiece.length).toString('latin1')).slice(-lastPiece.length);
    if (rest < 0 && !isInPieces) {
      start = start.length === 0 ? chunk : Buffer.concat([start, chunk]);
      const end = start.indexOf(separator);
      if (end < 0) return;
      const text = start.subarray(0, end).toString('latin1');
      const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
      status = Number(text.slice(9, 12));
      isInPieces = length === undefined;
      rest = Number(length ?? 0) - (start.length - end - separator.length);
      start = Buffer.alloc(0);
    } else rest -= chunk.length;
    if (isInPieces ? tail !== lastPiece : rest > 0) return;
    rest = -1;
    isInPieces = false;
    settle?.resolve(status);
  });
  socket.on('error', (error) => settle?.reject(error));
  socket.on('close', () => settle?.reject(new Error('the server closed the connection')));
  return {
    ask: (wanted) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(head(target, wanted));
      }),
    close() {
      settle = undefined;
      socket.destroy();
    },
  };
}

export function http2Session(target: Target): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://127.0.0.1:${target.port}`, {
      rejectUnauthorized: false,
      settings: { initialWindowSize: 4 * 1024 * 1024 },
    });
    session.once('error', reject);
    session.once('connect', () => {
      // The window of the connection as a whole stays at 64 KB otherwise, and large lists crawl.
      session.setLocalWindowSize(16 * 1024 * 1024);
      resolve(session);
    });
  });
}

/** One of many that share a session. */
export function http2Connection(target: Target, session: ClientHttp2Session): Connection {
  return {
    ask: ({ method, path, contentType, body }) =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ':method': method,
          ':path': path,
          authorization: `Bearer ${target.token}`,
          accept: 'application/json',
          ...(contentType !== undefined && { 'content-type': contentType }),
        });
        let status = 0;
        stream.on('response', (headers: IncomingHttpHeaders) => (status = Number(headers[':status'])));
        stream.resume();
        stream.on('end', () => resolve(status));
        stream.on('error', reject);
        stream.end(body);
      }),
    close: () => session.destroy(),
  };
}

const lineEnd = 10;

/** Opens a watch and counts the lines that come. Resolves when it is open. */
export async function openWatch(
  target: Target,
  path: string,
  session: ClientHttp2Session | undefined,
  onEvents: (count: number) => void,
): Promise<() => void> {
  const count = (chunk: Buffer): void => {
    let found = 0;
    for (let at = chunk.indexOf(lineEnd); at >= 0; at = chunk.indexOf(lineEnd, at + 1)) found++;
    if (found > 0) onEvents(found);
  };
  if (session !== undefined) {
    const stream = session.request({ ':path': path, authorization: `Bearer ${target.token}` });
    stream.on('data', count);
    stream.end();
    await new Promise((resolve, reject) => {
      stream.once('response', resolve);
      stream.once('error', reject);
    });
    return () => stream.close();
  }
  const socket = await openTls(target.port);
  await new Promise<void>((resolve) => {
    socket.once('data', () => {
      // Chunks' lengths end in line ends as well, but with a carriage return before: only lines of JSON end in "}\n".
      socket.on('data', (chunk: Buffer) => {
        let found = 0;
        for (let at = chunk.indexOf('}\n'); at >= 0; at = chunk.indexOf('}\n', at + 1)) found++;
        if (found > 0) onEvents(found);
      });
      resolve();
    });
    socket.write(head(target, { method: 'GET', path }));
  });
  return () => socket.destroy();
}

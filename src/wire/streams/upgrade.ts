// Owns HTTP upgrades: asking a server for one, and handing a client's on to another server byte for byte. Knows no protocol.
import { type IncomingMessage, request, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { joinStreams } from './join.ts';

export interface UpgradeTarget {
  /** A new connection, ready for HTTP/1.1. */
  connect(): Promise<Duplex>;
  /** For the Host header. */
  readonly host: string;
  /** Path and query. */
  readonly path: string;
}

export interface Upgraded {
  /** Bytes that came behind the answer are read from it first. */
  readonly socket: Duplex;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The server answered without upgrading. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly code: number;
  /** At most 64 KiB of what it said. */
  readonly body: string;
  constructor(code: number, body: string) {
    super(`unable to upgrade the connection: ${code} ${body.trim().slice(0, 500)}`);
    this.code = code;
    this.body = body;
  }
}

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Asks for an upgrade. Throws UpgradeRefused, or the connection's error. */
export async function requestUpgrade(target: UpgradeTarget, method: string, headers: Headers): Promise<Upgraded> {
  const { answer, socket } = await exchange(target, method, headers);
  if (socket === undefined) throw new UpgradeRefused(answer.statusCode ?? 0, await bodyText(answer));
  return { socket, headers: answer.headers };
}

interface Exchange {
  readonly answer: IncomingMessage;
  /** Set when the server switched protocols. */
  readonly socket?: Duplex;
}

async function exchange(target: UpgradeTarget, method: string, headers: Headers): Promise<Exchange> {
  const connection = await target.connect();
  return new Promise((resolve, reject) => {
    const outgoing = request({
      method,
      path: target.path,
      headers: { ...(headers as Record<string, string | string[]>), host: target.host },
      createConnection: () => connection,
    });
    outgoing.once('error', (error) => {
      connection.destroy();
      reject(error);
    });
    outgoing.once('upgrade', (answer, socket: Duplex, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ answer, socket });
    });
    outgoing.once('response', (answer) => resolve({ answer }));
    outgoing.end();
  });
}

const maxBodyBytes = 64 * 1024;

async function bodyText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size >= maxBodyBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxBodyBytes);
}

/** What concerns one connection only, or says who the client is to us and not to the next server. */
const notForwarded: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'content-length',
]);

/** A request's headers as they go on to another server. */
function forwardedHeaders(
  message: IncomingMessage,
  withhold: (name: string) => boolean,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(message.headers))
    if (value !== undefined && !notForwarded.has(name) && !name.startsWith('impersonate-') && !withhold(name))
      headers[name] = value;
  return headers;
}

export interface ProxyUpgradeOptions {
  /** Headers in place of the client's, or beside them. */
  readonly extra?: Headers;
  /** Of the client's headers (in lower case): those that do not go on. */
  readonly withhold?: (name: string) => boolean;
  /** What a redirect of the target is answered with, as a 502; without it the redirect is handed back. */
  readonly redirected?: string;
}

/**
 * Hands the upgrade that a client asked for to `target` and joins the two connections; an answer without an upgrade is
 * handed back as it is. Resolves when all is over; a target that cannot be reached makes a 502.
 */
export async function proxyUpgrade(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  target: UpgradeTarget,
  { extra = {}, withhold = () => false, redirected }: ProxyUpgradeOptions = {},
): Promise<void> {
  socket.on('error', () => socket.destroy());
  if (head.length > 0) socket.unshift(head);
  let found: Exchange;
  try {
    found = await exchange(target, message.method ?? 'GET', { ...forwardedHeaders(message, withhold), ...extra });
  } catch (error) {
    refuseUpgrade(socket, 502, 'text/plain', error instanceof Error ? error.message : String(error));
    return;
  }
  const { answer } = found;
  const { statusCode = 0 } = answer;
  if (redirected !== undefined && statusCode >= 300 && statusCode < 400 && answer.headers.location !== undefined) {
    answer.destroy();
    refuseUpgrade(socket, 502, 'text/plain; charset=utf-8', redirected);
    return;
  }
  socket.write(headOf(answer));
  if (found.socket !== undefined) return joinStreams(socket, found.socket);
  for await (const chunk of answer) if (!socket.write(chunk)) await drained(socket);
  socket.end();
}

function drained(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
}

/** Node has undone the chunks of a body, so an answer that is not switched ends with the connection. */
function headOf(answer: IncomingMessage): string {
  const switched = answer.statusCode === 101;
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`];
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    const name = answer.rawHeaders[at]!;
    if (!switched && /^(connection|transfer-encoding|keep-alive)$/i.test(name)) continue;
    lines.push(`${name}: ${answer.rawHeaders[at + 1]}`);
  }
  if (!switched) lines.push('Connection: close');
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Answers an upgrade request without upgrading, and ends the connection. */
export function refuseUpgrade(
  socket: Duplex,
  code: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(body);
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? 'Unknown'}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${bytes.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]));
}

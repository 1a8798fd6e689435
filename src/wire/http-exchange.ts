// Owns one request and its answer as both HTTP versions show them. No sockets are made here and nothing is decided.
import type { X509Certificate } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { constants } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | number>>;

export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The client went before it had sent what it announced. */
export class BodyCut extends Error {
  override readonly name = 'BodyCut';
}

/** Writes an answer bit by bit. */
export interface AnswerStream {
  /** False: wait for `onDrain` before more. */
  write(chunk: Uint8Array): boolean;
  onDrain(call: () => void): void;
  /** What is written within leaves in as few pieces as possible. */
  together(work: () => void): void;
  end(): void;
  /** Cuts it off: the client sees that it is incomplete. */
  destroy(): void;
}

export interface HttpExchange {
  readonly http: '1.1' | '2';
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: RequestHeaders;
  readonly remoteAddress: string;
  /** The client's, when it sent one; not verified here. */
  clientCertificate(): X509Certificate | undefined;
  /** True when the TLS layer verified the client's certificate against the configured authorities. */
  readonly clientVerified: boolean;
  /** The whole body; throws BodyTooLarge beyond `limit` bytes, BodyCut when it ends early. */
  read(limit: number): Promise<Buffer>;
  respond(code: number, headers: AnswerHeaders, body?: Uint8Array): void;
  open(code: number, headers: AnswerHeaders): AnswerStream;
  /** Ends the connection with this answer, or, of HTTP/2, with those under way. Before `respond` or `open`. */
  endConnection(): void;
  /** Called once when the client has gone or the answer is complete. */
  onClose(call: () => void): void;
  readonly closed: boolean;
  /** Set when the client asks for another protocol: whoever takes the socket answers, and nobody else does. */
  readonly upgrade?: { readonly message: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };
}

interface Readable {
  on(event: 'data', call: (chunk: Buffer) => void): unknown;
  on(event: 'end' | 'close' | 'aborted', call: () => void): unknown;
  on(event: 'error', call: (error: Error) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

function readAll(source: Readable, limit: number, announced: string | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (announced !== undefined && Number(announced) > limit) {
      source.resume();
      reject(new BodyTooLarge(`the body is larger than ${limit} bytes`));
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    let over = false;
    source.on('data', (chunk) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else if (!over) {
        over = true;
        chunks.length = 0;
        reject(new BodyTooLarge(`the body is larger than ${limit} bytes`));
      }
    });
    let done = false;
    source.on('end', () => {
      done = true;
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
    source.on('error', (error) => reject(new BodyCut(error.message)));
    source.on('close', () => {
      if (!done) reject(new BodyCut('the connection closed within the body'));
    });
  });
}

function certificateOf(socket: TLSSocket): X509Certificate | undefined {
  return typeof socket.getPeerX509Certificate === 'function' ? socket.getPeerX509Certificate() : undefined;
}

/** The path and query of a request line that names the server, too (RFC 9112, section 3.2.2). */
function pathOf(url: string): string {
  if (url.startsWith('/')) return url;
  const found = /^https?:\/\/[^/?]*(.*)$/i.exec(url);
  if (found === null) return url;
  return found[1]!.startsWith('/') ? found[1]! : `/${found[1]!}`;
}

export function exchangeOfHttp1(message: IncomingMessage, response: ServerResponse): HttpExchange {
  return new Http1Exchange(message, response);
}

export function exchangeOfHttp2(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): HttpExchange {
  return new Http2Exchange(stream, headers);
}

// Classes: V8 makes a shape of its own for each object that a literal with a getter makes, and keeps with it, until the next major
// garbage collection, the getter and all that it refers to.

class Http1Exchange implements HttpExchange {
  readonly http = '1.1';
  readonly method: string;
  readonly url: string;
  readonly headers: RequestHeaders;
  readonly remoteAddress: string;
  readonly clientVerified: boolean;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  #isLast = false;

  constructor(message: IncomingMessage, response: ServerResponse) {
    this.method = message.method ?? 'GET';
    this.url = pathOf(message.url ?? '/');
    this.headers = message.headers;
    const socket = message.socket as TLSSocket;
    this.remoteAddress = socket.remoteAddress ?? '';
    this.clientVerified = socket.authorized === true;
    this.#message = message;
    this.#response = response;
  }

  get closed(): boolean {
    return this.#response.destroyed || this.#response.writableFinished;
  }

  clientCertificate(): X509Certificate | undefined {
    return certificateOf(this.#message.socket as TLSSocket);
  }

  read(limit: number): Promise<Buffer> {
    return readAll(this.#message, limit, this.headers['content-length'] as string | undefined);
  }

  respond(code: number, headers: AnswerHeaders, body?: Uint8Array): void {
    const response = this.#response;
    if (response.destroyed || response.headersSent) return;
    this.#begin(code, headers);
    if (this.method === 'HEAD' || body === undefined) response.end();
    else response.end(body);
  }

  open(code: number, headers: AnswerHeaders): AnswerStream {
    const response = this.#response;
    this.#begin(code, headers);
    response.flushHeaders();
    let depth = 0;
    let isEnded = false;
    // Node 22 loses what was written when a corked answer ends: the end waits for the bytes.
    const finish = (): void => {
      if (isEnded && depth === 0) response.end();
    };
    return {
      write: (chunk) => (response.destroyed || isEnded ? true : response.write(chunk)),
      onDrain: (call) => void response.on('drain', call),
      together(work) {
        depth++;
        try {
          together(response, work);
        } finally {
          depth--;
          finish();
        }
      },
      end() {
        isEnded = true;
        finish();
      },
      destroy: () => void response.destroy(),
    };
  }

  endConnection(): void {
    this.#isLast = true;
  }

  onClose(call: () => void): void {
    this.#response.once('close', call);
  }

  #begin(code: number, headers: AnswerHeaders): void {
    const response = this.#response;
    if (this.#isLast) response.setHeader('Connection', 'close');
    // That a connection stays goes without saying since HTTP/1.1.
    else if (response.shouldKeepAlive && this.#message.httpVersionMinor === 1) response.removeHeader('Connection');
    if (code === 413) response.statusMessage = 'Request Entity Too Large';
    response.writeHead(code, headers as Record<string, string | string[]>);
  }
}

class Http2Exchange implements HttpExchange {
  readonly http = '2';
  readonly method: string;
  readonly url: string;
  readonly headers: RequestHeaders;
  readonly remoteAddress: string;
  readonly clientVerified: boolean;
  readonly #stream: ServerHttp2Stream;
  readonly #socket: TLSSocket | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.method = headers[':method'] ?? 'GET';
    this.url = headers[':path'] ?? '/';
    this.headers = headers;
    this.#stream = stream;
    // Asked for now: a stream that is over has no session.
    const socket = stream.session?.socket as TLSSocket | undefined;
    this.#socket = socket;
    this.remoteAddress = socket?.remoteAddress ?? '';
    this.clientVerified = socket?.authorized === true;
  }

  get closed(): boolean {
    return this.#stream.destroyed;
  }

  clientCertificate(): X509Certificate | undefined {
    return this.#socket && certificateOf(this.#socket);
  }

  read(limit: number): Promise<Buffer> {
    return readAll(this.#stream as unknown as Readable, limit, this.headers['content-length'] as string | undefined);
  }

  respond(code: number, answer: AnswerHeaders, body?: Uint8Array): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.headersSent) return;
    const noBody = this.method === 'HEAD' || body === undefined;
    stream.respond({ ':status': code, ...answer }, { endStream: noBody });
    if (!noBody) stream.end(body);
  }

  open(code: number, answer: AnswerHeaders): AnswerStream {
    const stream = this.#stream;
    if (!stream.destroyed) stream.respond({ ':status': code, ...answer });
    return {
      write: (chunk) => (stream.destroyed || stream.writableEnded ? true : stream.write(chunk)),
      onDrain: (call) => void stream.on('drain', call),
      together: (work) => together(stream, work),
      end: () => {
        if (!stream.destroyed) stream.end();
      },
      destroy: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    };
  }

  endConnection(): void {
    const stream = this.#stream;
    stream.session?.close();
    // Whatever of the request is still to come is not waited for.
    stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
  }

  onClose(call: () => void): void {
    this.#stream.once('close', call);
  }
}

function together(stream: { cork(): void; uncork(): void }, work: () => void): void {
  stream.cork();
  try {
    work();
  } finally {
    stream.uncork();
  }
}

/** A request that asks for another protocol. An ordinary answer ends the connection. */
export function exchangeOfUpgrade(message: IncomingMessage, socket: Duplex, head: Buffer): HttpExchange {
  return new UpgradeExchange(message, socket, head);
}

class UpgradeExchange implements HttpExchange {
  readonly http = '1.1';
  readonly method: string;
  readonly url: string;
  readonly headers: RequestHeaders;
  readonly remoteAddress: string;
  readonly clientVerified: boolean;
  readonly upgrade: NonNullable<HttpExchange['upgrade']>;

  constructor(message: IncomingMessage, socket: Duplex, head: Buffer) {
    const tls = message.socket as TLSSocket;
    this.method = message.method ?? 'GET';
    this.url = message.url ?? '/';
    this.headers = message.headers;
    this.remoteAddress = tls.remoteAddress ?? '';
    this.clientVerified = tls.authorized === true;
    this.upgrade = { message, socket, head };
  }

  get closed(): boolean {
    return this.upgrade.socket.destroyed;
  }

  clientCertificate(): X509Certificate | undefined {
    return certificateOf(this.upgrade.message.socket as TLSSocket);
  }

  read(): Promise<Buffer> {
    return Promise.resolve(Buffer.alloc(0));
  }

  respond(code: number, headers: AnswerHeaders, body?: Uint8Array): void {
    const { socket } = this.upgrade;
    if (socket.destroyed) return;
    this.#begin(code, headers, body?.length ?? 0);
    socket.end(body);
  }

  open(code: number, headers: AnswerHeaders): AnswerStream {
    const { socket } = this.upgrade;
    this.#begin(code, headers, undefined);
    return {
      write: (chunk) => (socket.destroyed ? true : socket.write(chunk)),
      onDrain: (call) => void socket.on('drain', call),
      together: (work) => together(socket, work),
      end: () => void socket.end(),
      destroy: () => void socket.destroy(),
    };
  }

  /** It ends with the answer anyway. */
  endConnection(): void {}

  onClose(call: () => void): void {
    this.upgrade.socket.once('close', call);
  }

  #begin(code: number, headers: AnswerHeaders, length: number | undefined): void {
    const lines = [`HTTP/1.1 ${code} ${STATUS_CODES[code] ?? 'Unknown'}`];
    for (const [name, value] of Object.entries(headers))
      if (!/^(connection|content-length)$/i.test(name))
        for (const one of Array.isArray(value) ? (value as string[]) : [String(value)]) lines.push(`${name}: ${one}`);
    if (length !== undefined) lines.push(`Content-Length: ${length}`);
    this.upgrade.socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
  }
}

// Owns asking a server of this process as if over a connection: an exchange without sockets. Nothing is skipped but bytes on a wire.
import { X509Certificate } from 'node:crypto';
import { deferred } from '../../base/task-group.ts';
import { type AnswerHeaders, BodyTooLarge, type HttpExchange } from '../../wire/http-exchange.ts';
import type { RemoteAnswer, RemoteRequest } from './remotes.ts';

/** `certificate`: PEM, what this client would show. Rejects when the request's signal aborts before there is an answer. */
export function askWithin(
  serve: (exchange: HttpExchange) => void,
  request: RemoteRequest,
  certificate: string | undefined,
): Promise<RemoteAnswer> {
  const { method, path, signal } = request;
  return new Promise((resolve, reject) => {
    const closing = new Set<() => void>();
    let closed = false;
    const close = (): void => {
      if (closed) return;
      closed = true;
      signal.removeEventListener('abort', onAbort);
      for (const call of closing) call();
    };
    const onAbort = (): void => {
      close();
      reject(signal.reason as Error);
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const begin = (code: number, headers: AnswerHeaders, body: Body): void => resolve(answerOf(code, headers, body));
    serve({
      http: '1.1',
      method,
      url: path,
      headers: request.headers as HttpExchange['headers'],
      remoteAddress: '',
      clientCertificate: () => (certificate === undefined ? undefined : new X509Certificate(certificate)),
      clientVerified: false,
      async read(limit) {
        const bytes = Buffer.from(request.body ?? []);
        if (bytes.length > limit) throw new BodyTooLarge(`the body is larger than ${limit} bytes`);
        return bytes;
      },
      respond(code, headers, bytes) {
        const body = new Body(close);
        begin(code, headers, body);
        if (bytes !== undefined && method !== 'HEAD') body.write(bytes);
        body.end();
        close();
      },
      open(code, headers) {
        const body = new Body(close);
        closing.add(() => body.end(closed && !body.ended ? new Error('the request was cancelled') : undefined));
        begin(code, headers, body);
        return {
          write: (chunk) => body.write(chunk),
          onDrain: (call) => body.onDrain(call),
          together: (work) => work(),
          end() {
            body.end();
            close();
          },
          destroy() {
            body.end(new Error('the answer was cut off'));
            close();
          },
        };
      },
      // There is no connection but this exchange.
      endConnection: () => undefined,
      onClose: (call) => void closing.add(call),
      get closed() {
        return closed;
      },
    });
  });
}

/** Chunks that wait to be read: the writer is told to wait beyond so many. */
const maxWaiting = 64;

class Body implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  readonly #drains: (() => void)[] = [];
  readonly #left: () => void;
  #wake = deferred();
  #failure: Error | undefined;
  ended = false;

  constructor(left: () => void) {
    this.#left = left;
  }

  write(chunk: Uint8Array): boolean {
    if (!this.ended) this.#chunks.push(chunk);
    this.#wake.resolve();
    return this.#chunks.length < maxWaiting;
  }

  onDrain(call: () => void): void {
    this.#drains.push(call);
  }

  end(failure?: Error): void {
    if (this.ended) return;
    this.ended = true;
    this.#failure = failure;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) {
          if (this.#chunks.length === 0) for (const drained of this.#drains) drained();
          yield chunk;
        } else if (this.ended) {
          if (this.#failure !== undefined) throw this.#failure;
          return;
        } else {
          await this.#wake.promise;
          this.#wake = deferred();
        }
      }
    } finally {
      // A reader who leaves early has gone.
      this.#left();
    }
  }
}

function answerOf(code: number, headers: AnswerHeaders, body: Body): RemoteAnswer {
  const lower = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    typeof value === 'number' ? String(value) : Array.isArray(value) ? [...(value as string[])] : (value as string),
  ]);
  return {
    code,
    headers: Object.fromEntries(lower) as RemoteAnswer['headers'],
    body,
  };
}

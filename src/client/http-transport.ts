// Owns how API requests travel over HTTP: credentials, encoding, statuses as errors, retries the server asks for, timeouts.
import { parseExact } from '../api/codec/json-parse.ts';
import { writeJson } from '../api/codec/json-write.ts';
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';
import { freeze, type Frozen } from '../api/meta.ts';
import type { Status } from '../api/generated/meta.v1.ts';
import { reasonCodes, StatusError, statusError, type StatusReason } from '../api/status-error.ts';
import {
  type HttpAnswer,
  type HttpConnection,
  type HttpConnectionOptions,
  httpConnection,
  type HttpRequest,
} from './http-connection.ts';
import type { TokenSource } from './token.ts';
import type { Transport, TransportRequest } from './transport.ts';
import { maxWatchLineBytes, type RawWatchEvent, WatchDecoder } from './watch-decoder.ts';

export interface HttpTransportOptions extends HttpConnectionOptions {
  /** Shared with other transports: several users of one connection. Absent: one of its own. */
  readonly connection?: HttpConnection;
  readonly token?: TokenSource;
  readonly userAgent: string;
  /** User to act as: Impersonate-* headers. */
  readonly impersonate?: { readonly user: string; readonly groups?: readonly string[]; readonly uid?: string };
  /** How long one answer may take, watches excepted. Default 60 s. */
  readonly timeoutMs?: number;
  readonly maxLineBytes?: number;
}

export interface HttpTransport extends Transport {
  /** Ends all connections; later requests fail. */
  close(): void;
}

/** As client-go: so many tries while the server answers 429 or 5xx with Retry-After. */
const maxRetries = 10;
const maxAnswerBytes = 1024 * 1024 * 1024;

export function httpTransport(options: HttpTransportOptions): HttpTransport {
  const connection = options.connection ?? httpConnection(options);
  const { clock } = options;
  const timeoutMs = options.timeoutMs ?? 60_000;

  async function open(request: TransportRequest, signal: AbortSignal | undefined): Promise<HttpAnswer> {
    const path = request.query?.size ? `${request.path}?${request.query.toString()}` : request.path;
    const body = encodeBody(request.body);
    for (let tries = 0; ; tries++) {
      const answer = await sendOnce(connection, {
        method: request.method,
        path,
        headers: await headersOf(options, request),
        ...(body && { body }),
        ...(signal && { signal }),
      });
      const waitMs = retryAfterMs(answer);
      if (waitMs === undefined || tries === maxRetries) return answer;
      await readAll(answer.body);
      await sleep(clock, waitMs, signal);
    }
  }

  return {
    async call(request) {
      const { signal, done } = withTimeout(clock, timeoutMs, request);
      try {
        const answer = await open(request, signal);
        const text = await readAll(answer.body);
        if (answer.status >= 400) throw errorOf(answer, text);
        return freeze(parseAnswer(answer, text)) as Frozen<unknown>;
      } catch (error) {
        throw signal.aborted ? (signal.reason as Error) : error;
      } finally {
        done();
      }
    },
    async *watch(request) {
      const { signal, done } = withTimeout(clock, timeoutMs, request);
      let answer: HttpAnswer;
      try {
        answer = await open(request, request.signal ? AbortSignal.any([signal, request.signal]) : signal);
        if (answer.status >= 400) throw errorOf(answer, await readAll(answer.body));
      } finally {
        done();
      }
      yield* events(answer, options.maxLineBytes ?? maxWatchLineBytes, request.signal);
    },
    close: () => connection.close(),
  };
}

/** A kept-alive connection may have been closed by the server just as the request left: reads are sent again, once. */
async function sendOnce(connection: HttpConnection, request: HttpRequest): Promise<HttpAnswer> {
  try {
    return await connection.send(request);
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (request.method !== 'GET' || request.signal?.aborted || code !== 'ECONNRESET') throw error;
    return connection.send(request);
  }
}

async function* events(
  answer: HttpAnswer,
  maxLineBytes: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<RawWatchEvent> {
  const decoder = new WatchDecoder(maxLineBytes);
  try {
    for await (const chunk of answer.body)
      for (const event of decoder.push(chunk)) {
        freeze(event.object);
        yield event;
      }
    decoder.end();
  } catch (error) {
    if (signal?.aborted) return;
    throw error;
  }
}

async function headersOf(options: HttpTransportOptions, request: TransportRequest): Promise<HttpRequest['headers']> {
  const token = await options.token?.();
  const { impersonate } = options;
  return {
    accept: request.accept ?? 'application/json',
    'user-agent': options.userAgent,
    ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(impersonate && { 'impersonate-user': impersonate.user }),
    ...(impersonate?.uid && { 'impersonate-uid': impersonate.uid }),
    ...(impersonate?.groups?.length && { 'impersonate-group': [...impersonate.groups] }),
  };
}

function encodeBody(body: unknown): Uint8Array | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : writeJson(body));
}

function parseAnswer(answer: HttpAnswer, text: string): unknown {
  const type = String(answer.headers['content-type'] ?? '');
  if (!type.includes('json')) return text;
  return text === '' ? null : parseExact(text);
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > maxAnswerBytes) throw new Error(`answer exceeds ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function retryAfterMs(answer: HttpAnswer): number | undefined {
  if (answer.status !== 429 && answer.status < 500) return undefined;
  const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** The Status that the server sent, or one made from the code when what answered is no API server. */
function errorOf(answer: HttpAnswer, text: string): StatusError {
  try {
    const status = JSON.parse(text) as Partial<Status> | null;
    if (status?.kind === 'Status') return new StatusError({ code: answer.status, ...status } as Status);
  } catch {
    // Not JSON: a proxy's page or plain text; its beginning goes into the message below.
  }
  const reasons = Object.keys(reasonCodes) as StatusReason[];
  const reason = reasons.find((candidate) => reasonCodes[candidate] === answer.status) ?? 'InternalError';
  const said = text.slice(0, 200).trim();
  return statusError(reason, said || `server answered ${answer.status}`, undefined, answer.status);
}

function withTimeout(
  clock: Clock,
  timeoutMs: number,
  request: TransportRequest,
): { signal: AbortSignal; done(): void } {
  const abort = new AbortController();
  const timer = clock.after(timeoutMs, () =>
    abort.abort(statusError('Timeout', `no answer to ${request.method} ${request.path} within ${timeoutMs} ms`)),
  );
  const onAbort = () => abort.abort(request.signal?.reason);
  if (request.signal?.aborted) onAbort();
  else request.signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: abort.signal,
    done() {
      timer.cancel();
      request.signal?.removeEventListener('abort', onAbort);
    },
  };
}

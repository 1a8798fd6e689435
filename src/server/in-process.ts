// Owns the in-process side of the pipeline: a client Transport whose objects travel by reference, for one given user.
import { parseExact } from '../api/codec/json-parse.ts';
import type { Frozen } from '../api/meta.ts';
import type { Status } from '../api/generated/meta.v1.ts';
import { StatusError } from '../api/status-error.ts';
import { apiVersionOf } from '../api/meta.ts';
import type { Clock } from '../base/clock.ts';
import type { Transport, TransportRequest } from '../client/transport.ts';
import { WatchDecoder } from '../client/watch-decoder.ts';
import type { SharedEvent } from './cache/change.ts';
import { jsonForm } from './http/form.ts';
import { versionView } from './http/version-view.ts';
import type { Pipeline } from './pipeline.ts';
import { requestInfo } from './request-info.ts';
import type { ApiAnswer, ApiRequest, UserInfo } from './request.ts';
import { deferred } from '../base/task-group.ts';
import { readWhole } from '../base/read-whole.ts';

const noQuery = new URLSearchParams();
const never = new AbortController().signal;

export interface InProcessOptions {
  readonly pipeline: Pipeline;
  readonly clock: Clock;
  readonly user: UserInfo;
  /** Stands for the User-Agent: who writes, in managedFields. */
  readonly agent?: string;
}

export function inProcessTransport({ pipeline, clock, user, agent = 'k8ts' }: InProcessOptions): Transport {
  function requestOf(request: TransportRequest): ApiRequest {
    const query = request.query ?? noQuery;
    return {
      method: request.method,
      path: request.path,
      query,
      headers: {
        'user-agent': agent,
        ...(request.contentType !== undefined && { 'content-type': request.contentType }),
      },
      body: request.body === undefined ? undefined : { type: 'object', object: request.body as Frozen<unknown> },
      peer: { address: '', user },
      signal: request.signal ?? never,
      arrivedMs: clock.now(),
      warnings: [],
      info: requestInfo(request.method, request.path, query),
      user,
      form: jsonForm,
    };
  }

  async function answerTo(request: TransportRequest): Promise<ApiAnswer> {
    // Writes that are asked for in one turn of the event loop go on together.
    if (request.method !== 'GET') await clock.turn?.();
    request.signal?.throwIfAborted();
    const answer = await pipeline.tryHandle(requestOf(request));
    const isFailure = (answer.type === 'object' || answer.type === 'bytes') && answer.code >= 400;
    // Who has cancelled hears of that, not of what came of it.
    if (isFailure) request.signal?.throwIfAborted();
    if (answer.type === 'object' && isFailure) throw new StatusError(answer.object as Status);
    if (answer.type === 'bytes' && isFailure) throw plainFailure(answer.code, text(answer.body));
    return answer;
  }

  return {
    async call(request) {
      const answer = await answerTo(request);
      switch (answer.type) {
        case 'object':
          return answer.entry !== undefined && answer.served !== undefined
            ? versionView(answer.entry, answer.served)
            : answer.object;
        case 'list': {
          const { served, list } = answer;
          return {
            kind: served.resource.listKind ?? `${served.resource.kind}List`,
            apiVersion: apiVersionOf(served.resource),
            metadata: {
              resourceVersion: list.resourceVersion,
              ...(list.continue !== '' && { continue: list.continue }),
              ...(list.remainingItemCount !== undefined && { remainingItemCount: list.remainingItemCount }),
            },
            items: list.entries.map((entry) => versionView(entry, served)),
          };
        }
        case 'bytes':
          return answer.contentType.startsWith('application/json') ? parseExact(text(answer.body)) : text(answer.body);
        case 'stream':
          return streamed(answer);
        case 'watch':
          answer.run.stop();
          throw new Error('use watch() to watch');
        default:
          throw new Error(`an answer of type ${answer.type} needs a connection`);
      }
    },

    async *watch(request) {
      const answer = await answerTo(request);
      if (answer.type === 'stream') {
        yield* remoteEvents(answer);
        return;
      }
      if (answer.type !== 'watch') throw new Error(`${request.path} is no watch`);
      yield* eventsOf(answer, request.signal);
    },
  };
}

type Stream = ApiAnswer & { readonly type: 'stream' };

/** More than any answer of another server that is no watch. */
const maxStreamedBytes = 64 * 1024 * 1024;

/** An answer that came through from another server, whole. */
async function streamed(answer: Stream): Promise<unknown> {
  const body = (await readWhole(answer.body, maxStreamedBytes)).toString();
  const type = headerOf(answer, 'content-type');
  const value: unknown = type.startsWith('application/json') ? parseExact(body) : body;
  if (answer.code < 400) return value;
  const status = value as Partial<Status> | null;
  if (typeof status === 'object' && status?.kind === 'Status') throw new StatusError(status as Status);
  throw plainFailure(answer.code, body);
}

async function* remoteEvents(
  answer: Stream,
): AsyncGenerator<{ readonly type: string; readonly object: unknown }, void, undefined> {
  if (answer.code >= 400) await streamed(answer);
  const decoder = new WatchDecoder();
  for await (const chunk of answer.body) yield* decoder.push(chunk);
  decoder.end();
}

function headerOf({ headers }: Stream, wanted: string): string {
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? '';
  return typeof found === 'string' ? found : (found[0] ?? '');
}

function plainFailure(code: number, message: string): StatusError {
  return new StatusError({
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: 'Failure',
    message,
    reason: code === 404 ? 'NotFound' : code === 503 ? 'ServiceUnavailable' : '',
    code,
  });
}

/** A bounded buffer between the watch, which pushes, and the reader, which pulls. */
const bufferLimit = 1000;

async function* eventsOf(
  { run, served }: ApiAnswer & { readonly type: 'watch' },
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly type: string; readonly object: unknown }, void, undefined> {
  let buffer: { readonly type: string; readonly object: unknown }[] = [];
  let ended = false;
  let wake = deferred();
  const push = (item: { readonly type: string; readonly object: unknown }): boolean => {
    buffer.push(item);
    wake.resolve();
    return buffer.length < bufferLimit;
  };
  const shown = ({ type, entry }: SharedEvent): unknown =>
    type === 'BOOKMARK' ? entry.object : versionView(entry, served);
  const stop = (): void => run.stop();
  signal?.addEventListener('abort', stop, { once: true });
  run.start({
    send: (event) => push({ type: event.type, object: shown(event) }),
    error: (status) => void push({ type: 'ERROR', object: status }),
    end: () => {
      ended = true;
      wake.resolve();
    },
  });
  if (signal?.aborted === true) stop();
  try {
    for (;;) {
      if (buffer.length > 0) {
        const items = buffer;
        buffer = [];
        yield* items;
        run.drained();
        continue;
      }
      if (ended) break;
      await wake.promise;
      wake = deferred();
    }
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', stop);
    run.stop();
  }
}

function text(body: Uint8Array | string): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString();
}

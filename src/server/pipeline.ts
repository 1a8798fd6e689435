// Owns a request's journey: the stages in order, the verb at the end, errors as Status answers. The one path of both transports.
import { StatusError, statusError } from '../api/status-error.ts';
import type { Status } from '../api/generated/meta.v1.ts';
import { freeze } from '../api/meta.ts';
import type { Logger } from '../base/log.ts';
import { isAbort } from '../base/task-group.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

/** Looks at a request, adds to it, or ends it with an answer (or a StatusError). */
export interface Stage {
  readonly name: string;
  run(request: ApiRequest): ApiAnswer | undefined | void | Promise<ApiAnswer | undefined | void>;
}

export interface Pipeline {
  readonly stages: readonly Stage[];
  readonly watchers: readonly Watcher[];
  /** Never rejects: what goes wrong is an answer. */
  handle(request: ApiRequest): Promise<ApiAnswer>;
  /** As `handle`, but synchronous when nothing waits: most reads. */
  tryHandle(request: ApiRequest): ApiAnswer | Promise<ApiAnswer>;
}

export interface Watcher {
  /** Told of each request before the first stage. */
  began?(request: ApiRequest): void;
  /** Told of each finished request: metrics, audit. */
  finished(request: ApiRequest, answer: ApiAnswer): void;
  /** Told how many bytes the answer had before compression. Answers in the course of time and within the process are not told. */
  sent?(request: ApiRequest, bytes: number): void;
  /** Told when the client was answered that its request took too long, while it still goes on. */
  timedOut?(request: ApiRequest): void;
  /** Told when an answer that had begun was broken off. */
  aborted?(request: ApiRequest): void;
  /** Told of each event of a watch. Called once for each watch, then for each event. */
  watching?(answer: ApiAnswer & { readonly type: 'watch' }): (bytes: number) => void;
}

export function pipeline(stages: readonly Stage[], log: Logger, watchers: readonly Watcher[] = []): Pipeline {
  async function go(
    request: ApiRequest,
    from: number,
    first: Promise<ApiAnswer | undefined | void>,
  ): Promise<ApiAnswer> {
    try {
      let answer = await first;
      for (let at = from; !answer && at < stages.length; at++) answer = await stages[at]!.run(request);
      return done(request, answer ?? nobody());
    } catch (error) {
      return done(request, failure(request, error));
    }
  }

  function done(request: ApiRequest, answer: ApiAnswer): ApiAnswer {
    for (const watcher of watchers) watcher.finished(request, answer);
    return answer;
  }

  function failure(request: ApiRequest, error: unknown): ApiAnswer {
    if (error instanceof StatusError) return statusAnswer(error.status);
    if (request.signal.aborted || isAbort(error))
      return statusAnswer(statusError('Timeout', 'the request was cancelled before it was done').status);
    if (error instanceof StoreUnavailable)
      return statusAnswer(statusError('ServiceUnavailable', `the store is away: ${error.message}`).status);
    log.error('request failed', { error, method: request.method, path: request.path });
    return statusAnswer(
      statusError(
        'InternalError',
        `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`,
        {
          causes: [{ message: error instanceof Error ? error.message : String(error) }],
        },
      ).status,
    );
  }

  const beginners = watchers.filter((watcher) => watcher.began !== undefined);

  function tryHandle(request: ApiRequest): ApiAnswer | Promise<ApiAnswer> {
    for (const watcher of beginners) watcher.began!(request);
    try {
      for (let at = 0; at < stages.length; at++) {
        const answer = stages[at]!.run(request);
        if (answer === undefined) continue;
        if (answer instanceof Promise) return go(request, at + 1, answer as Promise<ApiAnswer | undefined>);
        return done(request, answer as ApiAnswer);
      }
      return done(request, nobody());
    } catch (error) {
      return done(request, failure(request, error));
    }
  }

  return { stages, watchers, tryHandle, handle: async (request) => tryHandle(request) };
}

function nobody(): ApiAnswer {
  return {
    type: 'bytes',
    code: 404,
    contentType: 'text/plain; charset=utf-8',
    body: '404 page not found\n',
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
}

export function statusAnswer(status: Status): ApiAnswer {
  const retry = status.details?.retryAfterSeconds;
  return {
    type: 'object',
    code: status.code ?? 500,
    object: freeze(status) as object,
    ...(retry !== undefined && retry > 0 && { headers: { 'Retry-After': String(retry) } }),
  };
}

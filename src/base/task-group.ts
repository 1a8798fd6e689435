// Owns the lifetime of concurrent work: nothing floats, the first failure stops the rest, stop waits for all.

import { setMaxListeners } from 'node:events';

export interface TaskGroup {
  /** Aborted when the group stops. */
  readonly signal: AbortSignal;
  /** Starts a task. Its failure (other than by the group's own abort) stops the group. */
  run(name: string, task: (signal: AbortSignal) => Promise<void>): void;
  /** Aborts every task, waits until all have ended, then throws the first failure if there was one. */
  stop(reason?: Error): Promise<void>;
  /** Resolves when the group stopped cleanly, rejects with the first failure. */
  readonly done: Promise<void>;
}

class TaskFailure extends Error {
  override readonly name = 'TaskFailure';
  constructor(task: string, cause: unknown) {
    super(`task ${task} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

export class Stopped extends Error {
  override readonly name = 'AbortError';
  constructor(what = 'stopped') {
    super(what);
  }
}

/** True for the errors that an aborted signal makes, whoever threw them. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || (error as { code?: unknown }).code === 'ABORT_ERR');
}

export function taskGroup(parent?: AbortSignal): TaskGroup {
  const abort = new AbortController();
  // A group may have any number of tasks, each of which listens.
  setMaxListeners(0, abort.signal);
  const running = new Set<Promise<void>>();
  let failure: TaskFailure | undefined;
  const { promise: done, resolve, reject } = deferred();
  done.catch(() => undefined);

  const onParentAbort = () => void stop(parent?.reason as Error).catch(() => undefined);
  if (parent?.aborted) queueMicrotask(onParentAbort);
  else parent?.addEventListener('abort', onParentAbort, { once: true });

  async function stop(reason: Error = new Stopped()): Promise<void> {
    if (!abort.signal.aborted) {
      parent?.removeEventListener('abort', onParentAbort);
      abort.abort(reason);
    }
    while (running.size > 0) await Promise.allSettled(running);
    if (failure) reject(failure);
    else resolve();
    return done;
  }

  function run(name: string, task: (signal: AbortSignal) => Promise<void>): void {
    if (abort.signal.aborted) return;
    const settled = Promise.resolve()
      .then(() => task(abort.signal))
      .catch((error: unknown) => {
        if (abort.signal.aborted && (isAbort(error) || error === abort.signal.reason)) return;
        failure ??= new TaskFailure(name, error);
        if (!abort.signal.aborted) abort.abort(failure);
      })
      .finally(() => {
        running.delete(settled);
        if (failure && running.size === 0) reject(failure);
      });
    running.add(settled);
  }

  return { signal: abort.signal, run, stop, done };
}

/** A promise with its handles, for code that must settle it from elsewhere. */
export function deferred<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

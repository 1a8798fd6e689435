// Owns giving another process of this machine the use of a store, over a stream that only it holds. Does not own the store.
import type { Duplex } from 'node:stream';
import { StoreUnavailable } from '../store.ts';
import type { KeyRange, Store, WatchOptions } from '../store.ts';
import { frameReader, frameWriter } from './frames.ts';
import { calls, sentError, watchWindow } from './messages.ts';
import type { Call, Reply, Request } from './messages.ts';

interface Watching {
  readonly abort: AbortController;
  credit: number;
  /** Called when there is credit again. */
  resume: (() => void) | undefined;
}

/** Serves until the stream ends; resolves then. What the user left running ends with it. */
export function serveStore(store: Store, stream: Duplex): Promise<void> {
  const watches = new Map<number, Watching>();
  let gone = false;

  const write = frameWriter(stream);
  const send = (reply: Reply): boolean => gone || write(reply);

  async function call(id: number, name: Call, args: readonly unknown[]): Promise<void> {
    try {
      if (!calls.includes(name)) throw new StoreUnavailable(`there is no call ${String(name)}`);
      const method = store[name] as (...given: readonly unknown[]) => Promise<unknown>;
      send(['result', id, await method.apply(store, [...args])]);
    } catch (error) {
      send(['failed', id, sentError(error)]);
    }
  }

  async function watch(id: number, range: KeyRange, options: Omit<WatchOptions, 'signal'>): Promise<void> {
    const watching: Watching = { abort: new AbortController(), credit: watchWindow, resume: undefined };
    watches.set(id, watching);
    const { signal } = watching.abort;
    let failure: unknown;
    try {
      for await (const batch of store.watch(range, { ...options, signal })) {
        watching.credit--;
        if (!send(['batch', id, batch])) await drained(stream);
        if (watching.credit <= 0 && !signal.aborted)
          await new Promise<void>((resolve) => {
            watching.resume = resolve;
          });
      }
    } catch (error) {
      failure = error;
    }
    watches.delete(id);
    if (!signal.aborted) send(['ended', id, failure === undefined ? undefined : sentError(failure)]);
  }

  function end(watching: Watching | undefined): void {
    watching?.abort.abort();
    watching?.resume?.();
  }

  function receive(request: Request): void {
    switch (request[0]) {
      case 'call':
        return void call(request[1], request[2], request[3]);
      case 'watch':
        return void watch(request[1], request[2], request[3]);
      case 'more': {
        const watching = watches.get(request[1]);
        if (watching === undefined) return;
        watching.credit += request[2];
        watching.resume?.();
        watching.resume = undefined;
        return;
      }
      case 'unwatch':
        return end(watches.get(request[1]));
    }
  }

  return new Promise((resolve) => {
    const read = frameReader((value) => receive(value as Request));
    stream.on('data', read);
    stream.on('error', () => stream.destroy());
    stream.once('close', () => {
      gone = true;
      for (const watching of watches.values()) end(watching);
      resolve();
    });
  });
}

function drained(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}

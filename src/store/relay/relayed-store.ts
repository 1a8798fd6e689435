// Owns the use of a store that another process of this machine serves (serve.ts): a Store over a stream. Its end is the stream's end.
import type { Duplex } from 'node:stream';
import { StoreUnavailable } from '../store.ts';
import type { KeyRange, Store, WatchBatch, WatchOptions } from '../store.ts';
import { frameReader, frameWriter } from './frames.ts';
import { receivedError, watchWindow } from './messages.ts';
import type { Call, Reply, Request, SentError } from './messages.ts';

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One watch's batches on their way to its consumer; at most `watchWindow` of them. */
interface Inbox {
  readonly batches: WatchBatch[];
  ended: boolean;
  error: Error | undefined;
  wake: (() => void) | undefined;
}

export function relayedStore(stream: Duplex): Store {
  const pending = new Map<number, Pending>();
  const inboxes = new Map<number, Inbox>();
  let lastId = 0;
  let gone: string | undefined;

  const write = frameWriter(stream);
  const send = (request: Request): void => void write(request);

  function call<T>(name: Call, ...args: readonly unknown[]): Promise<T> {
    if (gone !== undefined) return Promise.reject(new StoreUnavailable(gone));
    const id = ++lastId;
    return new Promise<T>((resolve, reject) => {
      pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      send(['call', id, name, args]);
    });
  }

  function finish(inbox: Inbox | undefined, error?: Error): void {
    if (inbox === undefined) return;
    inbox.ended = true;
    inbox.error = error;
    inbox.wake?.();
  }

  const ended = (id: number, error: SentError | undefined): void =>
    finish(inboxes.get(id), error === undefined ? undefined : receivedError(error));

  function receive(reply: Reply): void {
    const [type, id] = reply;
    if (type === 'batch') {
      const inbox = inboxes.get(id);
      inbox?.batches.push(reply[2]);
      inbox?.wake?.();
    } else if (type === 'ended') ended(id, reply[2]);
    else {
      const waiting = pending.get(id);
      pending.delete(id);
      if (type === 'result') waiting?.resolve(reply[2]);
      else waiting?.reject(receivedError(reply[2]));
    }
  }

  function leave(why: string, error?: Error): void {
    if (gone !== undefined) return;
    gone = why;
    for (const { reject } of pending.values()) reject(new StoreUnavailable(why));
    pending.clear();
    for (const inbox of inboxes.values()) finish(inbox, error);
    stream.destroy();
  }

  async function* watch(range: KeyRange, { signal, ...options }: WatchOptions): AsyncGenerator<WatchBatch> {
    if (gone !== undefined) throw new StoreUnavailable(gone);
    if (signal.aborted) return;
    const id = ++lastId;
    const inbox: Inbox = { batches: [], ended: false, error: undefined, wake: undefined };
    const stop = (): void => finish(inbox);
    inboxes.set(id, inbox);
    signal.addEventListener('abort', stop, { once: true });
    send(['watch', id, range, options]);
    let taken = 0;
    try {
      while (!signal.aborted) {
        const batch = inbox.batches.shift();
        if (batch !== undefined) {
          if (++taken >= watchWindow / 2 && gone === undefined) {
            send(['more', id, taken]);
            taken = 0;
          }
          yield batch;
        } else if (inbox.ended) {
          if (inbox.error !== undefined) throw inbox.error;
          return;
        } else
          await new Promise<void>((resolve) => {
            inbox.wake = resolve;
          });
      }
    } finally {
      signal.removeEventListener('abort', stop);
      inboxes.delete(id);
      if (!inbox.ended || signal.aborted) if (gone === undefined) send(['unwatch', id]);
    }
  }

  const read = frameReader((value) => receive(value as Reply));
  stream.on('data', read);
  const lost = 'the process that holds the store is gone';
  stream.on('error', () => leave(lost, new StoreUnavailable(lost)));
  stream.on('close', () => leave(lost, new StoreUnavailable(lost)));

  return {
    range: (range, options) => call('range', range, options),
    transact: (transaction) => call('transact', transaction),
    watch,
    requestProgress: () => call('requestProgress'),
    compact: (revision) => call('compact', revision),
    grantLease: (ttlSeconds, id) => call('grantLease', ttlSeconds, id),
    keepLeaseAlive: (id) => call('keepLeaseAlive', id),
    revokeLease: (id) => call('revokeLease', id),
    lease: (id) => call('lease', id),
    leases: () => call('leases'),
    status: () => call('status'),
    async close() {
      leave('the store is closed');
    },
  };
}

// Owns several API server processes behind one port: this process accepts connections, hands each to a worker, relays its store to them,
// and begins anew what ended. Serves no request itself; the worker's side is api-worker.ts.
import { type ChildProcess, fork } from 'node:child_process';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Duplex, Readable } from 'node:stream';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger, LogLevel } from '../base/log.ts';
import { deferred, isAbort, taskGroup } from '../base/task-group.ts';
import { serveStore } from '../store/relay/serve.ts';
import type { Store } from '../store/store.ts';
import type { ApiServerFlags, DecidedKeys } from './alone/api-server.ts';
import type { ClusterServer } from './components/cluster-server.ts';
import { ownCommand } from './own-command.ts';
import { UserError } from './user-error.ts';

export const maxWorkers = 64;

/** What all workers are told. Plain data: it goes to another process. */
export interface WorkerSettings {
  readonly level: LogLevel;
  readonly server:
    | { readonly type: 'alone'; readonly flags: ApiServerFlags; readonly keys: DecidedKeys }
    | { readonly type: 'cluster'; readonly server: ClusterServer; readonly args: Readonly<Record<string, string>> };
}

export type ToWorker =
  | {
      readonly type: 'begin';
      readonly settings: WorkerSettings;
      readonly index: number;
      readonly count: number;
      readonly port: number;
      readonly address: string;
      /** Descriptor 4 leads to the store; else the flags name an etcd. */
      readonly relayed: boolean;
      /** Whether it keeps what one of the servers behind the port has to. */
      readonly keepsRecords: boolean;
    }
  /** With a socket. */
  | { readonly type: 'connection'; readonly id: number }
  /** Nothing more is given to it. For so long it serves what was given last, so that it is not told to come back. */
  | { readonly type: 'stop'; readonly afterMs: number };

export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'taken'; readonly id: number }
  /** It was told to end (by a signal of its own) and waits for `stop`. */
  | { readonly type: 'leaving' }
  | { readonly type: 'failed'; readonly message: string; readonly advice?: string };

export interface ApiWorkersOptions {
  readonly count: number;
  readonly host?: string;
  /** 0: any free one. */
  readonly port: number;
  readonly settings: WorkerSettings;
  readonly store?: Store;
  /** Whether worker 0 keeps the server's own records; default true. */
  readonly keepRecords?: boolean;
  /** How long requests under way may go on at the end. */
  readonly graceMs?: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where lines of their logs go; absent: this process' standard error. */
  readonly onLogLine?: (line: string) => void;
}

export interface ApiWorkers {
  readonly port: number;
  readonly address: string;
  /** Resolves when all serve; rejects when one cannot begin. */
  readonly ready: Promise<void>;
  /** The process ids of those that run, by index. */
  readonly processes: () => readonly (number | undefined)[];
  run(signal: AbortSignal): Promise<void>;
}

/** Connections that wait while no worker serves. */
const maxWaiting = 1024;
const beginAgainMs = { first: 100, most: 5_000 };
/** Who served so long has not failed at its start. */
const provenMs = 10_000;
/** A worker that goes while others stay still serves connections that it was given just before. */
const lastConnectionsMs = 500;
/** Beyond the grace, until a worker that does not end is killed. */
const killAfterMs = 5_000;

/** Listens; throws when the port is taken. Connections wait until workers serve. */
export async function apiWorkers(options: ApiWorkersOptions): Promise<ApiWorkers> {
  const { count, clock, log } = options;
  const switchboard = new Switchboard(log);
  const server = createServer({ pauseOnConnect: true }, (socket) => switchboard.connect(socket));
  const { port, address } = await listen(server, options);
  const ready = deferred();
  ready.promise.catch(() => undefined);
  const running: (ChildProcess | undefined)[] = [];
  let serving = 0;

  async function keepRunning(index: number, signal: AbortSignal): Promise<void> {
    let waitMs = beginAgainMs.first;
    while (!signal.aborted) {
      const begun = clock.monotonic();
      const child = begin(options, { index, port, address });
      running[index] = child;
      const end = await lifeOf(child, signal, options, {
        ready() {
          switchboard.add(child);
          if (++serving === count) ready.resolve();
        },
        leaving: () => switchboard.remove(child),
        taken: (id) => switchboard.taken(id),
        gone: () => switchboard.gone(child),
      });
      running[index] = undefined;
      if (signal.aborted) return;
      if (end.wasReady) serving--;
      else if (serving < count && end.failure !== undefined && clock.monotonic() - started < provenMs)
        throw end.failure;
      log.warn('an API worker ended; it begins anew', { worker: index, how: end.how });
      if (clock.monotonic() - begun > provenMs) waitMs = beginAgainMs.first;
      else {
        await sleep(clock, waitMs, signal).catch((error: unknown) => {
          if (!isAbort(error)) throw error;
        });
        waitMs = Math.min(waitMs * 2, beginAgainMs.most);
      }
    }
  }
  const started = clock.monotonic();

  return {
    port,
    address,
    ready: ready.promise,
    processes: () => running.map((child) => child?.pid),
    async run(signal) {
      const group = taskGroup(signal);
      try {
        for (let index = 0; index < count; index++)
          group.run(`API worker ${index}`, (inner) => keepRunning(index, inner));
        await group.done;
      } catch (error) {
        const cause = error instanceof Error ? (error.cause ?? error) : error;
        ready.reject(cause);
        throw cause;
      } finally {
        server.close();
        switchboard.close();
        await group.stop().catch(() => undefined);
        ready.reject(new Error('the API workers were stopped'));
      }
    },
  };
}

async function listen(server: Server, { host, port }: ApiWorkersOptions): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return server.address() as AddressInfo;
}

/** Hands each connection to the next worker in turn. Those which a dead worker did not take go to another. */
class Switchboard {
  readonly #workers: ChildProcess[] = [];
  /** Given to a worker that has not said yet that it has them. */
  readonly #given = new Map<number, { readonly socket: Socket; readonly worker: ChildProcess }>();
  #waiting: Socket[] = [];
  #turn = 0;
  #lastId = 0;
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  connect(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    this.#give(socket);
  }

  #give(socket: Socket): void {
    const worker = this.#workers[this.#turn++ % Math.max(1, this.#workers.length)];
    if (worker === undefined) {
      if (this.#waiting.length >= maxWaiting) socket.destroy();
      else this.#waiting.push(socket);
      return;
    }
    const id = ++this.#lastId;
    this.#given.set(id, { socket, worker });
    worker.send({ type: 'connection', id } satisfies ToWorker, socket, { keepOpen: true }, (error) => {
      if (error !== null) this.#log.debug('a worker could not be given a connection', { error });
    });
  }

  taken(id: number): void {
    // The connection goes on in the worker; what closes is the copy of this process.
    this.#given.get(id)?.socket.destroy();
    this.#given.delete(id);
  }

  add(worker: ChildProcess): void {
    this.#workers.push(worker);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const socket of waiting) this.#give(socket);
  }

  /** It gets no more. */
  remove(worker: ChildProcess): void {
    const at = this.#workers.indexOf(worker);
    if (at >= 0) this.#workers.splice(at, 1);
  }

  gone(worker: ChildProcess): void {
    this.remove(worker);
    for (const [id, given] of this.#given)
      if (given.worker === worker) {
        this.#given.delete(id);
        this.#give(given.socket);
      }
  }

  close(): void {
    for (const socket of this.#waiting) socket.destroy();
    for (const { socket } of this.#given.values()) socket.destroy();
    this.#waiting = [];
    this.#given.clear();
  }
}

function begin(
  { settings, count, store, keepRecords = true, onLogLine }: ApiWorkersOptions,
  { index, port, address }: { readonly index: number; readonly port: number; readonly address: string },
): ChildProcess {
  const child = fork(ownCommand, ['api-worker'], {
    // As advanced as structuredClone: flags hold maps.
    serialization: 'advanced',
    execArgv: [],
    stdio: ['ignore', 'inherit', onLogLine === undefined ? 'inherit' : 'pipe', 'ipc', 'pipe'],
  });
  const channel = child.stdio[4] as Duplex;
  if (store === undefined) channel.destroy();
  else void serveStore(store, channel);
  if (onLogLine !== undefined) createInterface({ input: child.stderr as Readable }).on('line', onLogLine);
  const first: ToWorker = {
    type: 'begin',
    settings,
    index,
    count,
    port,
    address,
    relayed: store !== undefined,
    keepsRecords: keepRecords && index === 0,
  };
  // Whoever cannot be told has ended, which its exit tells.
  child.send(first, () => undefined);
  return child;
}

function tellToStop(child: ChildProcess, afterMs: number): void {
  if (child.connected) child.send({ type: 'stop', afterMs } satisfies ToWorker, () => undefined);
}

interface WorkerEnd {
  readonly how: string;
  readonly wasReady: boolean;
  readonly failure?: Error;
}

/** Until the process is gone. */
function lifeOf(
  child: ChildProcess,
  signal: AbortSignal,
  { clock, graceMs = 0 }: ApiWorkersOptions,
  on: { ready(): void; leaving(): void; taken(id: number): void; gone(): void },
): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    let wasReady = false;
    let failure: Error | undefined;
    const stop = (): void => {
      on.leaving();
      tellToStop(child, 0);
      const late = clock.after(graceMs + killAfterMs, () => child.kill('SIGKILL'));
      child.once('exit', () => late.cancel());
    };
    child.on('message', (message: FromWorker) => {
      if (message.type === 'ready') {
        wasReady = true;
        if (!signal.aborted) on.ready();
      } else if (message.type === 'leaving') {
        on.leaving();
        tellToStop(child, lastConnectionsMs);
      } else if (message.type === 'taken') on.taken(message.id);
      else
        failure =
          message.advice === undefined ? new Error(message.message) : new UserError(message.message, message.advice);
    });
    const end = (how: string): void => {
      signal.removeEventListener('abort', stop);
      on.gone();
      resolve({ how, wasReady, ...(failure && { failure }) });
    };
    child.once('error', (error) => {
      failure ??= error;
      // A process that never began has no exit.
      if (child.pid === undefined) end(error.message);
    });
    child.once('exit', (code, killedBy) => end(killedBy ?? `code ${code}`));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

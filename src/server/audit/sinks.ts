// Owns where audit events go: a file that is rotated, or a webhook in batches. Both keep a bounded queue and tell what they drop.
import { appendFile, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { writeJson } from '../../api/codec/json-write.ts';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isAbort } from '../../base/task-group.ts';
import type { Callee, Callout } from '../callout.ts';
import { CalloutError } from '../callout.ts';

export interface AuditSink {
  readonly name: string;
  /** Takes the event at once; false when the queue is full and it is lost. */
  take(event: object): boolean;
  /** Writes until the signal aborts, then what is left. */
  run(signal: AbortSignal): Promise<void>;
}

export interface LogFileOptions {
  /** "-" is standard output. */
  readonly path: string;
  readonly maxSizeMegabytes?: number;
  readonly maxBackups?: number;
  readonly maxAgeDays?: number;
  /** Where "-" goes. */
  readonly standardOutput?: (text: string) => void;
}

interface Batching {
  readonly maxQueue: number;
  readonly maxBatch: number;
  readonly maxWaitMs: number;
}

/** Collects events and hands them on in batches, one batch at a time. */
function batches(
  name: string,
  { maxQueue, maxBatch, maxWaitMs }: Batching,
  clock: Clock,
  send: (events: readonly object[]) => Promise<void>,
): AuditSink {
  const queue: object[] = [];
  let wake: (() => void) | undefined;
  async function drain(): Promise<void> {
    while (queue.length > 0) await send(queue.splice(0, maxBatch));
  }
  return {
    name,
    take(event) {
      if (queue.length >= maxQueue) return false;
      queue.push(event);
      if (queue.length >= maxBatch) wake?.();
      return true;
    },
    async run(signal) {
      while (!signal.aborted) {
        const early = new AbortController();
        wake = () => early.abort();
        try {
          await sleep(clock, maxWaitMs, AbortSignal.any([signal, early.signal]));
        } catch (error) {
          if (!isAbort(error) && error !== signal.reason) throw error;
        }
        await drain();
      }
    },
  };
}

export function logFileSink(options: LogFileOptions, clock: Clock, log: Logger): AuditSink {
  const { path, maxBackups = 0, maxAgeDays = 0 } = options;
  const maxBytes = (options.maxSizeMegabytes ?? 100) * 1024 * 1024;
  let size: number | undefined;

  async function rotate(): Promise<void> {
    const extension = extname(path);
    const stem = path.slice(0, path.length - extension.length);
    const stamp = new Date(clock.now()).toISOString().replaceAll(':', '-');
    await rename(path, `${stem}-${stamp}${extension}`);
    size = 0;
    const prefix = `${basename(stem)}-`;
    const old = (await readdir(dirname(path)))
      .filter((name) => name.startsWith(prefix) && name.endsWith(extension))
      .sort()
      .reverse();
    for (const [at, name] of old.entries()) {
      const full = join(dirname(path), name);
      const isOld = maxAgeDays > 0 && clock.now() - (await stat(full)).mtimeMs > maxAgeDays * 86_400_000;
      if ((maxBackups > 0 && at >= maxBackups) || isOld) await unlink(full);
    }
  }

  async function write(events: readonly object[]): Promise<void> {
    const text = events.map((event) => `${writeJson(event)}\n`).join('');
    if (path === '-') return options.standardOutput?.(text);
    try {
      if (size === undefined) {
        await mkdir(dirname(path), { recursive: true });
        const file = await open(path, 'a', 0o600);
        size = (await file.stat()).size;
        await file.close();
      }
      const bytes = Buffer.byteLength(text);
      if (size > 0 && size + bytes > maxBytes) await rotate();
      await appendFile(path, text, { mode: 0o600 });
      size += bytes;
    } catch (error) {
      log.error('audit events are lost', { error, path, events: events.length });
    }
  }

  return batches('log', { maxQueue: 10_000, maxBatch: 400, maxWaitMs: 50 }, clock, write);
}

export interface WebhookSinkOptions extends Partial<Batching> {
  readonly callee: Callee;
  readonly bearerToken?: string;
  /** The wait before the second try; doubled each time. Default 10 s. */
  readonly initialBackoffMs?: number;
}

const tries = 4;

export function webhookSink(options: WebhookSinkOptions, callout: Callout, clock: Clock, log: Logger): AuditSink {
  const { callee, bearerToken, initialBackoffMs = 10_000 } = options;
  async function send(events: readonly object[]): Promise<void> {
    const body = writeJson({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items: events });
    let last = '';
    for (let attempt = 0; attempt < tries; attempt++) {
      if (attempt > 0) await sleep(clock, initialBackoffMs * 2 ** (attempt - 1));
      try {
        const { status } = await callout.call(callee, {
          method: 'POST',
          body,
          timeoutMs: 30_000,
          ...(bearerToken !== undefined && { headers: { authorization: `Bearer ${bearerToken}` } }),
        });
        if (status < 300) return;
        last = `status ${status}`;
        if (status < 500 && status !== 429) break;
      } catch (error) {
        if (!(error instanceof CalloutError)) throw error;
        last = error.message;
      }
    }
    log.error('audit events are lost', { error: last, events: events.length });
  }
  return batches(
    'webhook',
    { maxQueue: options.maxQueue ?? 10_000, maxBatch: options.maxBatch ?? 400, maxWaitMs: options.maxWaitMs ?? 30_000 },
    clock,
    send,
  );
}

// Owns the reading anew of what the server was told in files: looked at now and then, taken over when it changed and is right. Knows no file.
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import { isAbort } from '../base/task-group.ts';

export interface Reloaded<T> {
  /** For the log: "the client authorities". */
  readonly what: string;
  /** What the server works with now. */
  readonly current: T;
  /** Upstream's name of its metrics ("authentication_config"); absent: it has none. */
  readonly metric?: string;
  /** Throws when it cannot be read, or is wrong. */
  read(): Promise<T>;
  /** Takes it over; throws when it is wrong, and has then changed nothing. False: it is left for the next time, without a word. */
  apply(next: T): boolean | void;
}

export interface ReloadDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: MetricsRegistry;
  /** Tells servers apart in metrics. */
  readonly serverId: string;
}

/** Upstream hears of changes by inotify and looks every minute besides; looking more often needs no inotify. */
export const reloadEveryMs = 10_000;

export const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

export interface ReloadCount {
  took(text: string): void;
  failed(): void;
}

/** Upstream's metrics of a configuration's reloads. */
export function reloadCount(
  name: string,
  { clock, metrics, serverId }: Omit<ReloadDeps, 'log'>,
  first: string,
): ReloadCount | undefined {
  if (metrics === undefined) return undefined;
  const prefix = `apiserver_${name}_controller`;
  const labels = ['apiserver_id_hash', 'status'];
  const total = metrics.counters(
    `${prefix}_automatic_reloads_total`,
    'Attempts to take over a changed configuration, by outcome.',
    labels,
  );
  const last = metrics.gauges(
    `${prefix}_automatic_reload_last_timestamp_seconds`,
    'When a changed configuration was last tried, by outcome.',
    labels,
  );
  const info = metrics.gauges(`${prefix}_last_config_info`, 'The hash of the configuration in force.', [
    'apiserver_id_hash',
    'hash',
  ]);
  const id = sha256(serverId);
  let hash = sha256(first);
  info.of(id, hash).set(1);
  const count = (status: string): void => {
    total.of(id, status).inc();
    last.of(id, status).set(clock.now() / 1000);
  };
  return {
    took(text) {
      info.delete(id, hash);
      hash = sha256(text);
      info.of(id, hash).set(1);
      count('success');
    },
    failed: () => count('failure'),
  };
}

/** Looks every `everyMs` until the signal aborts. */
export async function keepReloaded<T>(
  { what, current, metric, read, apply }: Reloaded<T>,
  deps: ReloadDeps,
  signal: AbortSignal,
  everyMs = reloadEveryMs,
): Promise<void> {
  const { clock, log } = deps;
  let known = JSON.stringify(current);
  const counted = metric === undefined ? undefined : reloadCount(metric, deps, known);
  // What was refused is not tried, and complained of, again and again.
  let refused: string | undefined;
  while (!signal.aborted) {
    await sleep(clock, everyMs, signal);
    try {
      const next = await read();
      const text = JSON.stringify(next);
      if (text === known) refused = undefined;
      if (text === known || text === refused) continue;
      refused = text;
      if (apply(next) === false) {
        refused = undefined;
        continue;
      }
      known = text;
      refused = undefined;
      counted?.took(text);
      log.info(`${what} changed and were taken over`);
    } catch (error) {
      if (isAbort(error)) throw error;
      counted?.failed();
      log.warn(`${what} cannot be taken over; what was there before stays`, { error });
    }
  }
}

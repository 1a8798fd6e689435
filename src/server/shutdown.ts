// Owns the end of a server that others use: load balancers are told first, requests under way are finished, watchers moved on. In steps.
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { HttpListener } from '../wire/http-listener.ts';
import type { HttpTransport } from './http/transport.ts';

export interface ShutdownOptions {
  /** --shutdown-delay-duration: how long everything goes on while /readyz says that it will not. Default 0. */
  readonly delayMs?: number;
  /** How long requests under way may take to finish; default 0: they are cut. */
  readonly graceMs?: number;
  /** --shutdown-watch-termination-grace-period: watches end one by one over this time. Default 0: all at once. */
  readonly watchGraceMs?: number;
  /** --shutdown-send-retry-after: new requests are told to come back while others finish, instead of finding nobody. */
  readonly sendRetryAfter?: boolean;
}

/** How long the end may take at most. */
export function longestEnd({ delayMs = 0, graceMs = 0, watchGraceMs = 0 }: ShutdownOptions): number {
  return delayMs + graceMs + watchGraceMs;
}

/** Answers that are written still have to leave. */
const flushMs = 250;

export async function shutDown(
  { delayMs = 0, graceMs = 0, watchGraceMs = 0, sendRetryAfter = false }: ShutdownOptions,
  {
    transport,
    listener,
    clock,
    log,
  }: {
    readonly transport: HttpTransport;
    readonly listener: HttpListener;
    readonly clock: Clock;
    readonly log: Logger;
  },
): Promise<void> {
  const step = (text: string): void => {
    if (delayMs + graceMs + watchGraceMs > 0) log.info(text);
  };
  if (delayMs > 0) {
    step('stopping: not ready any more, still serving');
    await sleep(clock, delayMs);
  }
  step('stopping: requests under way are finished');
  if (sendRetryAfter) transport.turnAway();
  else listener.drain();
  transport.finishing();
  await transport.endLong(watchGraceMs);
  if (graceMs > 0) await Promise.race([transport.idle(), sleep(clock, graceMs)]);
  transport.turnAway();
  await listener.close(graceMs > 0 ? flushMs : 0);
  step('stopped serving');
}

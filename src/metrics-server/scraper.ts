// Owns asking all kubelets what they use, one round after the other. Knows not how a kubelet is reached.
import type { Node } from '../api/generated/core.v1.ts';
import type { Frozen } from '../api/meta.ts';
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import type { Informer } from '../client/informer.ts';
import { parseScrape } from './scrape.ts';
import type { UsageStore } from './usage-store.ts';

/** The text of a node's /metrics/resource. Rejects when it cannot be had. */
export type AskKubelet = (node: Frozen<Node>, signal: AbortSignal) => Promise<string>;

export interface ScraperOptions {
  readonly nodes: Informer<Node>;
  readonly ask: AskKubelet;
  readonly store: UsageStore;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly log: Logger;
  /** Between the beginnings of rounds (--metric-resolution). */
  readonly resolutionMs: number;
}

export interface Scraper {
  /** When the last round ended; undefined before. */
  readonly lastRoundMs: number | undefined;
  run(signal: AbortSignal): Promise<void>;
}

const atOnce = 32;
const firstGapMs = 2000;

export function scraper(options: ScraperOptions): Scraper {
  const { nodes, ask, store, clock, metrics, log, resolutionMs } = options;
  const failures = metrics.counter('metrics_server_kubelet_request_failed_total', 'Kubelets that could not be asked.');
  const rounds = metrics.counter('metrics_server_manager_tick_total', 'Rounds of asking all kubelets.');
  let lastRoundMs: number | undefined;

  async function one(node: Frozen<Node>, signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const timer = clock.after(Math.max(1000, resolutionMs * 0.9), () => late.abort());
    try {
      const text = await ask(node, AbortSignal.any([signal, late.signal]));
      store.take(node.metadata.name, parseScrape(text, clock.now()));
    } catch (error) {
      if (signal.aborted) throw error;
      failures.inc();
      log.debug('a kubelet cannot be asked for its usage', { node: node.metadata.name, error });
    } finally {
      timer.cancel();
    }
  }

  async function round(signal: AbortSignal): Promise<void> {
    const all = [...nodes.list()];
    store.forgetAllBut(new Set(all.map(({ metadata }) => metadata.name)));
    const waiting = all[Symbol.iterator]();
    const lane = async (): Promise<void> => {
      for (const node of waiting) await one(node, signal);
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, lane));
    rounds.inc();
    lastRoundMs = clock.now();
  }

  return {
    get lastRoundMs() {
      return lastRoundMs;
    },
    async run(signal) {
      await nodes.whenSynced(signal);
      let isFirst = true;
      while (!signal.aborted) {
        const startMs = clock.monotonic();
        await round(signal);
        // A rate needs two looks: the second comes soon, so that there is something to tell.
        const gapMs = isFirst ? Math.min(firstGapMs, resolutionMs) : resolutionMs;
        isFirst = nodes.size === 0;
        await sleep(clock, Math.max(0, gapMs - (clock.monotonic() - startMs)), signal);
      }
    },
  };
}

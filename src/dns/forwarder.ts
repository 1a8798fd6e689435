// Owns asking upstreams on behalf of clients: one question at a time for all who ask it, answers kept for a while, bounded in every way.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { aged, DnsFormatError, inspectAnswer, type Question, type RelayedFacts } from '../wire/dns-message.ts';
import { exchange, type Upstream } from './exchange.ts';

export interface ForwarderOptions {
  readonly upstreams: readonly Upstream[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** For one try; default 2 s. */
  readonly timeoutMs?: number;
  /** Tries over all upstreams; default 3. */
  readonly attempts?: number;
  /** Questions under way; more are answered SERVFAIL. Default 1000. */
  readonly maxConcurrent?: number;
  /** Longest that an answer is kept; default 30 s. */
  readonly maxCacheSeconds?: number;
  /** Default 8 MiB. */
  readonly maxCacheBytes?: number;
}

interface Kept {
  readonly message: Buffer;
  readonly facts: RelayedFacts;
  readonly atMs: number;
  readonly untilMs: number;
}

export interface Relayed {
  readonly message: Buffer;
  readonly cached: boolean;
}

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #cache: LRUCache<string, Kept>;
  readonly #running = new Map<string, Promise<Kept | undefined>>();
  /** The upstream that answered last is asked first. */
  #preferred = 0;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#cache = new LRUCache({
      max: 10_000,
      maxSize: options.maxCacheBytes ?? 8 * 1024 * 1024,
      sizeCalculation: ({ message }) => message.length + 200,
    });
  }

  get running(): number {
    return this.#running.size;
  }

  /** An answer with this id; undefined when no upstream gave one. */
  async ask(question: Question, id: number, dnssecOk: boolean): Promise<Relayed | undefined> {
    // Spelled as asked: clients that vary the case against forgers want it back so.
    const key = `${question.name} ${question.type} ${question.class} ${dnssecOk}`;
    const nowMs = this.#options.clock.monotonic();
    const kept = this.#cache.get(key);
    if (kept !== undefined && kept.untilMs > nowMs)
      return { message: aged(kept.message, kept.facts, id, Math.trunc((nowMs - kept.atMs) / 1000)), cached: true };
    let running = this.#running.get(key);
    if (running === undefined) {
      if (this.#running.size >= (this.#options.maxConcurrent ?? 1000)) return undefined;
      running = this.#fetch(key, question, dnssecOk).finally(() => this.#running.delete(key));
      this.#running.set(key, running);
    }
    const fresh = await running;
    return fresh && { message: aged(fresh.message, fresh.facts, id, 0), cached: false };
  }

  async #fetch(key: string, question: Question, dnssecOk: boolean): Promise<Kept | undefined> {
    const message = await this.#tryAll(question, dnssecOk);
    if (message === undefined) return undefined;
    const facts = inspectAnswer(message);
    const atMs = this.#options.clock.monotonic();
    const seconds = Math.min(facts.ttlSeconds ?? 0, this.#options.maxCacheSeconds ?? 30);
    const kept = { message, facts, atMs, untilMs: atMs + seconds * 1000 };
    const worthKeeping = (facts.code === 0 || facts.code === 3) && !facts.truncated && seconds > 0;
    if (worthKeeping) this.#cache.set(key, kept);
    return kept;
  }

  async #tryAll(question: Question, dnssecOk: boolean): Promise<Buffer | undefined> {
    const { upstreams, clock, random, logger, timeoutMs = 2000, attempts = 3 } = this.#options;
    const options = { clock, random, timeoutMs, dnssecOk };
    for (let attempt = 0; attempt < attempts && upstreams.length > 0; attempt++) {
      const at = (this.#preferred + attempt) % upstreams.length;
      const upstream = upstreams[at]!;
      try {
        let message = await exchange('udp', upstream, question, options);
        if (inspectAnswer(message).truncated) message = await exchange('tcp', upstream, question, options);
        inspectAnswer(message);
        this.#preferred = at;
        return message;
      } catch (error) {
        // Broken answers count as none; anything else an upstream does is its failure, and the next one is asked.
        logger.debug('DNS upstream failed', {
          upstream: upstream.host,
          broken: error instanceof DnsFormatError,
          error,
        });
      }
    }
    return undefined;
  }
}

// Owns what is counted of credentials, certificates and bearer tokens: those remembered and those asked about.
import type { Clock } from '../../base/clock.ts';
import type { Histogram, MetricsRegistry } from '../../base/metrics.ts';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface TokenMetrics {
  /** The token was remembered. */
  hit(): void;
  /** It has to be asked about: what to call when the answer is there. `error`: none could be had. */
  miss(): (outcome: 'ok' | 'error') => void;
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

export function clientCertificateExpiration(registry: MetricsRegistry): Histogram {
  return registry.histogram(
    'apiserver_client_certificate_expiration_seconds',
    'How long the certificates of requests still last.',
    [
      ...[0, 30 * minute, hour, 2 * hour, 6 * hour, 12 * hour],
      ...[1, 2, 4, 7, 30, 90, 180, 360].map((days) => days * day),
    ],
  );
}

export interface AccountTokenMetrics {
  valid(): void;
  /** Used after the time at which its holder should have had another. */
  stale(): void;
  legacy(isAutomatic: boolean): void;
  /** Of an account, made with it, and no longer accepted. */
  invalidLegacy(): void;
}

export function accountTokenMetrics(registry: MetricsRegistry): AccountTokenMetrics {
  const prefix = 'serviceaccount_';
  const valid = registry.counter(`${prefix}valid_tokens_total`, 'Tokens of accounts that were accepted.');
  const stale = registry.counter(`${prefix}stale_tokens_total`, 'Those of them that should have been replaced.');
  const legacy = registry.counter(`${prefix}legacy_tokens_total`, 'Tokens in Secrets that were accepted.');
  const automatic = registry.counter(
    `${prefix}legacy_auto_token_uses_total`,
    'Those of them that were made with their account.',
  );
  const manual = registry.counter(`${prefix}legacy_manual_token_uses_total`, 'Those of them that somebody asked for.');
  const invalid = registry.counter(
    `${prefix}invalid_legacy_auto_token_uses_total`,
    'Uses of tokens made with their account that are marked as invalid.',
  );
  return {
    valid: () => valid.inc(),
    stale: () => stale.inc(),
    legacy(isAutomatic) {
      legacy.inc();
      (isAutomatic ? automatic : manual).inc();
    },
    invalidLegacy: () => invalid.inc(),
  };
}

export function tokenMetrics(registry: MetricsRegistry, clock: Clock): TokenMetrics {
  const cache = 'authentication_token_cache_';
  const requests = registry.counters(`${cache}request_total`, 'Bearer tokens looked up.', ['status']);
  const durations = registry.histograms(
    `${cache}request_duration_seconds`,
    'How long looking bearer tokens up took.',
    ['status'],
    buckets,
  );
  const fetches = registry.counters(`${cache}fetch_total`, 'Bearer tokens asked about.', ['status']);
  const active = registry.gauges(`${cache}active_fetch_count`, 'Bearer tokens being asked about.', ['status']);
  const hits = { requests: requests.of('hit'), duration: durations.of('hit') };
  const misses = { requests: requests.of('miss'), duration: durations.of('miss') };
  const inFlight = active.of('in_flight');
  // Every request asks for itself: none waits for another's answer.
  active.of('blocked').set(0);
  return {
    hit() {
      hits.requests.inc();
      // A look into a map: less than a clock could tell.
      hits.duration.observe(0);
    },
    miss() {
      const startMs = clock.monotonic();
      inFlight.add(1);
      return (outcome) => {
        inFlight.add(-1);
        misses.requests.inc();
        misses.duration.observe((clock.monotonic() - startMs) / 1000);
        fetches.of(outcome).inc();
      };
    },
  };
}

// Owns /healthz, /livez and /readyz: named checks, each answering by itself or in a list.
import type { MetricsRegistry } from '../base/metrics.ts';
import type { Clock } from '../base/clock.ts';
import type { Store } from '../store/store.ts';
import type { PathHandler } from './paths.ts';
import { page, plainText } from './paths.ts';
import type { ApiAnswer, ApiRequest } from './request.ts';

export interface HealthCheck {
  readonly name: string;
  readonly on: readonly ('healthz' | 'livez' | 'readyz')[];
  /** What is wrong, or nothing. */
  check(): string | undefined | Promise<string | undefined>;
}

const all = ['healthz', 'livez', 'readyz'] as const;

export function everywhere(name: string, check: HealthCheck['check']): HealthCheck {
  return { name, on: all, check };
}

const storeTimeoutMs = 2_000;
/** A shared store is asked no more often. */
const storeEveryMs = 1_000;

/** Whether the store answers. A store of this process is asked nothing: it fails with the process. */
export function storeCheck({
  store,
  clock,
  exclusive,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly exclusive: boolean;
}): HealthCheck['check'] {
  if (exclusive) return () => undefined;
  let last: { readonly atMs: number; readonly found: Promise<string | undefined> } | undefined;
  return () => {
    const nowMs = clock.monotonic();
    if (last === undefined || nowMs - last.atMs >= storeEveryMs) last = { atMs: nowMs, found: answers(store, clock) };
    return last.found;
  };
}

function answers(store: Store, clock: Clock): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = clock.after(storeTimeoutMs, () => resolve('the store does not answer'));
    store
      .range({ start: '/registry/health' }, { countOnly: true })
      .then(
        () => resolve(undefined),
        (error: unknown) => resolve(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => timer.cancel());
  });
}

/** `slis`: how each check fares, told at /metrics/slis. */
export function healthPaths(checks: readonly HealthCheck[], slis?: MetricsRegistry): PathHandler {
  const now = slis?.gauges(
    'kubernetes_healthcheck',
    'Whether a check found everything well when it was last made: 1 or 0.',
    ['name', 'type'],
  );
  const total = slis?.counters('kubernetes_healthchecks_total', 'Checks by what they found.', [
    'name',
    'status',
    'type',
  ]);
  const tell = (endpoint: string, name: string, isWell: boolean): void => {
    now?.of(name, endpoint).set(isWell ? 1 : 0);
    total?.of(name, isWell ? 'success' : 'error', endpoint).inc();
  };
  return (request) => {
    const parts = request.info.path.split('/').slice(1);
    const [endpoint, ...rest] = parts;
    if (endpoint !== 'healthz' && endpoint !== 'livez' && endpoint !== 'readyz') return undefined;
    const mine = checks.filter(({ on }) => on.includes(endpoint));
    if (rest.length === 0) return overall(endpoint, mine, request, tell);
    const one = mine.find(({ name }) => name === rest.join('/'));
    return one === undefined ? undefined : overall(endpoint, [one], request, tell, true);
  };
}

async function overall(
  endpoint: string,
  checks: readonly HealthCheck[],
  request: ApiRequest,
  tell: (endpoint: string, name: string, isWell: boolean) => void,
  single = false,
): Promise<ApiAnswer> {
  const excluded = new Set(request.query.getAll('exclude'));
  const lines: string[] = [];
  let failed = false;
  for (const { name, check } of checks) {
    if (!single && excluded.delete(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const problem = await check();
    tell(endpoint, name, problem === undefined);
    if (single && problem !== undefined) return plainText(`internal server error: ${problem}\n`, 500);
    if (problem === undefined) lines.push(`[+]${name} ok`);
    else {
      failed = true;
      lines.push(`[-]${name} failed: reason withheld`);
    }
  }
  if (!single && excluded.size > 0)
    lines.push(
      `warn: some health checks cannot be excluded: no matches for ${[...excluded].map((name) => `"${name}"`).join(', ')}`,
    );
  if (failed) return plainText(`${lines.join('\n')}\n${endpoint} check failed\n`, 500);
  const verbose = request.query.has('verbose') && !single;
  if (single) return page('ok');
  return plainText(verbose ? `${lines.join('\n')}\n${endpoint} check passed\n` : 'ok');
}

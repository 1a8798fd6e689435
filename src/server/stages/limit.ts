// Owns the bounds on requests under way without fairness: reads and writes apart; more than that are told to come back. Watches do not count.
import type { MetricsRegistry } from '../../base/metrics.ts';
import { statusError } from '../../api/status-error.ts';
import type { PathHandler } from '../paths.ts';
import type { Stage, Watcher } from '../pipeline.ts';
import type { ApiRequest } from '../request.ts';

export interface Limit {
  readonly stage: Stage;
  readonly watcher: Watcher;
  /** What it is doing now, for people. */
  readonly debug?: PathHandler;
  /** Called before metrics are told. */
  beforeScrape?(): void;
  /** What it does between requests. */
  run?(signal: AbortSignal): Promise<void>;
}

export interface InflightLimits {
  /** --max-requests-inflight; 0: no limit. */
  readonly reads: number;
  /** --max-mutating-requests-inflight; 0: no limit. */
  readonly writes: number;
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const longSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'log', 'proxy']);

/** Streams and tunnels hold no worker of the server. */
export function isTunnel({ info }: Pick<ApiRequest, 'info'>): boolean {
  return longSubresources.has(info.subresource);
}

/** Members of system:masters always get through: they are who can help. Requests of this process do not count. */
export function limitStage({ reads, writes }: InflightLimits, metrics?: MetricsRegistry): Limit {
  const limits = { readOnly: reads, mutating: writes };
  type Kind = keyof typeof limits;
  const underWay = { readOnly: 0, mutating: 0 };
  const counted = new WeakMap<ApiRequest, Kind>();
  const dropped = metrics?.counters('apiserver_dropped_requests_total', 'Requests that were told to come back.', [
    'request_kind',
  ]);
  const count = (kind: Kind, by: number): void => {
    underWay[kind] += by;
  };
  return {
    stage: {
      name: 'limit',
      run(request) {
        const { info, peer, user } = request;
        // Health checks must always get through.
        if (peer.user !== undefined || !info.isResource || info.verb === 'watch' || isTunnel(request)) return;
        const kind: Kind = readVerbs.has(info.verb) ? 'readOnly' : 'mutating';
        const limit = limits[kind];
        if (limit > 0 && underWay[kind] >= limit && !user.groups.includes('system:masters')) {
          dropped?.of(kind).inc();
          throw statusError('TooManyRequests', 'too many requests, please try again later', { retryAfterSeconds: 1 });
        }
        count(kind, 1);
        counted.set(request, kind);
      },
    },
    watcher: {
      finished(request) {
        const kind = counted.get(request);
        if (kind === undefined) return;
        counted.delete(request);
        count(kind, -1);
      },
    },
  };
}

// Owns what is counted of finding out who asks and whether they may: wrapped around the stages that do.
import type { Clock } from '../../base/clock.ts';
import type { Histogram, MetricsRegistry } from '../../base/metrics.ts';
import { isStatusError } from '../../api/status-error.ts';
import type { Stage } from '../pipeline.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';

const buckets = Array.from({ length: 15 }, (_, at) => 0.001 * 2 ** at);
const filterBuckets = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30];

function filterDuration(registry: MetricsRegistry, filter: string): Histogram {
  return registry
    .histograms('apiserver_request_filter_duration_seconds', 'How long the stages took.', ['filter'], filterBuckets)
    .of(filter);
}

/** Told under the name that upstream's filter for the same has. */
export function measuredFilter(
  stage: Stage,
  filter: 'audit' | 'constrainedimpersonation' | 'priorityandfairness',
  registry: MetricsRegistry | undefined,
  clock: Clock,
): Stage {
  if (registry === undefined) return stage;
  const duration = filterDuration(registry, filter);
  return around(stage, clock, (_request, _error, seconds) => duration.observe(seconds));
}

type Told = (request: ApiRequest, error: unknown, seconds: number) => void;

function around(stage: Stage, clock: Clock, tell: Told): Stage {
  async function later(request: ApiRequest, startMs: number, work: Promise<ApiAnswer | undefined | void>) {
    try {
      const answer = await work;
      tell(request, undefined, (clock.monotonic() - startMs) / 1000);
      return answer;
    } catch (error) {
      tell(request, error, (clock.monotonic() - startMs) / 1000);
      throw error;
    }
  }
  return {
    name: stage.name,
    run(request) {
      const startMs = clock.monotonic();
      let answer: ReturnType<Stage['run']>;
      try {
        answer = stage.run(request);
      } catch (error) {
        tell(request, error, (clock.monotonic() - startMs) / 1000);
        throw error;
      }
      if (answer instanceof Promise) return later(request, startMs, answer);
      tell(request, undefined, (clock.monotonic() - startMs) / 1000);
      return answer;
    },
  };
}

export function measuredAuthentication(stage: Stage, registry: MetricsRegistry | undefined, clock: Clock): Stage {
  if (registry === undefined) return stage;
  const users = registry.counters('authenticated_user_requests', 'Requests whose user is known.', ['username']);
  const attempts = registry.counters('authentication_attempts', 'Tries to find out who asks.', ['result']);
  const durations = registry.histograms('authentication_duration_seconds', 'How long that took.', ['result'], buckets);
  const filter = filterDuration(registry, 'authentication');
  return around(stage, clock, ({ user }, error, seconds) => {
    filter.observe(seconds);
    const result = error === undefined ? 'success' : isStatusError(error, 'Unauthorized') ? 'failure' : 'error';
    attempts.of(result).inc();
    durations.of(result).observe(seconds);
    if (result === 'success') users.of(shortName(user.name)).inc();
  });
}

/** Users' names are no labels: there are too many of them, and they are nobody's business. */
function shortName(name: string): string {
  if (name.toLowerCase() === 'admin') return 'admin';
  return name.includes('@') ? 'email_id' : 'other';
}

export function measuredAuthorization(stage: Stage, registry: MetricsRegistry | undefined, clock: Clock): Stage {
  if (registry === undefined) return stage;
  const attempts = registry.counters('authorization_attempts_total', 'Requests judged, by the judgement.', ['result']);
  const durations = registry.histograms('authorization_duration_seconds', 'How long that took.', ['result'], buckets);
  const filter = filterDuration(registry, 'authorization');
  return around(stage, clock, (_request, error, seconds) => {
    filter.observe(seconds);
    // Our authorizers allow or say nothing, as RBAC does.
    const result = error === undefined ? 'allowed' : isStatusError(error, 'Forbidden') ? 'no-opinion' : 'error';
    attempts.of(result).inc();
    durations.of(result).observe(seconds);
  });
}

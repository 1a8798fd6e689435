// Owns what is counted of requests that the server makes to others.
import type { Clock } from '../../base/clock.ts';
import type { Counter, Histogram, MetricsRegistry } from '../../base/metrics.ts';

const secondsBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizeBuckets = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];
/** Hosts are few, but webhooks of tenants may name any. */
const mostHosts = 1000;

export interface CalloutMetrics {
  /** One request; call what comes back once, with the status and the answer's bytes, or without when there was no answer. */
  began(host: string, method: string, bytes: number): (status?: number, bytes?: number) => void;
}

interface Children {
  readonly duration: Histogram;
  readonly sent: Histogram;
  readonly received: Histogram;
  readonly byCode: Map<string, Counter>;
}

export function calloutMetrics(registry: MetricsRegistry, clock: Clock): CalloutMetrics {
  const labels = ['host', 'verb'];
  const prefix = 'rest_client_';
  const durations = registry.histograms(
    `${prefix}request_duration_seconds`,
    'How long requests to others took.',
    labels,
    secondsBuckets,
  );
  const sent = registry.histograms(`${prefix}request_size_bytes`, 'Bytes of requests to others.', labels, sizeBuckets);
  const received = registry.histograms(`${prefix}response_size_bytes`, 'Bytes of their answers.', labels, sizeBuckets);
  const total = registry.counters(`${prefix}requests_total`, 'Requests to others, by the code of the answer.', [
    'code',
    'host',
    'method',
  ]);
  const known = new Map<string, Children>();
  return {
    began(host, method, bytes) {
      const name = `${method} ${host}`;
      let mine = known.get(name);
      if (mine === undefined) {
        const told = known.size < mostHosts ? host : 'other';
        mine = {
          duration: durations.of(told, method),
          sent: sent.of(told, method),
          received: received.of(told, method),
          byCode: new Map(),
        };
        if (known.size < mostHosts) known.set(name, mine);
      }
      const { duration, byCode } = mine;
      const startMs = clock.monotonic();
      mine.sent.observe(bytes);
      const { received: sizes } = mine;
      return (status, answered) => {
        duration.observe((clock.monotonic() - startMs) / 1000);
        if (answered !== undefined) sizes.observe(answered);
        const code = status === undefined ? '<error>' : String(status);
        let counter = byCode.get(code);
        if (counter === undefined)
          byCode.set(code, (counter = total.of(code, known.has(name) ? host : 'other', method)));
        counter.inc();
      };
    },
  };
}

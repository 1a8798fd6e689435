// Owns what is counted of rules in CEL of custom kinds: how long compiling and running them takes.
import type { Clock } from '../../base/clock.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { RuleTimes } from '../custom/rules.ts';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function celMetrics(registry: MetricsRegistry, clock: Clock): RuleTimes {
  const timed = (name: string, help: string): RuleTimes['compiled'] => {
    const histogram = registry.histogram(`apiserver_cel_${name}_duration_seconds`, help, buckets);
    return (work) => {
      const startMs = clock.monotonic();
      try {
        return work();
      } finally {
        histogram.observe((clock.monotonic() - startMs) / 1000);
      }
    };
  };
  return {
    compiled: timed('compilation', 'How long compiling rules in CEL took.'),
    evaluated: timed('evaluation', 'How long running rules in CEL took.'),
  };
}

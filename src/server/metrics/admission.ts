// Owns what is counted of admission: each plugin and each of the two steps, by operation.
import type { Clock } from '../../base/clock.ts';
import type { Histogram, MetricsRegistry } from '../../base/metrics.ts';

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

type Step = 'admit' | 'validate';

/** Wraps what is done for each request, once: nothing is made anew for a measurement. */
export interface AdmissionMetrics {
  /** `work` of the plugin `name`, or of the whole step when there is no name. */
  measured<A extends { readonly operation: string }, B>(
    name: string | undefined,
    step: Step,
    work: (request: A, parts: B) => void | Promise<void>,
  ): (request: A, parts: B) => void | Promise<void>;
}

/** What upstream calls an age of quantiles. */
const summaryMaxAgeMs = 5 * 3_600_000;

interface Outcomes {
  readonly done: Histogram;
  readonly rejected: Histogram;
}

export function admissionMetrics(registry: MetricsRegistry, clock: Clock): AdmissionMetrics {
  const plugins = registry.histograms(
    'apiserver_admission_controller_admission_duration_seconds',
    'How long plugins took.',
    ['name', 'operation', 'rejected', 'type'],
    buckets,
  );
  const steps = registry.histograms(
    'apiserver_admission_step_admission_duration_seconds',
    'How long the steps of admission took.',
    ['operation', 'rejected', 'type'],
    buckets,
  );
  const shares = registry.summaries(
    'apiserver_admission_step_admission_duration_seconds_summary',
    'How long the steps of admission took, in quantiles.',
    ['operation', 'rejected', 'type'],
    { quantiles: [0.5, 0.9, 0.99], maxAgeMs: summaryMaxAgeMs, now: () => clock.monotonic() },
  );
  return {
    measured(name, step, work) {
      const known = new Map<string, Outcomes>();
      const outcomesOf = (operation: string): Outcomes => {
        let found = known.get(operation);
        if (found === undefined) {
          const of = (rejected: 'true' | 'false'): Histogram =>
            name === undefined
              ? both(steps.of(operation, rejected, step), shares.of(operation, rejected, step))
              : plugins.of(name, operation, rejected, step);
          // What never happened is not told of.
          known.set(
            operation,
            (found = lazily(
              () => of('false'),
              () => of('true'),
            )),
          );
        }
        return found;
      };
      const tell = (operation: string, startMs: number, isRejected: boolean): void => {
        const outcomes = outcomesOf(operation);
        (isRejected ? outcomes.rejected : outcomes.done).observe((clock.monotonic() - startMs) / 1000);
      };
      async function later(operation: string, startMs: number, waits: Promise<void>): Promise<void> {
        try {
          await waits;
        } catch (error) {
          tell(operation, startMs, true);
          throw error;
        }
        tell(operation, startMs, false);
      }
      return (request, parts) => {
        const { operation } = request;
        const startMs = clock.monotonic();
        let waits: void | Promise<void>;
        try {
          waits = work(request, parts);
        } catch (error) {
          tell(operation, startMs, true);
          throw error;
        }
        if (waits !== undefined) return later(operation, startMs, waits);
        tell(operation, startMs, false);
        return undefined;
      };
    },
  };
}

function both(one: Histogram, other: Histogram): Histogram {
  return {
    observe(value) {
      one.observe(value);
      other.observe(value);
    },
  };
}

function lazily(done: () => Histogram, rejected: () => Histogram): Outcomes {
  let ok: Histogram | undefined;
  let refused: Histogram | undefined;
  return {
    get done() {
      return (ok ??= done());
    },
    get rejected() {
      return (refused ??= rejected());
    },
  };
}

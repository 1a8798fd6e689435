// Owns what is counted of admission: each plugin and each of the two steps, by operation.
import type { Clock } from '../../base/clock.ts';
import type { Family, Histogram, MetricsRegistry } from '../../base/metrics.ts';

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

type Step = 'admit' | 'validate';
type Work = () => void | Promise<void>;

export interface AdmissionMetrics {
  /** Does `work` of the plugin `name`, or of the whole step when there is no name. */
  measure(name: string | undefined, step: Step, operation: string, work: Work): void | Promise<void>;
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
  const known = new Map<string, Histogram>();
  const child = (family: Family<Histogram>, ...labels: string[]): Histogram => {
    const key = labels.join(' ');
    let found = known.get(key);
    if (found === undefined) known.set(key, (found = family.of(...labels)));
    return found;
  };
  return {
    measure(name, step, operation, work) {
      const startMs = clock.monotonic();
      const tell = (rejected: boolean): void => {
        const labels = [operation, String(rejected), step];
        const histogram = name === undefined ? child(steps, ...labels) : child(plugins, name, ...labels);
        histogram.observe((clock.monotonic() - startMs) / 1000);
      };
      const refused = (error: unknown): never => {
        tell(true);
        throw error;
      };
      let waits: void | Promise<void>;
      try {
        waits = work();
      } catch (error) {
        return refused(error);
      }
      if (waits !== undefined) return waits.then(() => tell(false), refused);
      tell(false);
      return undefined;
    },
  };
}

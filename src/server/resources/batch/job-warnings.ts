// Owns what is told of jobs that are accepted but unwise; of cron jobs, too.
import type { JobSpec } from '../../../api/generated/batch.v1.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import { isNews, podSpecWarnings } from '../core/pod-warnings.ts';

const manyCompletions = 100_000;
const manyParallel = 10_000;

/** `path` is of the job's spec. Told when the job is made, and when it is changed. */
export function jobWarnings(
  path: string,
  obj: Frozen<KubeObject>,
  prev: Frozen<KubeObject> | undefined,
  spec: Frozen<JobSpec> | undefined,
): string[] {
  if (!isNews(obj, prev)) return [];
  const { completionMode, completions = 0, parallelism = 0, template } = spec ?? {};
  const isLarge = completionMode === 'Indexed' && completions > manyCompletions && parallelism > manyParallel;
  return [
    ...(isLarge
      ? [
          `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...podSpecWarnings(`${path}.template.`, template?.metadata, template?.spec),
  ];
}

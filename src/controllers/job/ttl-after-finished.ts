// Owns deleting finished Jobs when their ttlSecondsAfterFinished is over.
import type { Frozen } from '../../api/meta.ts';
import type { Job } from '../../api/generated/batch.v1.ts';
import { jobs } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { maybeMillisOf } from '../../api/time.ts';
import { type Controller, type ControllerContext, self } from '../framework/controller.ts';

/** Milliseconds until the job is to go; undefined when it has no such time or is not finished. Pure. */
function msUntilExpiry(job: Frozen<Job>, nowMs: number): number | undefined {
  const seconds = job.spec.ttlSecondsAfterFinished;
  if (seconds === undefined || isTerminating(job)) return undefined;
  const end = job.status?.conditions?.find(
    ({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'),
  );
  const endMs = maybeMillisOf(end?.lastTransitionTime);
  return endMs === undefined ? undefined : endMs + seconds * 1000 - nowMs;
}

export function ttlAfterFinishedController(context: ControllerContext): Controller {
  const cache = context.informers.informer(jobs);
  const writer = context.informers.writer(jobs);
  return {
    name: 'ttl-after-finished-controller',
    watches: [self(cache)],
    async reconcile(key, signal) {
      const job = cache.get(key);
      const leftMs = job && msUntilExpiry(job, context.clock.now());
      if (!job || leftMs === undefined) return undefined;
      if (leftMs > 0) return { afterMs: leftMs };
      // Just before, the ttl may have been made longer: the version seen is the one that goes.
      const { uid, resourceVersion } = job.metadata;
      const preconditions = { uid, resourceVersion };
      try {
        await writer.delete(key, { propagationPolicy: 'Foreground', preconditions, signal });
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
      return undefined;
    },
  };
}

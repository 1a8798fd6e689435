// Owns what a job's pods look like: tracking finalizer, and for indexed jobs their index in name, labels and environment. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Job } from '../../api/generated/batch.v1.ts';
import type { Container, Pod } from '../../api/generated/core.v1.ts';
import { jobs } from '../../api/generated/resources.ts';
import { type NewPod, podFromTemplate } from '../framework/pod-control.ts';
import {
  failureCountAnnotation,
  failuresOfIndex,
  ignoredCountAnnotation,
  indexAnnotation,
  indexOf,
  trackingFinalizer,
} from './plan.ts';
import { judgeFailure } from './failure-policy.ts';

/** Longest host name less the generated suffix. */
const maxNamePrefix = 57;

export function podOf(job: Frozen<Job>): NewPod {
  const pod = podFromTemplate(jobs, job, job.spec.template);
  pod.metadata.finalizers = [...(pod.metadata.finalizers ?? []), trackingFinalizer];
  return pod;
}

/** `failed` is the newest failed pod of this index, whose counts go on. */
export function indexedPodOf(job: Frozen<Job>, index: number, failed: Frozen<Pod> | undefined): NewPod {
  const pod = podOf(job);
  const { metadata } = pod;
  const tail = `-${index}-`;
  metadata.generateName = job.metadata.name.slice(0, maxNamePrefix - tail.length) + tail;
  metadata.labels = { ...metadata.labels, [indexAnnotation]: String(index) };
  metadata.annotations = { ...metadata.annotations, [indexAnnotation]: String(index) };
  if (job.spec.backoffLimitPerIndex !== undefined) Object.assign(metadata.annotations, countsAfter(job, failed));
  const env = {
    name: 'JOB_COMPLETION_INDEX',
    valueFrom: { fieldRef: { fieldPath: `metadata.labels['${indexAnnotation}']` } },
  };
  const withIndex = (container: Container): Container => ({
    ...container,
    env: [...(container.env ?? []), ...(container.env?.some(({ name }) => name === env.name) ? [] : [env])],
  });
  const { containers, initContainers } = pod.spec;
  pod.spec = {
    ...pod.spec,
    hostname: pod.spec.hostname ?? `${job.metadata.name}-${index}`,
    containers: containers.map(withIndex),
    ...(initContainers && { initContainers: initContainers.map(withIndex) }),
  };
  return pod;
}

function countsAfter(job: Frozen<Job>, failed: Frozen<Pod> | undefined): Record<string, string> {
  const [counted, ignored] = failed
    ? [failuresOfIndex(failed, failureCountAnnotation), failuresOfIndex(failed, ignoredCountAnnotation)]
    : [0, 0];
  const isIgnored = failed !== undefined && judgeFailure(job, failed).action === 'Ignore';
  const counts = failed === undefined ? [0, 0] : isIgnored ? [counted, ignored + 1] : [counted + 1, ignored];
  return {
    [failureCountAnnotation]: String(counts[0]),
    ...(counts[1]! > 0 && { [ignoredCountAnnotation]: String(counts[1]) }),
  };
}

/** The newest failed pod of each index. */
export function lastFailures(pods: readonly Frozen<Pod>[]): Map<number, Frozen<Pod>> {
  const result = new Map<number, Frozen<Pod>>();
  for (const pod of pods) {
    if (pod.status?.phase !== 'Failed' && pod.metadata.deletionTimestamp === undefined) continue;
    const index = indexOf(pod);
    const known = result.get(index);
    const rank = (one: Frozen<Pod>) =>
      failuresOfIndex(one, failureCountAnnotation) + failuresOfIndex(one, ignoredCountAnnotation);
    if (!known || rank(pod) >= rank(known)) result.set(index, pod);
  }
  return result;
}

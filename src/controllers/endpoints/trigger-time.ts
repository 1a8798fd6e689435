// Owns the time of the change that led to an endpoints update (annotation last-change-trigger-time), by which clients measure programming latency.
import { type Frozen, keyText, type ObjectKey } from '../../api/meta.ts';
import type { Pod, Service } from '../../api/generated/core.v1.ts';
import { podCondition } from '../../api/pod-readiness.ts';

export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';

interface Seen {
  service: string;
  readonly pods: Map<string, string>;
}

export class TriggerTimes {
  readonly #seen = new Map<string, Seen>();

  /** The earliest change since the last call; undefined when neither a pod's readiness nor the service itself is new. */
  next(service: Frozen<Service>, pods: readonly Frozen<Pod>[]): string | undefined {
    const key = keyText({ namespace: service.metadata.namespace ?? '', name: service.metadata.name });
    const before = this.#seen.get(key);
    const now: Seen = { service: service.metadata.creationTimestamp, pods: new Map() };
    this.#seen.set(key, now);
    const changes: string[] = [];
    if (now.service > (before?.service ?? '')) changes.push(now.service);
    for (const pod of pods) {
      const time = podCondition(pod, 'Ready')?.lastTransitionTime;
      if (time === undefined) continue;
      now.pods.set(pod.metadata.uid, time);
      if (time > (before?.pods.get(pod.metadata.uid) ?? '')) changes.push(time);
    }
    return changes.sort()[0];
  }

  forget(key: ObjectKey): void {
    this.#seen.delete(keyText(key));
  }
}

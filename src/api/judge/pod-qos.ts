// Owns the quality-of-service class of a pod: what it may expect when its node runs short.
import type { PodSpec } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { nano } from '../validation/quantities.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const counted = ['cpu', 'memory'] as const;

/** Pod-level resources decide where there are any; else all containers but ephemeral ones together. */
export function qosClassOf(spec: Frozen<PodSpec>): QosClass {
  const level = spec.resources;
  const hasLevel = counted.some((name) => level?.requests?.[name] !== undefined || level?.limits?.[name] !== undefined);
  const units = hasLevel
    ? [level!]
    : [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ resources }) => resources ?? {});
  let any = false;
  let guaranteed = true;
  for (const { requests, limits } of units) {
    for (const name of counted) {
      const request = nano(requests?.[name]);
      const limit = nano(limits?.[name]);
      if (request > 0n || limit > 0n) any = true;
      if (limit <= 0n || (request > 0n && request !== limit)) guaranteed = false;
    }
  }
  if (!any) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

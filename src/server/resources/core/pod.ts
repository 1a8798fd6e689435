// Owns the kind Pod: its strategy, what it can be selected by, its subresources. The rules themselves stand beside.
import type { Pod } from '../../../api/generated/core.v1.ts';
import { pods } from '../../../api/generated/resources.ts';
import { applyPodOnlyDefaults, applyPodSpecDefaults } from '../../../api/defaults/pod-spec.ts';
import { type Frozen, thaw } from '../../../api/meta.ts';
import { validateProfilesAgree } from '../../../api/validation/pod-annotations.ts';
import { Problems } from '../../../api/validation/problems.ts';
import type { FieldError } from '../../../api/status-error.ts';
import { defineResource, keep, raiseGeneration } from '../define.ts';
import { podColumns } from './pod-columns.ts';
import { dropDisabledFields, preparePodForCreate } from './pod-prepare.ts';
import { noPodSpec, validatePodItself } from './pod-rules.ts';
import { ephemeralContainers, resize, status } from './pod-subresources.ts';
import { validatePodChange } from './pod-update.ts';
import { podWarnings } from './pod-warnings.ts';

function validate(pod: Frozen<Pod>): FieldError[] {
  const problems = new Problems();
  const spec = pod.spec ?? noPodSpec;
  validatePodItself(problems, pod);
  if (spec.ephemeralContainers?.length) problems.forbidden('spec.ephemeralContainers', 'cannot be set on create');
  if (spec.nodeName && spec.schedulingGates?.length)
    problems.forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
  validateProfilesAgree(problems, 'spec', pod.metadata.annotations, spec);
  return problems.list;
}

function validateUpdate(next: Frozen<Pod>, prev: Frozen<Pod>): FieldError[] {
  const problems = new Problems();
  validatePodItself(problems, next);
  validatePodChange(problems, next, prev);
  return problems.distinct();
}

/** Pods that will never run are gone at once; others get the time asked for, by default their own. */
function gracePeriodSeconds(pod: Frozen<Pod>, requested: number | undefined): number {
  const wanted = requested ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  if (!pod.spec.nodeName) return 0;
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') return 0;
  return wanted < 0 ? 1 : wanted;
}

/** The single address and the first of the list are one: the single one wins. */
function alignAddresses(now: Pod['status']): void {
  if (now.podIP && now.podIPs?.[0]?.ip !== now.podIP) now.podIPs = [{ ip: now.podIP }];
  else if (!now.podIP && now.podIPs?.[0]?.ip) now.podIP = now.podIPs[0].ip;
}

const completed: Readonly<Record<string, string>> = {
  Succeeded: 'The pod has completed successfully.',
  Failed: 'The pod failed.',
};

function rowConditions({
  status: now,
}: Frozen<Pod>): { type: string; status: string; reason: string; message: string }[] {
  const message = completed[now?.phase ?? ''];
  return message === undefined ? [] : [{ type: 'Completed', status: 'True', reason: now!.phase!, message }];
}

const text =
  (read: (pod: Frozen<Pod>) => string | undefined) =>
  (pod: Frozen<Pod>): string =>
    read(pod) ?? '';

export const pod = defineResource<Pod>(pods, {
  shortNames: ['po'],
  categories: ['all'],
  applyDefaults(obj) {
    obj.spec ??= { containers: [] };
    applyPodSpecDefaults(obj.spec);
    applyPodOnlyDefaults(obj.spec);
    if (obj.status !== undefined) alignAddresses(obj.status);
  },
  prepareForCreate: preparePodForCreate,
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    // Clients that do not know of them leave them as they are.
    if (next.spec.resources === undefined && prev.spec.resources !== undefined)
      next.spec.resources = thaw(prev.spec.resources) as NonNullable<Pod['spec']['resources']>;
    dropDisabledFields(next.spec);
    raiseGeneration(next, prev);
  },
  validate,
  validateUpdate,
  validateUpdateAlone: true,
  warnings: podWarnings,
  indexed: ['spec.nodeName'],
  selectable: {
    'spec.nodeName': text(({ spec }) => spec.nodeName),
    'spec.restartPolicy': text(({ spec }) => spec.restartPolicy),
    'spec.schedulerName': text(({ spec }) => spec.schedulerName),
    'spec.serviceAccountName': text(({ spec }) => spec.serviceAccountName),
    'spec.hostNetwork': ({ spec }) => String(spec.hostNetwork ?? false),
    'status.phase': text(({ status: now }) => now?.phase),
    'status.podIP': text(({ status: now }) => now?.podIPs?.[0]?.ip ?? now?.podIP),
    // Known to clients, but pods have no such field to select by.
    'status.podIPs': () => '',
    'spec.host': text(({ spec }) => spec.nodeName),
    'status.nominatedNodeName': text(({ status: now }) => now?.nominatedNodeName),
  },
  columns: podColumns,
  rowConditions,
  subresources: { status, ephemeralcontainers: ephemeralContainers, resize },
  deleteReturnsObject: true,
  gracePeriodSeconds,
});

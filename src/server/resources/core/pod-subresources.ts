// Owns the parts of pods that are written by themselves: status, ephemeral containers, resources in place.
import { schemaOfType } from '../../../api/schema/builtin.ts';
import { applyPodLevelResources } from '../../../api/defaults/pod-spec.ts';
import type { Container, Pod, ResourceRequirements } from '../../../api/generated/core.v1.ts';
import { type Frozen, thaw } from '../../../api/meta.ts';
import { mirrorAnnotation } from '../../../api/validation/pod-annotations.ts';
import { qosClassOf } from '../../../api/judge/pod-qos.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same, sameAs } from '../../../api/validation/same.ts';
import type { Subresource } from '../../resource.ts';
import { keep, raiseGeneration } from '../define.ts';
import { validatePodItself } from './pod-rules.ts';
import { validatePodStatusChange } from './pod-status.ts';
import { validateAnnotationChange } from './pod-update.ts';

export const status: Subresource<Pod> = {
  prepareForUpdate(next, prev) {
    keep(next, prev, 'spec');
    keep(next.metadata, prev.metadata as Frozen<Pod['metadata']>, 'ownerReferences', 'deletionTimestamp');
    next.status ??= {};
    const before = prev.status ?? {};
    if (!next.status.qosClass && before.qosClass) next.status.qosClass = before.qosClass;
    if (!next.status.observedGeneration && before.observedGeneration)
      next.status.observedGeneration = before.observedGeneration;
    for (const condition of next.status.conditions ?? []) {
      if (condition.observedGeneration) continue;
      const old = before.conditions?.find(({ type }) => type === condition.type)?.observedGeneration;
      if (old) condition.observedGeneration = old;
    }
  },
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateAnnotationChange(problems, next, prev);
    validatePodStatusChange(problems, next, prev);
    return problems.list;
  },
};

/** Everything but `take`s fields is as it was. */
function onlySpec(next: Pod, prev: Frozen<Pod>, take: (from: Pod['spec'], to: Pod['spec']) => void): void {
  const wanted = next.spec;
  const { name, namespace, uid, resourceVersion, managedFields } = next.metadata;
  const stored = thaw<Pod>(prev);
  next.spec = stored.spec;
  if (stored.status !== undefined) next.status = stored.status;
  next.metadata = { ...stored.metadata, name, uid, resourceVersion };
  if (namespace !== undefined) next.metadata.namespace = namespace;
  if (managedFields !== undefined) next.metadata.managedFields = managedFields;
  take(wanted, next.spec);
  raiseGeneration(next, prev);
}

export const ephemeralContainers: Subresource<Pod> = {
  hasTable: false,
  prepareForUpdate(next, prev) {
    onlySpec(next, prev, (from, to) => {
      if (from.ephemeralContainers === undefined) delete to.ephemeralContainers;
      else to.ephemeralContainers = from.ephemeralContainers;
    });
  },
  validateUpdate(next, prev) {
    const problems = new Problems();
    if (prev.metadata.annotations?.[mirrorAnnotation] !== undefined) {
      problems.forbidden('[]', 'static pods do not support ephemeral containers');
      return problems.list;
    }
    validatePodItself(problems, next);
    validateAnnotationChange(problems, next, prev);
    for (const old of prev.spec.ephemeralContainers ?? []) {
      const now = next.spec.ephemeralContainers?.find(({ name }) => name === old.name);
      if (now === undefined) problems.forbidden('spec.ephemeralContainers', `${old.name} may not be removed`);
      else if (!same(now, old)) problems.forbidden('spec.ephemeralContainers', `${old.name} may not be changed`);
    }
    return problems.list;
  },
};

const containerLists = ['containers', 'initContainers'] as const;

export const resize: Subresource<Pod> = {
  hasTable: false,
  prepareForUpdate(next, prev) {
    onlySpec(next, prev, (from, to) => {
      for (const list of containerLists) {
        const wanted = from[list] ?? [];
        const stored = to[list] ?? [];
        // Missing containers are refused by validation, which must see that they are missing.
        const kept = wanted.map((container) => withResources(container, stored));
        if (kept.length > 0 || stored.length > 0) to[list] = kept;
      }
      if (from.resources !== undefined) to.resources = from.resources;
      applyPodLevelResources(to);
    });
  },
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateResize(problems, next, prev);
    return problems.list;
  },
};

function withResources(wanted: Container, stored: readonly Container[]): Container {
  const own = stored.find(({ name }) => name === wanted.name);
  if (own === undefined) return wanted;
  const { resizePolicy: _, ...rest } = own;
  return {
    ...rest,
    resources: wanted.resources ?? {},
    ...(wanted.resizePolicy !== undefined && { resizePolicy: wanted.resizePolicy }),
  };
}

function validateResize(problems: Problems, next: Frozen<Pod>, prev: Frozen<Pod>): void {
  if (prev.metadata.annotations?.[mirrorAnnotation] !== undefined)
    return problems.forbidden('[]', 'static pods cannot be resized');
  if (prev.spec.os?.name === 'windows') return problems.forbidden('[]', 'windows pods cannot be resized');
  validatePodItself(problems, next);
  for (const list of containerLists)
    if ((next.spec[list]?.length ?? 0) !== (prev.spec[list]?.length ?? 0)) {
      problems.forbidden(`spec.${list}`, 'containers may not be added or removed by resizing');
      return;
    }
  if (qosClassOf(next.spec) !== (prev.status?.qosClass || qosClassOf(prev.spec)))
    problems.invalid('spec', qosClassOf(next.spec), 'the QoS class may not change as a result of resizing');
  for (const list of containerLists)
    next.spec[list]?.forEach((container, at) => {
      const old = prev.spec[list]![at]!;
      validateKept(problems, `spec.${list}[${at}].resources`, container.resources, old.resources);
    });
  validateKept(problems, 'spec.resources', next.spec.resources, prev.spec.resources);
  if (!sameAs(schemaOfType('core.v1.PodSpec'), maskAmounts(next.spec, prev.spec), prev.spec))
    problems.forbidden('spec', 'only cpu and memory resources are mutable');
}

/** Amounts may change but not vanish. */
function validateKept(
  problems: Problems,
  path: string,
  next: Frozen<ResourceRequirements> | undefined,
  prev: Frozen<ResourceRequirements> | undefined,
): void {
  for (const field of ['requests', 'limits'] as const)
    for (const name of ['cpu', 'memory'])
      if (prev?.[field]?.[name] !== undefined && next?.[field]?.[name] === undefined)
        problems.forbidden(`${path}.${field}`, `resource ${field} cannot be removed`);
}

/** The new spec with amounts of cpu and memory as they were. */
function maskAmounts(next: Frozen<Pod['spec']>, prev: Frozen<Pod['spec']>): Pod['spec'] {
  const masked = thaw<Pod['spec']>(next);
  for (const list of containerLists)
    masked[list]?.forEach((container, at) => {
      container.resources = maskResources(container.resources, prev[list]![at]!.resources) ?? {};
    });
  const podWide = maskResources(masked.resources, prev.resources);
  if (podWide !== undefined) masked.resources = podWide;
  return masked;
}

function maskResources(
  next: ResourceRequirements | undefined,
  prev: Frozen<ResourceRequirements> | undefined,
): ResourceRequirements | undefined {
  if (next === undefined) return undefined;
  const masked: ResourceRequirements = { ...next };
  for (const field of ['requests', 'limits'] as const) {
    const { cpu: _, memory: __, ...others } = masked[field] ?? {};
    const { cpu, memory } = prev?.[field] ?? {};
    const kept = { ...others, ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
    if (Object.keys(kept).length > 0) masked[field] = kept;
    else delete masked[field];
  }
  return masked;
}

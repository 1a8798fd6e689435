// Owns what may change in a pod that exists: images, deadlines, tolerations, gates, and little else.
import { schemaOfType } from '../../../api/schema/builtin.ts';
import type {
  Container,
  NodeAffinity,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  Toleration,
} from '../../../api/generated/core.v1.ts';
import { type Frozen, thaw } from '../../../api/meta.ts';
import { appArmorPrefix, mirrorAnnotation, validatePodAnnotations } from '../../../api/validation/pod-annotations.ts';
import { qosClassOf } from '../../../api/judge/pod-qos.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { same, sameAs } from '../../../api/validation/same.ts';
import { validateTolerations } from '../../../api/validation/scheduling.ts';

export function validatePodChange(problems: Problems, next: Frozen<Pod>, prev: Frozen<Pod>): void {
  validateAnnotationChange(problems, next, prev);
  for (const field of ['containers', 'initContainers'] as const)
    if (!validateImages(problems, `spec.${field}`, next.spec[field] ?? [], prev.spec[field] ?? [])) return;
  if (!validateDeadline(problems, next.spec.activeDeadlineSeconds, prev.spec.activeDeadlineSeconds)) return;
  validateTolerationChange(problems, next.spec.tolerations ?? [], prev.spec.tolerations ?? []);
  validateGateRemoval(problems, next.spec, prev.spec);
  const shape = schemaOfType('core.v1.PodSpec');
  if (sameAs(shape, next.spec, prev.spec)) return;
  if (qosClassOf(next.spec) !== (prev.status?.qosClass ?? qosClassOf(prev.spec)))
    problems.invalid('metadata', next.status?.qosClass, 'Pod QoS is immutable');
  const masked = maskChangeable(next.spec, prev.spec);
  if ((prev.spec.schedulingGates?.length ?? 0) > 0) validateGatedChange(problems, masked, prev.spec);
  if (!sameAs(shape, masked, prev.spec))
    problems.forbidden(
      'spec',
      'only images, activeDeadlineSeconds, added tolerations and removed scheduling gates may change',
    );
}

/** AppArmor and mirror annotations are for life. */
export function validateAnnotationChange(problems: Problems, next: Frozen<Pod>, prev: Frozen<Pod>): void {
  const after = next.metadata.annotations ?? {};
  const before = prev.metadata.annotations ?? {};
  const fixed = (key: string): boolean => key.startsWith(appArmorPrefix) || key === mirrorAnnotation;
  for (const key in before)
    if (fixed(key) && after[key] !== before[key])
      problems.forbidden(`metadata.annotations[${key}]`, 'may not remove or update this annotation');
  for (const key in after)
    if (fixed(key) && before[key] === undefined)
      problems.forbidden(`metadata.annotations[${key}]`, 'may not add this annotation');
  validatePodAnnotations(problems, 'metadata.annotations', next.metadata.annotations, next.spec);
}

/** False: containers came or went, and nothing more can be said. */
function validateImages(
  problems: Problems,
  path: string,
  next: readonly Frozen<Container>[],
  prev: readonly Frozen<Container>[],
): boolean {
  if (next.length !== prev.length) {
    problems.forbidden(path, 'pod updates may not add or remove containers');
    return false;
  }
  next.forEach(({ image = '' }, at) => {
    if (image === '') problems.required(`${path}[${at}].image`);
    if (image.trim() !== image)
      problems.invalid(`${path}[${at}].image`, image, 'must not have leading or trailing whitespace');
  });
  return true;
}

/** A deadline may be set, and shortened. */
function validateDeadline(problems: Problems, next: number | undefined, prev: number | undefined): boolean {
  const field = 'spec.activeDeadlineSeconds';
  if (next === undefined) {
    if (prev !== undefined) problems.invalid(field, next, 'must not update from a positive integer to nil value');
    return true;
  }
  if (next < 0 || next > 2147483647) problems.invalid(field, next, 'must be between 0 and 2147483647, inclusive');
  else if (prev !== undefined && prev < next)
    problems.invalid(field, next, 'must be less than or equal to previous value');
  else return true;
  return false;
}

function validateTolerationChange(
  problems: Problems,
  next: readonly Frozen<Toleration>[],
  prev: readonly Frozen<Toleration>[],
): void {
  const kept = prev.every((old) =>
    next.some((now) => same({ ...now, tolerationSeconds: 0 }, { ...old, tolerationSeconds: 0 })),
  );
  if (!kept)
    return problems.forbidden(
      'spec.tolerations',
      'existing toleration can not be modified except its tolerationSeconds',
    );
  validateTolerations(problems, 'spec.tolerations', next);
}

function validateGateRemoval(problems: Problems, next: Frozen<PodSpec>, prev: Frozen<PodSpec>): void {
  const before = new Set(prev.schedulingGates?.map(({ name }) => name));
  next.schedulingGates?.forEach(({ name }, at) => {
    if (!before.has(name))
      problems.forbidden(`spec.schedulingGates[${at}].name`, `only deletion is allowed, but found new gate '${name}'`);
  });
}

/** The new spec with everything that may change put back. */
function maskChangeable(next: Frozen<PodSpec>, prev: Frozen<PodSpec>): PodSpec {
  const masked = thaw<PodSpec>(next);
  const before = prev as PodSpec;
  for (const field of ['containers', 'initContainers'] as const)
    masked[field]?.forEach((container, at) => {
      const { image } = before[field]![at]!;
      if (image === undefined) delete container.image;
      else container.image = image;
    });
  copyField(masked, before, 'activeDeadlineSeconds');
  copyField(masked, before, 'schedulingGates');
  copyField(masked, before, 'tolerations');
  // Pods of old may have a negative period, which can only become 1.
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && masked.terminationGracePeriodSeconds === 1)
    copyField(masked, before, 'terminationGracePeriodSeconds');
  return masked;
}

function copyField<K extends keyof PodSpec>(target: PodSpec, source: PodSpec, field: K): void {
  if (source[field] === undefined) delete target[field];
  else target[field] = source[field];
}

/** A pod that waits at a gate may be confined further: more node selectors, narrower node affinity. */
function validateGatedChange(problems: Problems, masked: PodSpec, prev: Frozen<PodSpec>): void {
  const before = prev as PodSpec;
  if (!same(masked.nodeSelector, prev.nodeSelector)) {
    const kept = Object.entries(prev.nodeSelector ?? {}).every(([key, value]) => masked.nodeSelector?.[key] === value);
    if (!kept)
      problems.invalid('spec.nodeSelector', masked.nodeSelector, 'only additions to spec.nodeSelector are allowed');
    copyField(masked, before, 'nodeSelector');
  }
  const oldAffinity = prev.affinity?.nodeAffinity;
  if (same(masked.affinity?.nodeAffinity, oldAffinity)) return;
  validateNarrowing(problems, masked.affinity?.nodeAffinity, oldAffinity);
  const { nodeAffinity: _, ...others } = masked.affinity ?? {};
  const affinity = { ...others, ...(oldAffinity && { nodeAffinity: oldAffinity as NodeAffinity }) };
  if (Object.keys(affinity).length === 0) delete masked.affinity;
  else masked.affinity = affinity;
}

const requiredPath = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

function validateNarrowing(
  problems: Problems,
  next: Frozen<NodeAffinity> | undefined,
  prev: Frozen<NodeAffinity> | undefined,
): void {
  const before = prev?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (before === undefined) return;
  const after = next?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (before.length > 0 && before.length !== after.length)
    return problems.invalid(
      requiredPath,
      after,
      'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
    );
  before.forEach((term, at) => {
    if (!onlyAdds(after[at]!, term))
      problems.invalid(`${requiredPath}[${at}]`, after[at], 'only additions are allowed (no mutations or deletions)');
  });
}

function onlyAdds(next: Frozen<NodeSelectorTerm>, prev: Frozen<NodeSelectorTerm>): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const;
  const matchesNothing = lists.every((list) => (prev[list]?.length ?? 0) === 0);
  if (matchesNothing) return lists.every((list) => (next[list]?.length ?? 0) === 0);
  return lists.every((list) => {
    const before = prev[list] ?? [];
    return same(next[list]?.slice(0, before.length) ?? [], before);
  });
}

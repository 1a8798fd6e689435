// Owns the kind StatefulSet.
import type { StatefulSet, StatefulSetUpdateStrategy } from '../../../api/generated/apps.v1.ts';
import type { PodTemplateSpec } from '../../../api/generated/core.v1.ts';
import { statefulSets } from '../../../api/generated/resources.ts';
import { applyClaimSpecDefaults } from '../../../api/defaults/claim.ts';
import { applyTemplateDefaults } from '../../../api/defaults/pod-spec.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateClaimSpec } from '../../../api/validation/claim-spec.ts';
import { dnsSubdomain, labelName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import {
  validateAtMost100Percent,
  validateCounts,
  amountOf,
  validateIntOrPercent,
  validateNoMoreThan,
  validateNotDecremented,
  validateRunningTemplate,
  validateWorkloadSelector,
} from '../../../api/validation/workload.ts';
import { ageColumn, nameColumn, templateColumns } from '../columns.ts';
import { claimWarnings, templateWarnings } from '../core/pod-warnings.ts';
import { defineResource, keepSpec, specStrategy } from '../define.ts';

function applyDefaults(obj: StatefulSet): void {
  const spec = (obj.spec ??= {} as StatefulSet['spec']);
  spec.podManagementPolicy ||= 'OrderedReady';
  const strategy = (spec.updateStrategy ??= {});
  if (!strategy.type) {
    strategy.type = 'RollingUpdate';
    strategy.rollingUpdate ??= {};
  }
  // Who says the type says all of it: no numbers are made where none are told.
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate !== undefined) {
    strategy.rollingUpdate.partition ??= 0;
    strategy.rollingUpdate.maxUnavailable ??= 1;
  }
  const retention = (spec.persistentVolumeClaimRetentionPolicy ??= {});
  retention.whenDeleted ||= 'Retain';
  retention.whenScaled ||= 'Retain';
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  applyTemplateDefaults(spec);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion ??= 'v1';
    claim.kind ??= 'PersistentVolumeClaim';
    claim.spec ??= {};
    applyClaimSpecDefaults(claim.spec);
    claim.status ??= {};
    claim.status.phase ||= 'Pending';
  }
}

function validateUpdateStrategy(
  problems: Problems,
  path: string,
  strategy: Frozen<StatefulSetUpdateStrategy> | undefined,
): void {
  const rolling = strategy?.rollingUpdate;
  switch (strategy?.type) {
    case undefined:
    case '':
      return problems.required(path);
    case 'OnDelete':
      if (rolling !== undefined)
        problems.invalid(`${path}.rollingUpdate`, rolling, 'only allowed for updateStrategy RollingUpdate');
      return;
    case 'RollingUpdate':
      problems.notNegative(`${path}.rollingUpdate.partition`, rolling?.partition);
      if (rolling?.maxUnavailable === undefined) return;
      validateMaxUnavailable(problems, `${path}.rollingUpdate.maxUnavailable`, rolling.maxUnavailable);
      return;
    default:
      problems.invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'");
  }
}

function validateMaxUnavailable(problems: Problems, path: string, value: number | string): void {
  validateIntOrPercent(problems, path, value);
  if (amountOf(value) === 0) problems.invalid(path, value, 'cannot be 0');
  validateAtMost100Percent(problems, path, value);
}

const retentions = ['Delete', 'Retain'];

/** Mounts may name the claims that the set makes for each pod. */
function withClaims({ template, volumeClaimTemplates = [] }: Frozen<StatefulSet>['spec']): Frozen<PodTemplateSpec> {
  const volumes = template?.spec?.volumes ?? [];
  const names = new Set(volumeClaimTemplates.map(({ metadata }) => metadata?.name ?? ''));
  if (names.size === 0 || template?.spec === undefined) return template ?? {};
  const claims = [...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  // A claim takes the place of a volume of its name.
  const others = volumes.filter(({ name }) => !names.has(name));
  return { ...template, spec: { ...template.spec, volumes: [...claims, ...others] } };
}

/** Claims and the service's name are looked at when they come: later they cannot change. */
function validateSpec(
  problems: Problems,
  { spec = {} as StatefulSet['spec'] }: Frozen<StatefulSet>,
  isNew: boolean,
): void {
  if (!spec.podManagementPolicy) problems.required('spec.podManagementPolicy');
  else if (spec.podManagementPolicy !== 'OrderedReady' && spec.podManagementPolicy !== 'Parallel')
    problems.invalid('spec.podManagementPolicy', spec.podManagementPolicy, "must be 'OrderedReady' or 'Parallel'");
  validateUpdateStrategy(problems, 'spec.updateStrategy', spec.updateStrategy);
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  for (const field of ['whenDeleted', 'whenScaled'] as const)
    if (retention !== undefined && !retentions.includes(retention[field] ?? ''))
      problems.notSupported(`spec.persistentVolumeClaimRetentionPolicy.${field}`, retention[field] ?? '', retentions);
  if (isNew)
    spec.volumeClaimTemplates?.forEach((claim, at) =>
      validateClaimSpec(problems, `spec.volumeClaimTemplates[${at}].spec`, claim.spec ?? {}),
    );
  problems.notNegative('spec.replicas', spec.replicas);
  problems.notNegative('spec.minReadySeconds', spec.minReadySeconds);
  problems.notNegative('spec.ordinals.start', spec.ordinals?.start);
  if (isNew && spec.serviceName) problems.each('spec.serviceName', spec.serviceName, dnsSubdomain(spec.serviceName));
  if (validateWorkloadSelector(problems, 'spec.selector', spec.selector))
    validateRunningTemplate(problems, 'spec.template', withClaims(spec), spec.selector);
  else problems.invalid('spec.selector', spec.selector, 'invalid label selector');
}

const immutable = ['selector', 'volumeClaimTemplates', 'serviceName', 'podManagementPolicy'] as const;

export const statefulSet = defineResource<StatefulSet>(statefulSets, {
  shortNames: ['sts'],
  categories: ['all'],
  ...specStrategy<StatefulSet>(() => ({ replicas: 0, availableReplicas: 0 })),
  applyDefaults,
  validate(obj) {
    const problems = new Problems();
    validateSpec(problems, obj, true);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateSpec(problems, next, false);
    for (const field of immutable) problems.immutable(`spec.${field}`, next.spec?.[field], prev.spec?.[field], same);
    return problems.list;
  },
  validateName: labelName,
  // Accepted by mistake, as upstream does: no stateful set has it.
  selectable: { 'status.successful': () => '' },
  warnings(obj, prev) {
    const { spec } = obj;
    const warnings = templateWarnings(obj, prev);
    for (const [at, { spec }] of (obj.spec?.volumeClaimTemplates ?? []).entries())
      warnings.push(...claimWarnings(`spec.volumeClaimTemplates[${at}].spec`, spec));
    if ((spec?.revisionHistoryLimit ?? 0) < 0)
      warnings.push('spec.revisionHistoryLimit: a negative value retains all historical revisions');
    return warnings;
  },
  columns: [
    nameColumn,
    {
      name: 'Ready',
      type: 'string',
      cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    ageColumn,
    ...templateColumns<StatefulSet>(),
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keepSpec(next, prev),
      validateUpdate(next, prev) {
        const problems = new Problems();
        const status = next.status ?? {};
        validateCounts(problems, 'status', status, [
          'replicas',
          'readyReplicas',
          'currentReplicas',
          'updatedReplicas',
          'availableReplicas',
          'observedGeneration',
          'collisionCount',
        ]);
        validateNoMoreThan(problems, 'status', status, [
          ['readyReplicas', 'replicas'],
          ['currentReplicas', 'replicas'],
          ['updatedReplicas', 'replicas'],
          ['availableReplicas', 'replicas'],
          ['availableReplicas', 'readyReplicas'],
        ]);
        validateNotDecremented(problems, 'status.collisionCount', status.collisionCount, prev.status?.collisionCount);
        return problems.list;
      },
    },
  },
});

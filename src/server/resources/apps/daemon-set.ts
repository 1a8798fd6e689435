// Owns the kind DaemonSet.
import type { DaemonSet, DaemonSetUpdateStrategy } from '../../../api/generated/apps.v1.ts';
import { daemonSets } from '../../../api/generated/resources.ts';
import { applyTemplateDefaults } from '../../../api/defaults/pod-spec.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import { validatePodTemplate } from '../../../api/validation/pod-template.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { schemaOfType } from '../../../api/schema/builtin.ts';
import { same, sameAs } from '../../../api/validation/same.ts';
import {
  amountOf,
  validateAtMost100Percent,
  validateCounts,
  validateIntOrPercent,
  validateNotDecremented,
  validateRunsForever,
  validateTemplateLabels,
} from '../../../api/validation/workload.ts';
import { ageColumn, mapText, nameColumn, selectorText, templateColumns } from '../columns.ts';
import { templateWarnings } from '../core/pod-warnings.ts';
import { defineResource, keep, keepSpec, raiseGeneration, sameSpec } from '../define.ts';

/** Counts template changes: a number, which clients may set when they create the set. Afterwards the API server keeps it. */
const templateGeneration = 'deprecated.daemonset.template.generation';

/** Stored by other means, it may be any text: then it counts from nothing. */
function generationOf({ metadata }: Frozen<DaemonSet>): bigint {
  const text = metadata.annotations?.[templateGeneration] ?? '0';
  return generationProblem(text) === undefined ? BigInt(text.replace(/^\+/, '')) : 0n;
}

function setGeneration(obj: DaemonSet, generation: bigint): void {
  obj.metadata.annotations = { ...obj.metadata.annotations, [templateGeneration]: String(generation) };
}

/** As Go's strconv.ParseInt tells of it. */
function generationProblem(text: string): string | undefined {
  const told = (why: string): string => `strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`;
  if (!/^[-+]?\d+$/.test(text)) return told('invalid syntax');
  const number = BigInt(text.replace(/^\+/, ''));
  return BigInt.asIntN(64, number) === number ? undefined : told('value out of range');
}

function validateUpdateStrategy(problems: Problems, path: string, strategy: Frozen<DaemonSetUpdateStrategy>): void {
  if (strategy.type === 'OnDelete') return;
  if (strategy.type !== 'RollingUpdate')
    return problems.notSupported(path, strategy.type ?? '', ['OnDelete', 'RollingUpdate']);
  const rolling = strategy.rollingUpdate;
  if (rolling === undefined) return problems.required(`${path}.rollingUpdate`);
  const { maxUnavailable, maxSurge } = rolling;
  const fields = Object.entries({ maxUnavailable, maxSurge });
  for (const check of [validateIntOrPercent, validateAtMost100Percent])
    for (const [field, value] of fields) check(problems, `${path}.rollingUpdate.${field}`, value);
  const unavailable = amountOf(maxUnavailable);
  const surge = amountOf(maxSurge);
  if (unavailable !== 0 && surge !== 0)
    problems.invalid(`${path}.rollingUpdate.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero');
  if (unavailable === 0 && surge === 0)
    problems.required(`${path}.rollingUpdate.maxUnavailable`, 'cannot be 0 when maxSurge is 0');
}

function validateSpec(problems: Problems, { spec = {} as DaemonSet['spec'] }: Frozen<DaemonSet>): void {
  const { selector, template } = spec;
  validateLabelSelector(problems, 'spec.selector', selector);
  validateTemplateLabels(problems, 'spec.template', template, selector);
  if (selector && same(selector, {}))
    problems.invalid('spec.selector', selector, 'empty selector is invalid for daemonset');
  validatePodTemplate(problems, 'spec.template', template);
  validateRunsForever(problems, 'spec.template', template);
  problems.notNegative('spec.minReadySeconds', spec.minReadySeconds);
  validateUpdateStrategy(problems, 'spec.updateStrategy', spec.updateStrategy ?? {});
  problems.notNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
}

const count = (value: number | undefined): number => value ?? 0;

export const daemonSet = defineResource<DaemonSet>(daemonSets, {
  shortNames: ['ds'],
  categories: ['all'],
  unreadable({ metadata }) {
    const text = metadata?.annotations?.[templateGeneration];
    return text === undefined ? undefined : generationProblem(text);
  },
  applyDefaults(obj) {
    const spec = (obj.spec ??= {} as DaemonSet['spec']);
    const strategy = (spec.updateStrategy ??= {});
    strategy.type ||= 'RollingUpdate';
    if (strategy.type === 'RollingUpdate') (strategy.rollingUpdate ??= {}).maxUnavailable ??= 1;
    // Upstream's own form of them knows no absence.
    if (strategy.rollingUpdate) {
      strategy.rollingUpdate.maxUnavailable ??= 0;
      strategy.rollingUpdate.maxSurge ??= 0;
    }
    spec.revisionHistoryLimit ??= 10;
    applyTemplateDefaults(spec);
    (obj.metadata.annotations ??= {})[templateGeneration] ??= '0';
  },
  prepareForCreate(obj) {
    obj.status = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
    obj.metadata.generation = 1;
    const given = generationOf(obj);
    setGeneration(obj, given > 0n ? given : 1n);
  },
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    const templateChanged = !sameAs(schemaOfType('core.v1.PodTemplateSpec'), next.spec?.template, prev.spec?.template);
    setGeneration(next, generationOf(prev) + (templateChanged ? 1n : 0n));
    raiseGeneration(next, prev, templateChanged || !sameSpec(next as Frozen<DaemonSet>, prev));
  },
  validate(obj) {
    const problems = new Problems();
    validateSpec(problems, obj);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('spec.selector', next.spec?.selector, prev.spec?.selector, same);
    validateSpec(problems, next);
    return problems.list;
  },
  warnings: (obj, prev) =>
    prev !== undefined && same(obj.spec?.template, prev.spec?.template) ? [] : templateWarnings(obj),
  withoutAnnotation: templateGeneration,
  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', cell: ({ status }) => count(status?.desiredNumberScheduled) },
    { name: 'Current', type: 'integer', cell: ({ status }) => count(status?.currentNumberScheduled) },
    { name: 'Ready', type: 'integer', cell: ({ status }) => count(status?.numberReady) },
    { name: 'Up-to-date', type: 'integer', cell: ({ status }) => count(status?.updatedNumberScheduled) },
    { name: 'Available', type: 'integer', cell: ({ status }) => count(status?.numberAvailable) },
    { name: 'Node Selector', type: 'string', cell: ({ spec }) => mapText(spec.template?.spec?.nodeSelector) },
    ageColumn,
    ...templateColumns<DaemonSet>(),
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => selectorText(spec.selector) },
  ],
  subresources: {
    status: {
      prepareForUpdate(next, prev) {
        keepSpec(next, prev);
        setGeneration(next, generationOf(prev));
      },
      validateUpdate(next, prev) {
        const problems = new Problems();
        validateCounts(problems, 'status', next.status ?? {}, [
          'currentNumberScheduled',
          'numberMisscheduled',
          'desiredNumberScheduled',
          'numberReady',
          'observedGeneration',
          'updatedNumberScheduled',
          'numberAvailable',
          'numberUnavailable',
          'collisionCount',
        ]);
        const after = next.status?.collisionCount;
        validateNotDecremented(problems, 'status.collisionCount', after, prev.status?.collisionCount);
        return problems.list;
      },
    },
  },
});

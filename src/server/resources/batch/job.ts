// Owns the kind Job.
import type { Job, JobSpec } from '../../../api/generated/batch.v1.ts';
import { jobs } from '../../../api/generated/resources.ts';
import { applyTemplateDefaults } from '../../../api/defaults/pod-spec.ts';
import type { LabelSelector } from '../../../api/generated/meta.v1.ts';
import { labelPredicate, SelectorError } from '../../../api/selector.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsLabel, labelValue } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import type { Column } from '../../resource.ts';
import { ageColumn, humanDuration, nameColumn, selectorText, templateColumns } from '../columns.ts';
import { nameWarnings } from '../core/pod-warnings.ts';
import { applyFailurePolicyDefaults } from './job-policies.ts';
import { jobWarnings } from './job-warnings.ts';
import { defineResource, keepSpec, specStrategy } from '../define.ts';
import { validateJobSelector, validateJobSpec, validateJobSpecChange } from './job-spec.ts';
import { validateJobStatusChange } from './job-status.ts';

const uidLabel = 'batch.kubernetes.io/controller-uid';
const nameLabel = 'batch.kubernetes.io/job-name';
/** Each label with the value that a job's pods carry; the short ones are the old spelling. */
const generated: readonly (readonly [label: string, value: (job: Frozen<Job>) => string])[] = [
  ['controller-uid', ({ metadata }) => metadata.uid],
  ['job-name', ({ metadata }) => metadata.name],
  [uidLabel, ({ metadata }) => metadata.uid],
  [nameLabel, ({ metadata }) => metadata.name],
];

const unlimited = 2147483647;

/** Jobs and the templates of cron jobs; without completions and parallelism it is one pod. */
function applyJobSpecDefaults(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : unlimited;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  spec.manualSelector ??= false;
  applyFailurePolicyDefaults(spec);
  applyTemplateDefaults(spec);
}

function generateSelector(job: Job): void {
  const { spec } = job;
  if (spec.manualSelector) return;
  const metadata = (spec.template.metadata ??= {});
  const wasCopied = same(job.metadata.labels, metadata.labels);
  // A name that is no label is refused where it stands first.
  const isFit = metadata.labels !== undefined || labelValue(job.metadata.name).length === 0;
  const labels = (metadata.labels = { ...metadata.labels });
  for (const [label, value] of generated) labels[label] ??= value(job);
  spec.selector ??= {};
  spec.selector.matchLabels = { ...spec.selector.matchLabels };
  spec.selector.matchLabels[uidLabel] ??= job.metadata.uid;
  if (wasCopied && isFit) job.metadata.labels = { ...labels };
}

/** What was generated must still be there; a client's own labels may not claim otherwise. */
function validateGenerated(problems: Problems, job: Frozen<Job>): void {
  if (job.spec.manualSelector || job.spec.selector === undefined) return;
  const labels = job.spec.template?.metadata?.labels ?? {};
  const expected: Record<string, string> = {};
  for (const [label, value] of generated) {
    expected[label] = value(job);
    const here = `spec.template.metadata.labels[${label}]`;
    if (labels[label] === undefined) problems.required(here, `must be '${value(job)}'`);
    else if (labels[label] !== value(job)) problems.invalid(here, labels, `must be '${value(job)}'`);
  }
  // What is wrong with the selector itself is told with the selector.
  if (selects(job.spec.selector, expected) === false)
    problems.invalid('spec.selector', job.spec.selector, '`selector` not auto-generated');
}

/** Undefined: it is no proper selector. */
function selects(selector: Frozen<LabelSelector>, labels: Readonly<Record<string, string>>): boolean | undefined {
  try {
    return labelPredicate(selector)(labels);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** Pods of indexed jobs are named after their index: their names must be host names. */
function validateIndexedName(problems: Problems, { metadata, spec }: Frozen<Job>): void {
  if (spec.completionMode !== 'Indexed' || spec.completions === undefined || spec.completions <= 0) return;
  const last = `${metadata.name}-${spec.completions - 1}`;
  if (dnsLabel(last).length > 0)
    problems.invalid('metadata.name', metadata.name, 'will not able to create pod with invalid DNS label');
}

const has = ({ status }: Frozen<Job>, type: string): boolean =>
  (status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

function statusText(job: Frozen<Job>): string {
  if (has(job, 'Complete')) return 'Complete';
  if (has(job, 'Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp) return 'Terminating';
  if (has(job, 'Suspended')) return 'Suspended';
  if (has(job, 'FailureTarget')) return 'FailureTarget';
  if (has(job, 'SuccessCriteriaMet')) return 'SuccessCriteriaMet';
  return 'Running';
}

function completionsText({ spec, status }: Frozen<Job>): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationText(job: Frozen<Job>, nowMs: number): string {
  const start = job.status?.startTime as unknown as string | undefined;
  if (!start) return '';
  const completed = job.status?.completionTime as unknown as string | undefined;
  const failed = job.status?.conditions?.find(({ type, status }) => type === 'Failed' && status === 'True');
  const end = completed ?? (failed?.lastTransitionTime as unknown as string | undefined);
  return humanDuration((end ? Date.parse(end) : nowMs) - Date.parse(start));
}

const columns: readonly Column<Job>[] = [
  nameColumn,
  { name: 'Status', type: 'string', cell: statusText },
  { name: 'Completions', type: 'string', cell: completionsText },
  { name: 'Duration', type: 'string', cell: durationText },
  ageColumn,
  ...templateColumns<Job>(),
  { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => selectorText(spec.selector) },
];

const strategy = specStrategy<Job>(() => ({}));

export const job = defineResource<Job>(jobs, {
  deleteWarning:
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  categories: ['all'],
  ...strategy,
  applyDefaults(obj) {
    const spec = (obj.spec ??= {} as JobSpec);
    applyJobSpecDefaults(spec);
    const labels = spec.template.metadata?.labels;
    if (labels !== undefined && same(obj.metadata.labels, {})) obj.metadata.labels = { ...labels };
  },
  prepareForCreate(obj, context) {
    generateSelector(obj);
    delete obj.spec.scheduling;
    strategy.prepareForCreate?.(obj, context);
  },
  validate(obj) {
    const problems = new Problems();
    validateGenerated(problems, obj);
    validateJobSpec(problems, 'spec', obj.spec);
    validateJobSelector(problems, 'spec', obj.spec);
    validateIndexedName(problems, obj);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateJobSpec(problems, 'spec', next.spec);
    validateJobSelector(problems, 'spec', next.spec);
    validateJobSpecChange(problems, next, prev);
    return problems.list;
  },
  warnings: (obj, prev) => [...nameWarnings(obj, prev), ...jobWarnings('spec', obj, prev, obj.spec)],
  selectable: { 'status.successful': ({ status }) => String(status?.succeeded ?? 0) },
  columns,
  defaultPropagation: 'orphan',
  orphanWarning:
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keepSpec(next, prev),
      validateUpdate(next, prev) {
        const problems = new Problems();
        validateJobStatusChange(problems, next, prev);
        return problems.list;
      },
    },
  },
});

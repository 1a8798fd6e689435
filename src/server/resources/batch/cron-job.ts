// Owns the kind CronJob.
import type { CronJob, CronJobSpec, JobTemplateSpec } from '../../../api/generated/batch.v1.ts';
import { cronJobs } from '../../../api/generated/resources.ts';
import { applyTemplateDefaults } from '../../../api/defaults/pod-spec.ts';
import type { Frozen } from '../../../api/meta.ts';
import { isTimeZone, scheduleProblem } from '../../../api/validation/cron-schedule.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, ageOf, nameColumn, none, selectorText, templateColumns } from '../columns.ts';
import { nameWarnings } from '../core/pod-warnings.ts';
import { applyFailurePolicyDefaults } from './job-policies.ts';
import { jobWarnings } from './job-warnings.ts';
import { defineResource, keepSpec, requiredLast, specStrategy } from '../define.ts';
import { validateJobSpec } from './job-spec.ts';

/** Jobs get eleven characters more than their cron job's name. */
const maxNameLength = 52;

function validateSpec(problems: Problems, spec: Frozen<CronJobSpec>): void {
  if (!spec.schedule) problems.required('spec.schedule');
  else {
    const wrong = scheduleProblem(spec.schedule);
    if (wrong !== undefined) problems.invalid('spec.schedule', spec.schedule, wrong);
  }
  problems.notNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds);
  if (spec.timeZone !== undefined) validateTimeZone(problems, 'spec.timeZone', spec.timeZone);
  problems.oneOf('spec.concurrencyPolicy', spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']);
  validateTemplate(problems, 'spec.jobTemplate.spec', spec.jobTemplate ?? {});
  problems.notNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit);
  problems.notNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit);
}

/** The server's own zone is none, however it is written; written as it should be, it would be known. */
function validateTimeZone(problems: Problems, path: string, zone: string): void {
  if (zone === '') return problems.invalid(path, zone, 'timeZone must be nil or non-empty string');
  if (zone.toLowerCase() === 'local')
    problems.invalid(
      path,
      zone,
      'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    );
  if (zone !== 'Local' && !isTimeZone(zone)) problems.invalid(path, zone, `unknown time zone ${zone}`);
}

/** Selectors are generated for each job: templates may have none. */
function validateTemplate(problems: Problems, path: string, { spec }: Frozen<JobTemplateSpec>): void {
  if (spec === undefined) return;
  validateJobSpec(problems, path, spec);
  if (spec.selector !== undefined)
    problems.invalid(`${path}.selector`, spec.selector, '`selector` will be auto-generated');
  if (spec.manualSelector) problems.notSupported(`${path}.manualSelector`, spec.manualSelector, ['nil', 'false']);
}

function validate(obj: Frozen<CronJob>): Problems {
  const problems = new Problems();
  validateSpec(problems, obj.spec);
  return problems;
}

export const cronJob = defineResource<CronJob>(cronJobs, {
  shortNames: ['cj'],
  categories: ['all'],
  ...specStrategy<CronJob>(() => ({})),
  applyDefaults(obj) {
    const spec = (obj.spec ??= {} as CronJobSpec);
    spec.concurrencyPolicy ||= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    // Of the jobs' template only the pods and what failures mean are completed: the rest is when a job is made of it.
    const template = (spec.jobTemplate ??= {});
    template.spec ??= {} as NonNullable<typeof template.spec>;
    applyFailurePolicyDefaults(template.spec);
    applyTemplateDefaults(template.spec);
  },
  validate(obj) {
    const problems = validate(obj);
    if (obj.metadata.name.length > maxNameLength)
      problems.invalid('metadata.name', obj.metadata.name, `must be no more than ${maxNameLength} characters`);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate: (next) => validate(next).list,
  place: requiredLast('spec.schedule'),
  warnings: (obj, prev) => [
    ...nameWarnings(obj, prev),
    ...jobWarnings('spec.jobTemplate.spec', obj, prev, obj.spec?.jobTemplate?.spec),
    // Stored ones may have it; new ones are refused. The path as upstream has it.
    ...(prev !== undefined && obj.spec?.schedule.includes('TZ')
      ? ['cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead']
      : []),
  ],
  // Accepted by mistake, as upstream does: no cron job has it.
  columns: [
    nameColumn,
    { name: 'Schedule', type: 'string', cell: ({ spec }) => spec.schedule },
    { name: 'Timezone', type: 'string', cell: ({ spec }) => spec.timeZone ?? none },
    { name: 'Suspend', type: 'boolean', cell: ({ spec }) => (spec.suspend ? 'True' : 'False') },
    { name: 'Active', type: 'integer', cell: ({ status }) => status?.active?.length ?? 0 },
    {
      name: 'Last Schedule',
      type: 'string',
      cell: ({ status }, nowMs) =>
        status?.lastScheduleTime ? ageOf(status.lastScheduleTime as unknown as string, nowMs) : none,
    },
    ageColumn,
    ...templateColumns<CronJob>(({ spec }) => spec.jobTemplate?.spec?.template),
    {
      name: 'Selector',
      type: 'string',
      priority: 1,
      cell: ({ spec }) => selectorText(spec.jobTemplate?.spec?.selector),
    },
  ],
  subresources: { status: { prepareForUpdate: (next, prev) => keepSpec(next, prev) } },
});

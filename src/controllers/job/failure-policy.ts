// Owns what a job's podFailurePolicy (KEP-3329) and successPolicy (KEP-3998) say about its pods. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Job } from '../../api/generated/batch.v1.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { parseIndexes } from './indexes.ts';

export interface FailureVerdict {
  readonly action: 'FailJob' | 'FailIndex' | 'Ignore' | 'Count';
  /** For FailJob: the condition's message. */
  readonly message: string;
}

type Rule = Frozen<NonNullable<Job['spec']['podFailurePolicy']>['rules'][number]>;

/** The first rule that matches decides; without one the failure counts. */
export function judgeFailure(job: Frozen<Job>, pod: Frozen<Pod>): FailureVerdict {
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
  for (const [at, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = matches(rule, pod, name);
    if (why === undefined) continue;
    const action = rule.action as FailureVerdict['action'];
    if (action === 'FailIndex' && job.spec.backoffLimitPerIndex === undefined) continue;
    return { action, message: `${why} matching ${action} rule at index ${at}` };
  }
  return { action: 'Count', message: '' };
}

function matches(rule: Rule, pod: Frozen<Pod>, name: string): string | undefined {
  if (rule.onExitCodes) {
    const { containerName, operator, values } = rule.onExitCodes;
    const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
    for (const container of statuses) {
      const code = container.state?.terminated?.exitCode;
      if (code === undefined || code === 0 || (containerName && container.name !== containerName)) continue;
      if ((operator === 'In') === values.includes(code))
        return `Container ${container.name} for pod ${name} failed with exit code ${code}`;
    }
    return undefined;
  }
  for (const pattern of rule.onPodConditions ?? []) {
    const found = pod.status?.conditions?.find(({ type }) => type === pattern.type);
    if (found && found.status === (pattern.status ?? 'True')) return `Pod ${name} has condition ${pattern.type}`;
  }
  return undefined;
}

/** "Matched rules at index 0" once a rule of the success policy is met. */
export function successMessage(job: Frozen<Job>, succeeded: ReadonlySet<number>): string | undefined {
  const completions = job.spec.completions ?? 0;
  for (const [at, rule] of (job.spec.successPolicy?.rules ?? []).entries()) {
    const required = rule.succeededIndexes === undefined ? undefined : parseIndexes(rule.succeededIndexes, completions);
    const counted = required ? [...required].filter((index) => succeeded.has(index)).length : succeeded.size;
    if (counted >= (rule.succeededCount ?? required?.size ?? completions)) return `Matched rules at index ${at}`;
  }
  return undefined;
}

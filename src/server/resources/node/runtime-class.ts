// Owns the kind RuntimeClass.
import { runtimeClasses } from '../../../api/generated/resources.ts';
import type { RuntimeClass, Scheduling } from '../../../api/generated/node.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsLabel } from '../../../api/names.ts';
import { validateLabels } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { roundResources } from '../../../api/validation/quantities.ts';
import { validateContainerResources } from '../../../api/validation/resources.ts';
import { same } from '../../../api/validation/same.ts';
import { validateTolerations } from '../../../api/validation/scheduling.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, requiredLast } from '../define.ts';
import { labelWarnings } from '../node-labels.ts';

function validateScheduling(problems: Problems, { nodeSelector, tolerations }: Frozen<Scheduling>): void {
  validateLabels(problems, 'scheduling.nodeSelector', nodeSelector);
  const all = tolerations ?? [];
  validateTolerations(problems, 'scheduling.tolerations', all);
  all.forEach((toleration, at) => {
    if (all.slice(0, at).some((other) => same(other, toleration)))
      problems.duplicate(`scheduling.tolerations[${at}]`, toleration);
  });
}

function validate({ handler, overhead, scheduling }: Frozen<RuntimeClass>): Problems {
  const problems = new Problems();
  if (!handler) problems.required('handler');
  else problems.each('handler', handler, dnsLabel(handler));
  // Upstream checks the overhead as the limits of a container.
  if (overhead?.podFixed) validateContainerResources(problems, 'overhead', { limits: overhead.podFixed }, new Set());
  if (scheduling) validateScheduling(problems, scheduling);
  return problems;
}

export const runtimeClass = defineResource<RuntimeClass>(runtimeClasses, {
  applyDefaults({ overhead }) {
    roundResources(overhead?.podFixed);
  },
  validate: (obj) => validate(obj).list,
  warnings: ({ scheduling }) =>
    Object.keys(scheduling?.nodeSelector ?? {}).flatMap((label) => [
      ...labelWarnings(`scheduling.nodeSelector[${label}]`, label),
    ]),
  place: requiredLast('handler'),
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('handler', next.handler, prev.handler, same);
    return problems.list;
  },
  columns: [nameColumn, { name: 'Handler', type: 'string', cell: ({ handler }) => handler }, ageColumn],
  unconditionalUpdate: false,
});

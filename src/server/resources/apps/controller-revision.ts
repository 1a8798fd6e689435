// Owns the kind ControllerRevision.
import type { ControllerRevision } from '../../../api/generated/apps.v1.ts';
import { controllerRevisions } from '../../../api/generated/resources.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, controllerText, nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';

export const controllerRevision = defineResource<ControllerRevision>(controllerRevisions, {
  validate({ data, revision }) {
    const problems = new Problems();
    const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
    problems.notNegative('revision', revision);
    if (!isObject) problems.required('data', 'an object is mandatory');
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.notNegative('revision', next.revision);
    problems.immutable('data', next.data, prev.data, same);
    return problems.list;
  },
  columns: [
    nameColumn,
    { name: 'Controller', type: 'string', cell: ({ metadata }) => controllerText(metadata) },
    { name: 'Revision', type: 'string', cell: ({ revision }) => revision ?? 0 },
    ageColumn,
  ],
});

// Owns the kind Namespace: its finalizers in spec keep it until whoever owns its contents has cleared them.
import type { Namespace } from '../../../api/generated/core.v1.ts';
import { namespaces } from '../../../api/generated/resources.ts';
import { labelName, qualifiedName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep } from '../define.ts';

const nameLabel = 'kubernetes.io/metadata.name';
const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

function validateFinalizer(problems: Problems, path: string, name: string): void {
  problems.each(path, name, qualifiedName(name));
  if (!name.includes('/') && !standardFinalizers.has(name))
    problems.invalid(path, name, 'name is neither a standard finalizer name nor is it fully qualified');
}

/** Every namespace can be selected by its own name. */
function labelWithName(obj: Namespace): void {
  if (obj.metadata.name) obj.metadata.labels = { ...obj.metadata.labels, [nameLabel]: obj.metadata.name };
}

export const namespace = defineResource<Namespace>(namespaces, {
  shortNames: ['ns'],
  validateName: labelName,
  applyDefaults(obj) {
    obj.status ??= {};
    obj.status.phase ||= 'Active';
    labelWithName(obj);
  },
  prepareForCreate(obj) {
    labelWithName(obj);
    obj.status = { phase: 'Active' };
    const spec = (obj.spec ??= {});
    const finalizers = spec.finalizers ?? [];
    spec.finalizers = finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'];
  },
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    next.spec = { ...next.spec };
    keep(next.spec, prev.spec, 'finalizers');
  },
  validate({ spec }) {
    const problems = new Problems();
    for (const name of spec?.finalizers ?? []) validateFinalizer(problems, 'spec.finalizers', name);
    return problems.list;
  },
  deletion: {
    isHeld: ({ spec }) => (spec?.finalizers ?? []).length > 0,
    begin(obj) {
      obj.status = { ...obj.status, phase: 'Terminating' };
    },
  },
  validateUpdateAlone: true,
  validateUpdate: () => [],
  selectable: {
    'status.phase': ({ status }) => status?.phase ?? '',
  },
  columns: [nameColumn, { name: 'Status', type: 'string', cell: ({ status }) => status?.phase ?? '' }, ageColumn],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate(next) {
        const problems = new Problems();
        const phase = next.metadata.deletionTimestamp ? 'Terminating' : 'Active';
        if (next.status?.phase !== phase)
          problems.invalid('status.Phase', next.status?.phase, `may only be '${phase}' now`);
        return problems.list;
      },
    },
    finalize: {
      hasTable: false,
      prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
      validateUpdate(next) {
        const problems = new Problems();
        next.spec?.finalizers?.forEach((name, at) => validateFinalizer(problems, `spec.finalizers[${at}]`, name));
        return problems.list;
      },
    },
  },
});

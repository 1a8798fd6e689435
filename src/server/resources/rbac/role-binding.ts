// Owns the kinds RoleBinding and ClusterRoleBinding. Whether a user may bind a role is not decided here.
import type { ClusterRoleBinding, RoleBinding, Subject } from '../../../api/generated/rbac.v1.ts';
import { clusterRoleBindings, roleBindings } from '../../../api/generated/resources.ts';
import type { Frozen, KubeObject, ResourceRef } from '../../../api/meta.ts';
import { pathSegmentName } from '../../../api/names.ts';
import type { FieldError } from '../../../api/status-error.ts';
import type { Column, Resource } from '../../resource.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';
import { rbacGroup, validateBinding } from './role-rules.ts';

type Binding = KubeObject & Pick<RoleBinding, 'subjects' | 'roleRef'>;

function applyDefaults({ roleRef, subjects }: Binding): void {
  if (roleRef) roleRef.apiGroup ||= rbacGroup;
  for (const subject of subjects ?? [])
    if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group')) subject.apiGroup = rbacGroup;
}

function subjectsText(
  subjects: Frozen<Subject[]> | undefined,
  kind: string,
  show: (subject: Frozen<Subject>) => string,
): string {
  return (subjects ?? [])
    .filter((subject) => subject.kind === kind)
    .map(show)
    .join(', ');
}

const columns: readonly Column<Binding>[] = [
  nameColumn,
  { name: 'Role', type: 'string', cell: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}` },
  ageColumn,
  {
    name: 'Users',
    type: 'string',
    priority: 1,
    cell: ({ subjects }) => subjectsText(subjects, 'User', ({ name }) => name),
  },
  {
    name: 'Groups',
    type: 'string',
    priority: 1,
    cell: ({ subjects }) => subjectsText(subjects, 'Group', ({ name }) => name),
  },
  {
    name: 'ServiceAccounts',
    type: 'string',
    priority: 1,
    cell: ({ subjects }) =>
      subjectsText(subjects, 'ServiceAccount', ({ namespace = '', name }) => `${namespace}/${name}`),
  },
];

/** Names that are missing come last; when a binding changes, that of its role does not. */
function place({ field, reason }: FieldError, change: boolean): number {
  if (reason !== 'FieldValueRequired') return 0;
  if (field === 'roleRef.name') return change ? 0 : 2;
  return Number(/^subjects\[\d+\]\.name$/.test(field));
}

function binding<T extends Binding>(ref: ResourceRef<T>): Resource<T> {
  return defineResource<T>(ref, {
    applyDefaults,
    validateName: pathSegmentName,
    validate: (obj) => validateBinding(obj as unknown as Frozen<Binding>, undefined, ref.namespaced).list,
    place,
    validateUpdateAlone: true,
    validateUpdate: (next, prev) =>
      validateBinding(next as unknown as Frozen<Binding>, prev as unknown as Frozen<Binding>, ref.namespaced).list,
    columns: columns as unknown as readonly Column<T>[],
    createOnUpdate: true,
  });
}

export const roleBinding = binding<RoleBinding>(roleBindings);
export const clusterRoleBinding = binding<ClusterRoleBinding>(clusterRoleBindings);

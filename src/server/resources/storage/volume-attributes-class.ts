// Owns the kind VolumeAttributesClass.
import { volumeAttributesClasses } from '../../../api/generated/resources.ts';
import type { VolumeAttributesClass } from '../../../api/generated/storage.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { qualifiedName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';
import { validateParameters } from './parameters.ts';

function validate(obj: Frozen<VolumeAttributesClass>): Problems {
  const problems = new Problems();
  if (!obj.driverName) problems.required('driverName');
  else problems.each('driverName', obj.driverName, qualifiedName(obj.driverName.toLowerCase()));
  validateParameters(problems, 'parameters', obj.parameters, { mayBeEmpty: false });
  return problems;
}

export const volumeAttributesClass = defineResource<VolumeAttributesClass>(volumeAttributesClasses, {
  shortNames: ['vac'],
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    if (next.driverName !== prev.driverName) problems.forbidden('driverName', 'updates to driverName are forbidden.');
    if (!same(next.parameters, prev.parameters))
      problems.forbidden('parameters', 'updates to parameters are forbidden.');
    problems.list.push(...validate(next).list);
    return problems.list;
  },
  columns: [nameColumn, { name: 'DriverName', type: 'string', cell: ({ driverName }) => driverName }, ageColumn],
  deleteReturnsObject: true,
});

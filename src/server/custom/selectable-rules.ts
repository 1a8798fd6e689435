// Owns the judgement of selectableFields: simple paths to scalar fields of the schema.
import type { CustomResourceDefinitionVersion } from '../../api/generated/apiextensions.v1.ts';
import { duplicate, invalid, required, tooMany } from '../../api/field-error.ts';
import type { Frozen } from '../../api/meta.ts';
import type { FieldError } from '../../api/status-error.ts';
import { findPath } from './rule-path.ts';
import { structural } from './structural.ts';

const maxFields = 8;
const scalars: ReadonlySet<string> = new Set(['string', 'integer', 'boolean']);

export function selectableFieldErrors(
  { selectableFields = [], schema }: Frozen<CustomResourceDefinitionVersion>,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  if (selectableFields.length === 0) return errors;
  const root = structural(schema?.openAPIV3Schema ?? {});
  selectableFields.forEach(({ jsonPath }, at) => {
    const field = `${path}[${at}].jsonPath`;
    if (!jsonPath) {
      errors.push(required(field));
      return;
    }
    const found = findPath(jsonPath, root, false);
    if (found === undefined) {
      errors.push(invalid(field, jsonPath, 'is an invalid path: it does not refer to a field of the schema'));
      return;
    }
    if (found.names[0] === 'metadata') errors.push(invalid(field, jsonPath, 'must not point to fields in metadata'));
    if (!scalars.has(found.schema.type))
      errors.push(
        invalid(
          field,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      );
    if (seen.has(found.text)) errors.push(duplicate(field, jsonPath));
    seen.add(found.text);
  });
  if (seen.size > maxFields) errors.push(tooMany(path, seen.size, maxFields));
  return errors;
}

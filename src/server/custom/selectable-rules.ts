// Owns the judgement of selectableFields: simple paths to scalar fields of the schema.
import type { CustomResourceDefinitionVersion } from '../../api/generated/apiextensions.v1.ts';
import { duplicate, invalid, required, tooMany } from '../../api/field-error.ts';
import type { Frozen } from '../../api/meta.ts';
import type { FieldError } from '../../api/status-error.ts';
import type { Props } from './structural.ts';

const maxFields = 8;
const scalars: ReadonlySet<string> = new Set(['string', 'integer', 'boolean']);

export function selectableFieldErrors(
  { selectableFields = [], schema }: Frozen<CustomResourceDefinitionVersion>,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  selectableFields.forEach(({ jsonPath }, at) => {
    const field = `${path}[${at}].jsonPath`;
    if (!jsonPath) {
      errors.push(required(field));
      return;
    }
    const wrong = problem(jsonPath, schema?.openAPIV3Schema);
    if (wrong !== undefined) errors.push(invalid(field, jsonPath, wrong));
    else if (seen.has(jsonPath)) errors.push(duplicate(field, jsonPath));
    seen.add(jsonPath);
  });
  if (selectableFields.length > maxFields) errors.push(tooMany(path, selectableFields.length, maxFields));
  return errors;
}

function problem(path: string, root: Props | undefined): string | undefined {
  if (!/^(?:\.[A-Za-z_][\w-]*)+$/.test(path)) return 'must be a simple path of fields';
  const names = path.slice(1).split('.');
  if (names[0] === 'metadata') return 'must not point to fields in metadata';
  let node = root;
  for (const name of names) node = node?.properties?.[name];
  if (node === undefined) return 'the field is not in the schema';
  return scalars.has(node.type ?? '') ? undefined : 'must point to a field of type string, boolean or integer';
}

// Owns the validation of references to objects of any kind: group, kind and name.
import type { TypedLocalObjectReference } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsSubdomain, pathSegmentName } from '../../../api/names.ts';
import type { Problems } from '../../../api/validation/problems.ts';

export function validatePathSegment(problems: Problems, path: string, value: string | undefined): void {
  if (!value) problems.required(path);
  else problems.each(path, value, pathSegmentName(value));
}

export function validateTypedReference(
  problems: Problems,
  path: string,
  reference: Frozen<Partial<TypedLocalObjectReference>>,
): void {
  const { apiGroup } = reference;
  if (apiGroup !== undefined && apiGroup !== null) problems.each(`${path}.apiGroup`, apiGroup, dnsSubdomain(apiGroup));
  validatePathSegment(problems, `${path}.kind`, reference.kind);
  validatePathSegment(problems, `${path}.name`, reference.name);
}

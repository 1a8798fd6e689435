// Owns the validation of the conditions of flow control's kinds: each has a type, and each type stands once.
import type { Problems } from '../../../api/validation/problems.ts';

export function validateConditionTypes(
  problems: Problems,
  conditions: readonly { readonly type?: string }[] | undefined,
): void {
  const seen = new Set<string>();
  conditions?.forEach(({ type = '' }, at) => {
    const path = `status.conditions[${at}].type`;
    if (seen.has(type)) problems.duplicate(path, type);
    seen.add(type);
    if (type === '') problems.required(path);
  });
}

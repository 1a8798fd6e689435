// Owns the validation of the free parameters that storage drivers are given.
import type { Problems } from '../../../api/validation/problems.ts';

const maxCount = 512;
const maxBytes = 256 * 1024;

export function validateParameters(
  problems: Problems,
  path: string,
  parameters: Readonly<Record<string, string>> | undefined,
  { mayBeEmpty }: { readonly mayBeEmpty: boolean },
): void {
  const names = Object.keys(parameters ?? {});
  if (names.length > maxCount) return problems.tooLong(path, maxCount);
  let bytes = 0;
  for (const name of names) {
    if (name === '') problems.invalid(path, name, 'field can not be empty');
    bytes += Buffer.byteLength(name) + Buffer.byteLength(parameters![name]!);
  }
  if (bytes > maxBytes) problems.tooLong(path, maxBytes);
  if (!mayBeEmpty && names.length === 0) problems.required(path, 'must contain at least one key/value pair');
}

// Owns the form of the names of storage and device drivers where they are required.
import type { Problems } from '../../../api/validation/problems.ts';
import { validateCsiDriver } from '../../../api/validation/volume-sources.ts';

/** An absent name is only told to be missing. */
export function validateDriverName(problems: Problems, path: string, name: string | undefined): void {
  if (!name) problems.required(path);
  else validateCsiDriver(problems, path, name);
}

// Owns which file paths are accepted: relative ones, without steps back.
import type { Problems } from './problems.ts';

export const hasBacksteps = (path: string): boolean => path.split('/').includes('..');

export function validateNoBacksteps(problems: Problems, field: string, path: string): void {
  if (hasBacksteps(path)) problems.invalid(field, path, "must not contain '..'");
}

/** Relative and below where it starts. */
export function validateDescendingPath(problems: Problems, field: string, path: string): void {
  if (path.startsWith('/')) problems.invalid(field, path, 'must be a relative path');
  validateNoBacksteps(problems, field, path);
}

/** As above, and no name that starts with "..": those are kept for atomic updates of volumes. */
export function validateLocalPath(problems: Problems, field: string, path: string): void {
  validateDescendingPath(problems, field, path);
  if (path.startsWith('..') && !path.startsWith('../')) problems.invalid(field, path, "must not start with '..'");
}

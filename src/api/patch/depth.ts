// Owns how deep a patch may nest.
import { badRequest } from '../status-error.ts';

/** Far beyond any kind's schema, far below what a call stack holds. */
const maxDepth = 1_000;

/** Throws StatusError 400 beyond the limit. */
export function checkDepth(depth: number): void {
  if (depth > maxDepth) throw badRequest(`the patch nests deeper than ${maxDepth} levels`);
}

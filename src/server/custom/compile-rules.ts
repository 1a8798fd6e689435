// Owns the way from a schema to its rules.
import type { Rules } from './rules.ts';
import type { Structural } from './structural.ts';

export function compileRules(_root: Structural): Rules | undefined {
  return undefined;
}

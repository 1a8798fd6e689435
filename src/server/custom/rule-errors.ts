// Owns the judgement of x-kubernetes-validations in a schema: that they compile, fit their place and cost little enough.
import type { FieldError } from '../../api/status-error.ts';
import type { Props, Structural } from './structural.ts';

export function ruleErrors(_root: Structural, _path: string, _before: Props | undefined): FieldError[] {
  return [];
}

// Owns the rules in CEL of one schema (x-kubernetes-validations): compiled once, run on objects. Types and estimates are elsewhere.
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { FieldError } from '../../api/status-error.ts';

/** Each does the work, and tells somebody how long it took. */
export interface RuleTimes {
  compiled<T>(work: () => T): T;
  evaluated<T>(work: () => T): T;
}

export interface Rules {
  judge(next: Frozen<KubeObject>, prev: Frozen<KubeObject> | undefined): FieldError[];
  /** Failures that were forgiven because nothing there changed. */
  warnings(next: Frozen<KubeObject>, prev: Frozen<KubeObject> | undefined): string[];
}

// Owns the list that validation fills: errors in the order in which they are found. Makes no decision.
import * as make from '../field-error.ts';
import type { FieldError } from '../status-error.ts';

/** Paths are JSON paths: "spec.containers[0].name"; "" is the object itself. */
export class Problems {
  readonly list: FieldError[] = [];

  get count(): number {
    return this.list.length;
  }

  /** For checks that see the same thing twice: each error once. */
  distinct(): FieldError[] {
    const seen = new Set<string>();
    return this.list.filter(({ field, message }) => {
      const text = `${field}: ${message}`;
      return !seen.has(text) && seen.add(text);
    });
  }

  required(path: string, detail = ''): void {
    this.list.push(make.required(path, detail));
  }

  invalid(path: string, value: unknown, detail: string): void {
    this.list.push(make.invalid(path, value, detail));
  }

  /** One "invalid" for each thing that a format check found wrong. */
  each(path: string, value: unknown, details: readonly string[]): void {
    for (const detail of details) this.list.push(make.invalid(path, value, detail));
  }

  notSupported(path: string, value: unknown, supported: readonly string[]): void {
    this.list.push(make.notSupported(path, value, supported));
  }

  forbidden(path: string, detail: string): void {
    this.list.push(make.forbidden(path, detail));
  }

  duplicate(path: string, value: unknown): void {
    this.list.push(make.duplicate(path, value));
  }

  notFound(path: string, value: unknown): void {
    this.list.push(make.notFound(path, value));
  }

  tooLong(path: string, max: number): void {
    this.list.push(make.tooLong(path, max));
  }

  tooMany(path: string, actual: number, max: number): void {
    this.list.push(make.tooMany(path, actual, max));
  }

  /** For fields that must hold one of a few words. Absent counts as empty. */
  oneOf(path: string, value: string | undefined, supported: readonly string[]): void {
    if (!value) this.required(path);
    else if (!supported.includes(value)) this.notSupported(path, value, supported);
  }

  /** As `oneOf`, for fields that may be absent; an empty word is not supported. */
  optionalOneOf(path: string, value: string | undefined, supported: readonly string[]): void {
    if (value !== undefined && !supported.includes(value)) this.notSupported(path, value, supported);
  }

  notNegative(path: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(path, value, 'must be greater than or equal to 0');
  }

  /** "may not change": values are compared as JSON data, absent and empty being the same. */
  immutable(path: string, next: unknown, prev: unknown, same: (a: unknown, b: unknown) => boolean): void {
    if (!same(next, prev)) this.invalid(path, next, 'field is immutable');
  }
}

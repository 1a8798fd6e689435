// Owns how validation errors are made and worded: the texts that clients show (API conventions, StatusCause). Decides nothing.
import { writeJson } from './codec/json-write.ts';
import type { FieldError, FieldErrorReason } from './status-error.ts';

export type { FieldError };

/** "spec.containers" + "name"; an empty path is the object itself. */
export function child(path: string, ...names: string[]): string {
  const joined = names.join('.');
  return path === '' ? joined : `${path}.${joined}`;
}

/** "spec.containers" + 0 is "spec.containers[0]". */
export function index(path: string, at: number): string {
  return `${path}[${at}]`;
}

/** "metadata.labels" + "a/b" is "metadata.labels[a/b]". */
export function key(path: string, name: string): string {
  return `${path}[${name}]`;
}

export function required(path: string, detail = ''): FieldError {
  return make('FieldValueRequired', path, 'Required value', detail);
}

/** `value` is shown: text quoted, numbers and booleans plain, anything else as JSON, undefined and null as "null". */
export function invalid(path: string, value: unknown, detail: string): FieldError {
  return make('FieldValueInvalid', path, `Invalid value: ${shown(value)}`, detail);
}

export function typeInvalid(path: string, value: unknown, detail: string): FieldError {
  return make('FieldValueTypeInvalid', path, `Invalid value: ${shown(value)}`, detail);
}

/** `supported` is shown in the order given; upstream usually sorts it. */
export function notSupported(path: string, value: unknown, supported: readonly string[]): FieldError {
  const values = supported.map(quoteText).join(', ');
  const detail = supported.length === 0 ? '' : `supported values: ${values}`;
  return make('FieldValueNotSupported', path, `Unsupported value: ${shown(value)}`, detail);
}

export function forbidden(path: string, detail: string): FieldError {
  return make('FieldValueForbidden', path, 'Forbidden', detail);
}

export function duplicate(path: string, value: unknown): FieldError {
  return make('FieldValueDuplicate', path, `Duplicate value: ${shown(value)}`, '');
}

export function notFound(path: string, value: unknown): FieldError {
  return make('FieldValueNotFound', path, `Not found: ${shown(value)}`, '');
}

/** The value is not shown: it is too long. `max` in bytes; negative: not said. */
export function tooLong(path: string, max: number): FieldError {
  return make(
    'FieldValueTooLong',
    path,
    'Too long',
    max < 0 ? 'value is too long' : `may not be more than ${max} bytes`,
  );
}

/** `actual` is the number of items; negative: not said. */
export function tooMany(path: string, actual: number, max: number): FieldError {
  const text = actual < 0 ? 'Too many' : `Too many: ${actual}`;
  return make('FieldValueTooMany', path, text, max < 0 ? 'has too many items' : `must have at most ${max} items`);
}

export function internalError(path: string, detail: string): FieldError {
  return make('InternalError', path, 'Internal error', detail);
}

function make(reason: FieldErrorReason, path: string, text: string, detail: string): FieldError {
  return { reason, field: path === '' ? '<nil>' : path, message: detail === '' ? text : `${text}: ${detail}` };
}

function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoteText(value);
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'undefined':
      return '"null"';
    default:
      return value === null ? '"null"' : writeJson(value);
  }
}

/** Quotes as Go's %q does: printable characters stay, the rest is escaped. */
export function quoteText(text: string): string {
  let result = '"';
  for (const char of text) {
    const code = char.codePointAt(0)!;
    const escape = escapes.get(code);
    if (escape !== undefined) result += escape;
    else if (code < 0x20 || code === 0x7f) result += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (code < 0x7f || printable.test(char)) result += char;
    else if (code < 0x10000) result += `\\u${code.toString(16).padStart(4, '0')}`;
    else result += `\\U${code.toString(16).padStart(8, '0')}`;
  }
  return `${result}"`;
}

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;

const escapes: ReadonlyMap<number, string> = new Map([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
]);

// Owns the way from strangers' bytes to a typed object: parse, check apiVersion and kind, decode against the schema, field validation.
import type { ObjectSchema } from '../schema/schema.ts';
import { badRequest, StatusError } from '../status-error.ts';
import { NumberText } from './json-parse.ts';
import type { ParsedJson } from './json-parse.ts';
import { TypeMismatch, ValueError } from './scalars.ts';
import { decoderOf, type Decoding } from './structure.ts';

export interface Decoded {
  readonly object: Record<string, unknown>;
  /** `unknown field "spec.foo"`, `duplicate field "spec.bar"`: what fieldValidation is about, at most about a hundred. */
  readonly strict: readonly string[];
  /** A number of 64 bits that a field could not keep. */
  readonly inexact?: string;
}

/** As Go says it of a value that is something else than it should be. */
function cannotUnmarshal(value: unknown, into: string): StatusError {
  const isNumber = typeof value === 'number' || value instanceof NumberText;
  const what = Array.isArray(value)
    ? 'array'
    : isNumber
      ? 'number'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value;
  return badRequest(`couldn't get version/kind; json parse error: json: cannot unmarshal ${what} into ${into}`);
}

/** What a body says of itself before it is decoded; empty where it says nothing. Throws 400 unless it is an object or null, which is an empty one. */
export function typeMetaOf(parsed: ParsedJson): { apiVersion: string; kind: string } {
  const { value } = parsed;
  if (value === null) return { apiVersion: '', kind: '' };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw cannotUnmarshal(
      value,
      String.raw`Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`,
    );
  const { apiVersion: versionGiven, kind: kindGiven } = value as { apiVersion?: unknown; kind?: unknown };
  const [apiVersion, kind] = [versionGiven ?? '', kindGiven ?? ''];
  if (typeof apiVersion !== 'string') throw cannotUnmarshal(apiVersion, 'Go struct field .apiVersion of type string');
  if (typeof kind !== 'string') throw cannotUnmarshal(kind, 'Go struct field .kind of type string');
  return { apiVersion, kind };
}

/**
 * Decodes a parsed body as `schema`. `kind` and `version` name it in errors ("Pod", "v1").
 * Throws StatusError 400 for values of wrong types.
 */
export function decodeParsed(schema: ObjectSchema, parsed: ParsedJson, kind: string, version: string): Decoded {
  const at: Decoding = { path: [], strict: [] };
  try {
    const object = decoderOf(schema)(parsed.value, at) as Record<string, unknown>;
    return { object, strict: inOrder(parsed, at.strict), ...(at.lost !== undefined && { inexact: at.lost }) };
  } catch (error) {
    throw asBadRequest(error, `${kind} in version "${version}" cannot be handled as a ${kind}`);
  }
}

/** What is wrong with the text and what with its fields, in the order in which upstream comes upon it. */
function inOrder(parsed: ParsedJson, unknown: readonly string[]): readonly string[] {
  const { value, sorted = false, patched = false } = parsed;
  const problems = sorted || patched ? parsed.problems : knownProblems(parsed.problems, unknown);
  if (unknown.length === 0 || (problems.length === 0 && !(sorted && unknown.length > 1)))
    return [...problems, ...unknown];
  // Problems of YAML are those of its text, which is read before.
  const [first, wanted] = sorted ? [problems, unknown] : [[], [...unknown, ...problems]];
  const byPath = new Map<string, string[]>();
  for (const text of wanted) {
    const path = pathOf(text);
    byPath.set(path, [...(byPath.get(path) ?? []), text]);
  }
  const found: string[] = [];
  const walk = (inner: unknown, path: string): void => {
    if (typeof inner !== 'object' || inner === null || byPath.size === 0) return;
    if (Array.isArray(inner)) {
      for (const [at, item] of inner.entries()) walk(item, `${path}[${at}]`);
      return;
    }
    const keys = Object.keys(inner);
    for (const key of sorted ? keys.sort() : keys) {
      const here = path === '' ? key : `${path}.${key}`;
      found.push(...(byPath.get(here) ?? []));
      byPath.delete(here);
      walk((inner as Record<string, unknown>)[key], here);
    }
  };
  walk(value, '');
  return [...first, ...found, ...[...byPath.values()].flat()];
}

const pathOf = (problem: string): string => problem.slice(problem.indexOf('"') + 1, -1);

/** What stands twice in a field that nobody knows is not looked at. */
function knownProblems(problems: readonly string[], unknown: readonly string[]): readonly string[] {
  if (problems.length === 0 || unknown.length === 0) return problems;
  const paths = new Set(unknown.map(pathOf));
  return problems.filter((problem) => {
    const path = pathOf(problem);
    if (paths.has(path)) return false;
    for (let at = path.length - 1; at > 0; at--)
      if ((path[at] === '.' || path[at] === '[') && paths.has(path.slice(0, at))) return false;
    return true;
  });
}

/** The error of fieldValidation=Strict; undefined when there is nothing to complain of. */
export function strictError(decoded: Decoded, kind: string, version: string): StatusError | undefined {
  if (decoded.strict.length === 0) return undefined;
  const texts = decoded.strict.join(', ');
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${texts}`);
}

/** Our own refusals become 400; a stack that is not deep enough for a body is the body's fault. */
export function asBadRequest(error: unknown, prefix: string): unknown {
  if (error instanceof TypeMismatch || error instanceof ValueError) return badRequest(`${prefix}: ${error.message}`);
  if (error instanceof RangeError) return badRequest(`${prefix}: exceeded max depth`);
  return error;
}

// Owns the judgement of custom objects by OpenAPI v3 value validations, compiled once to closures. Rules in CEL and list types are elsewhere.
import { codePoints } from '../../base/text.ts';
import { writeJson } from '../../api/codec/json-write.ts';
import { invalid, notSupported, required, tooLong, tooMany, typeInvalid } from '../../api/field-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { same } from '../verbs/equal.ts';
import { formatJudge } from './formats.ts';
import { dotted } from './pathing.ts';
import { textMatcher } from './patterns.ts';
import { isObject, isProps } from './structural.ts';
import type { JsonObject, Props } from './structural.ts';

/** Where the validation stands and what it found. */
export interface Judging {
  readonly place: (string | number)[];
  readonly errors: FieldError[];
}

/**
 * `old`: what stood there before, or `absent`. What did not change is not complained of (KEP-4008, "CRD validation ratcheting").
 */
export type Judge = (value: unknown, old: unknown, at: Judging) => void;

export const absent: unique symbol = Symbol('absent');

export function validateValue(
  judge: Judge,
  value: unknown,
  old: unknown = absent,
  place: readonly (string | number)[] = [],
): FieldError[] {
  const at: Judging = { place: [...place], errors: [] };
  judge(value, old, at);
  return at.errors;
}

type Check = (value: unknown, at: Judging, old: unknown) => void;

const add = (at: Judging, make: (field: string) => FieldError): void => {
  at.errors.push(make(dotted(at.place)));
};

/** Errors that upstream gives without a place. */
const placeless = (at: Judging, message: string): void => {
  at.errors.push({ reason: 'FieldValueInvalid', field: '<nil>', message: `Invalid value: "": ${message}` });
};

export function compileJudge(props: Props): Judge {
  const type = typeCheck(props);
  const enumeration = enumCheck(props);
  const rest = [
    junctors(props),
    stringCheck(props),
    formatCheck(props),
    numberCheck(props),
    listCheck(props),
    enumeration,
    objectCheck(props),
  ].filter((check) => check !== undefined);
  return (value, old, at) => {
    const before = at.errors.length;
    type?.(value, at, old);
    if (value === null) enumeration?.(value, at, old);
    else for (const check of rest) check(value, at, old);
    if (at.errors.length > before && old !== absent && unchanged(value, old, props)) at.errors.length = before;
  };
}

/**
 * That nothing changed, as far as the schema tells what belongs together: what stands in an object under a name that it says nothing of
 * counts as new, and items of a list of type map are found by their keys.
 */
export function unchanged(value: unknown, old: unknown, props: Props | undefined): boolean {
  if (Array.isArray(value) && Array.isArray(old)) {
    if (value.length !== old.length) return false;
    const items = isProps(props?.items) ? props.items : undefined;
    if (props?.['x-kubernetes-list-type'] !== 'map' || items === undefined) return same(value, old);
    const keys = props['x-kubernetes-list-map-keys'] ?? [];
    const before = byKeys(old, keys);
    return value.every((item) => unchanged(item, before.get(keyOf(item, keys)), items));
  }
  if (!isObject(value) || !isObject(old)) return same(value, old);
  const names = Object.keys(value);
  if (names.length !== Object.keys(old).length) return false;
  return names.every((name) => {
    const inner = propsUnder(props, name);
    return inner !== undefined && Object.hasOwn(old, name) && unchanged(value[name], old[name], inner);
  });
}

function propsUnder({ properties = {}, additionalProperties }: Props = {}, name: string): Props | undefined {
  if (Object.hasOwn(properties, name)) return properties[name];
  return isProps(additionalProperties) ? additionalProperties : undefined;
}

const isNumber = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

/** Numbers that were written as fractions count up to 2^53 (see `wholeNumber`). */
const isInteger = (value: unknown): boolean => typeof value === 'bigint' || Number.isSafeInteger(value);

/** However it was written. */
const isWithin64Bits = (value: number | bigint): boolean =>
  typeof value === 'bigint' || (Number.isInteger(value) && value > -(2 ** 63) && value < 2 ** 63);

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isNumber(value) ? (isInteger(value) ? 'integer' : 'number') : typeof value;
}

const isOf: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: isNumber,
  integer: isInteger,
};

function typeCheck(props: Props): Check | undefined {
  const intOrString = props['x-kubernetes-int-or-string'] === true;
  const wanted = intOrString ? 'integer,string' : (props.type ?? '');
  if (wanted === '') return undefined;
  const fits = intOrString
    ? (value: unknown) => typeof value === 'string' || isInteger(value)
    : (isOf[wanted] ?? (() => false));
  const nullable = props.nullable === true;
  return (value, at) => {
    if (value === null ? nullable : fits(value)) return;
    const shown = isObject(value) || Array.isArray(value) ? typeName(value) : (value ?? 'null');
    add(at, (field) =>
      typeInvalid(field, shown, `${field} in body must be of type ${wanted}: ${JSON.stringify(typeName(value))}`),
    );
  };
}

function enumCheck({ enum: values }: Props): Check | undefined {
  if (values === undefined || values.length === 0) return undefined;
  const plain = new Set<unknown>(values.filter((value) => typeof value !== 'object'));
  const others = values.filter((value) => typeof value === 'object' && value !== null);
  const texts = values.map((value) => (typeof value === 'string' ? value : writeJson(value)));
  return (value, at) => {
    if (value !== null && (plain.has(value) || others.some((other) => same(value, other)))) return;
    add(at, (field) => notSupported(field, value, texts));
  };
}

function stringCheck(props: Props): Check | undefined {
  const { maxLength, minLength, pattern } = props;
  if (maxLength === undefined && minLength === undefined && !pattern) return undefined;
  const matches = pattern ? textMatcher(pattern) : undefined;
  return (value, at) => {
    if (typeof value !== 'string') return;
    if (maxLength !== undefined && value.length > maxLength && codePoints(value) > maxLength) {
      add(at, (field) => tooLong(field, maxLength));
      return;
    }
    if (minLength !== undefined && codePoints(value) < minLength) {
      add(at, (field) => invalid(field, value, `${field} in body should be at least ${minLength} chars long`));
      return;
    }
    if (matches !== undefined && !matches(value))
      add(at, (field) => invalid(field, value, `${field} in body should match '${pattern}'`));
  };
}

function formatCheck({ format }: Props): Check | undefined {
  const judge = format ? formatJudge(format) : undefined;
  if (judge === undefined) return undefined;
  return (value, at) => {
    if (typeof value === 'string' && !judge(value))
      add(at, (field) =>
        typeInvalid(field, value, `${field} in body must be of type ${format}: ${JSON.stringify(value)}`),
      );
  };
}

function numberCheck(props: Props): Check | undefined {
  const { minimum, maximum, multipleOf, format } = props;
  const isIntegral = props.type === 'integer';
  const intOrString = props['x-kubernetes-int-or-string'] === true;
  const isFloat = format === 'float';
  if (
    !isIntegral &&
    !intOrString &&
    minimum === undefined &&
    maximum === undefined &&
    multipleOf === undefined &&
    !isFloat
  )
    return undefined;
  const isPossible = (bound: number): boolean =>
    !isIntegral ||
    (isWithin64Bits(bound) && (format !== 'int32' || (bound <= 2_147_483_647 && bound >= -2_147_483_648)));
  // Bounds that no value of the format can reach are the schema's fault, and told of each value, as upstream does.
  const wrong = Object.entries({ MultipleOf: multipleOf, 'Minimum boundary': minimum, 'Maximum boundary': maximum })
    .filter(([, bound]) => bound !== undefined && !isPossible(bound))
    .map(([what]) => what);
  return (value, at) => {
    if (!isNumber(value)) return;
    for (const what of wrong)
      placeless(at, `${what} value must be of type integer with format ${format ?? ''} in ${dotted(at.place)}`);
    if (
      isIntegral &&
      (!isWithin64Bits(value) || (format === 'int32' && (value > 2_147_483_647 || value < -2_147_483_648)))
    )
      placeless(at, `Checked value must be of type integer with format ${format ?? ''} in ${dotted(at.place)}`);
    if (isFloat && !Number.isFinite(Math.fround(Number(value))))
      placeless(at, `Checked value must be of type number with format float in ${dotted(at.place)}`);
    // A factor that is none of the type's values counts as a fraction.
    if (multipleOf !== undefined) multipleCheck(value, multipleOf, isPossible(multipleOf), at);
    if (maximum !== undefined && (props.exclusiveMaximum === true ? value >= maximum : value > maximum))
      add(at, (field) =>
        invalid(
          field,
          value,
          `${field} in body should be less than${props.exclusiveMaximum === true ? '' : ' or equal to'} ${maximum}`,
        ),
      );
    if (minimum !== undefined && (props.exclusiveMinimum === true ? value <= minimum : value < minimum))
      add(at, (field) =>
        invalid(
          field,
          value,
          `${field} in body should be greater than${props.exclusiveMinimum === true ? '' : ' or equal to'} ${minimum}`,
        ),
      );
  };
}

/** Upstream takes the factor for whole numbers without its fraction: of 0.5 nothing is left, which is no factor. */
function multipleCheck(value: number | bigint, multipleOf: number, isWithinType: boolean, at: Judging): void {
  if (isWithinType && isInteger(value)) {
    const factor = BigInt(Math.trunc(multipleOf));
    if (factor <= 0n)
      add(at, (field) => invalid(field, 0, `factor MultipleOf declared for ${field} must be positive: ${factor}`));
    else if (BigInt(value) % factor !== 0n) add(at, (field) => notMultiple(field, value, multipleOf));
  } else if (!isWhole(multipleOf < 1 ? (1 / multipleOf) * Number(value) : Number(value) / multipleOf))
    add(at, (field) => notMultiple(field, value, multipleOf));
}

const notMultiple = (field: string, value: unknown, multipleOf: number): FieldError =>
  invalid(field, value, `${field} in body should be a multiple of ${multipleOf}`);

/** As far as doubles tell: a rest of a thousand millionth is none. */
function isWhole(value: number): boolean {
  const whole = Math.trunc(value);
  if (value === whole) return Number.isSafeInteger(value);
  return Number.isFinite(value) && whole !== 0 && (value - whole) / (value + whole) < 1e-9;
}

function listCheck(props: Props): Check | undefined {
  const { items, minItems, maxItems } = props;
  const inner = isProps(items) ? later(items) : undefined;
  const keys = props['x-kubernetes-list-type'] === 'map' ? (props['x-kubernetes-list-map-keys'] ?? []) : undefined;
  if (inner === undefined && minItems === undefined && maxItems === undefined) return undefined;
  return (value, at, old) => {
    if (!Array.isArray(value)) return;
    if (inner !== undefined) {
      const before = keys !== undefined && Array.isArray(old) ? byKeys(old, keys) : undefined;
      for (let index = 0; index < value.length; index++) {
        at.place.push(index);
        const item: unknown = value[index];
        const prev = before?.get(keyOf(item, keys!));
        inner(item, prev === undefined ? absent : prev, at);
        at.place.pop();
      }
    }
    if (minItems !== undefined && value.length < minItems)
      add(at, (field) => invalid(field, value.length, `${field} in body should have at least ${minItems} items`));
    if (maxItems !== undefined && value.length > maxItems) add(at, (field) => tooMany(field, value.length, maxItems));
  };
}

export function keyOf(item: unknown, keys: readonly string[]): string {
  return writeJson(keys.map((key) => (isObject(item) ? (item[key] ?? null) : null)));
}

export function byKeys(items: readonly unknown[], keys: readonly string[]): Map<string, unknown> {
  return new Map(items.map((item) => [keyOf(item, keys), item]));
}

/** Nested schemas are compiled when they are first met. */
function later(props: Props): Judge {
  let judge: Judge | undefined;
  return (value, old, at) => (judge ??= compileJudge(props))(value, old, at);
}

function objectCheck(props: Props): Check | undefined {
  const { required: needed = [], minProperties, maxProperties, additionalProperties } = props;
  const named = new Map(Object.entries(props.properties ?? {}).map(([name, inner]) => [name, later(inner)]));
  const others = isProps(additionalProperties) ? later(additionalProperties) : undefined;
  if (
    named.size === 0 &&
    others === undefined &&
    needed.length === 0 &&
    minProperties === undefined &&
    maxProperties === undefined
  )
    return undefined;
  return (value, at, old) => {
    if (!isObject(value)) return;
    const count = minProperties === undefined && maxProperties === undefined ? 0 : Object.keys(value).length;
    if (minProperties !== undefined && count < minProperties)
      add(at, (field) => invalid(field, count, `${field} in body should have at least ${minProperties} properties`));
    if (maxProperties !== undefined && count > maxProperties) add(at, (field) => tooMany(field, count, maxProperties));
    const before = isObject(old) ? old : undefined;
    for (const name of Object.keys(value)) {
      const inner = named.get(name) ?? others;
      if (inner === undefined) continue;
      at.place.push(name);
      inner(value[name], before !== undefined && Object.hasOwn(before, name) ? before[name] : absent, at);
      at.place.pop();
    }
    missing(value, needed, at);
  };
}

function missing(value: JsonObject, needed: readonly string[], at: Judging): void {
  for (const name of needed) {
    if (Object.hasOwn(value, name)) continue;
    at.place.push(name);
    add(at, (field) => required(field));
    at.place.pop();
  }
}

/** anyOf, oneOf, allOf, not. Their own errors have no place, those of the nearest schema have. */
function junctors(props: Props): Check | undefined {
  const anyOf = (props.anyOf ?? []).map(later);
  const oneOf = (props.oneOf ?? []).map(later);
  const allOf = (props.allOf ?? []).map(later);
  const not = isProps(props.not) ? later(props.not) : undefined;
  if (anyOf.length + oneOf.length + allOf.length === 0 && not === undefined) return undefined;
  return (value, at) => {
    const tried = (judge: Judge): FieldError[] => validateValue(judge, value, absent, at.place);
    if (anyOf.length > 0) {
      const results = anyOf.map(tried);
      if (!results.some((errors) => errors.length === 0)) {
        placeless(at, `"${dotted(at.place)}" must validate at least one schema (anyOf)`);
        at.errors.push(...results[0]!);
      }
    }
    if (oneOf.length > 0) {
      const results = oneOf.map(tried);
      const valid = results.filter((errors) => errors.length === 0).length;
      if (valid !== 1) {
        placeless(at, `"${dotted(at.place)}" must validate one and only one schema (oneOf)`);
        if (valid === 0) at.errors.push(...results[0]!);
      }
    }
    if (allOf.length > 0) {
      const results = allOf.map(tried);
      for (const errors of results) at.errors.push(...errors);
      if (results.some((errors) => errors.length > 0))
        placeless(at, `"${dotted(at.place)}" must validate all the schemas (allOf)`);
    }
    if (not !== undefined && tried(not).length === 0)
      placeless(at, `"${dotted(at.place)}" must not validate the schema (not)`);
  };
}

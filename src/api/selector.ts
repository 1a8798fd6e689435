// Owns label selectors: parsing both forms, matching, canonical text, and validation of the object form.
import * as field from './field-error.ts';
import type { LabelSelector } from './generated/meta.v1.ts';
import type { Frozen } from './meta.ts';
import { labelValue, qualifiedName } from './names.ts';
import type { FieldError } from './status-error.ts';

export type Operator = 'in' | 'notin' | '=' | '==' | '!=' | 'exists' | '!' | 'gt' | 'lt';

export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  /** Sorted for set operators; one for =, ==, != and comparisons; none for exists and !. */
  readonly values: readonly string[];
}

/** All requirements must hold; none at all matches everything. 'nothing' matches nothing. */
export type Selector = readonly Requirement[] | 'nothing';

export const everything: Selector = [];
export const nothing: Selector = 'nothing';

export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

export type Labels = Readonly<Record<string, string>>;

export function matches(selector: Selector, labels: Labels | undefined): boolean {
  if (selector === 'nothing') return false;
  for (const requirement of selector) if (!holds(requirement, labels)) return false;
  return true;
}

function holds({ key, operator, values }: Requirement, labels: Labels | undefined): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key]! : undefined;
  switch (operator) {
    case 'in':
    case '=':
    case '==':
      return value !== undefined && values.includes(value);
    case 'notin':
    case '!=':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'gt':
      return value !== undefined && compareIntegers(value, values[0]!) === 1;
    case 'lt':
      return value !== undefined && compareIntegers(value, values[0]!) === -1;
  }
}

/** undefined when either is no 64-bit integer. */
export function compareIntegers(left: string, right: string): -1 | 0 | 1 | undefined {
  if (!isInteger(left) || !isInteger(right)) return undefined;
  const [a, b] = [BigInt(left), BigInt(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Digits with an optional sign, within 64 bits. */
export function isInteger(text: string): boolean {
  if (!/^[+-]?[0-9]{1,30}$/.test(text)) return false;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value >= -(2n ** 63n) && value < 2n ** 63n;
}

/** True when `labels` holds every pair of `wanted`: how services and equality selectors choose. */
export function containsAll(labels: Labels | undefined, wanted: Labels): boolean {
  for (const key of Object.keys(wanted))
    if (labels === undefined || !Object.hasOwn(labels, key) || labels[key] !== wanted[key]) return false;
  return true;
}

const operators: Readonly<Record<string, Operator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

/** The object form: undefined matches nothing, an empty one everything. Throws SelectorError when it is malformed. */
export function parseLabelSelector(selector: Frozen<LabelSelector> | LabelSelector | undefined | null): Selector {
  if (selector === undefined || selector === null) return nothing;
  const requirements: Requirement[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    requirements.push(makeRequirement(key, '=', [value]));
  for (const expression of selector.matchExpressions ?? []) {
    const operator = operators[expression.operator];
    if (operator === undefined || !Object.hasOwn(operators, expression.operator))
      throw new SelectorError(`"${expression.operator}" is not a valid label selector operator`);
    requirements.push(makeRequirement(expression.key, operator, expression.values ?? []));
  }
  return sorted(requirements);
}

const cached = new WeakMap<object, Selector>();

/** `parseLabelSelector`, worked out once for each frozen object; malformed selectors match nothing. */
export function selectorOf(selector: Frozen<LabelSelector> | undefined | null): Selector {
  if (selector === undefined || selector === null) return nothing;
  let parsed = Object.isFrozen(selector) ? cached.get(selector) : undefined;
  if (parsed === undefined) {
    try {
      parsed = parseLabelSelector(selector);
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      parsed = nothing;
    }
    if (Object.isFrozen(selector)) cached.set(selector, parsed);
  }
  return parsed;
}

export type LabelPredicate = (labels: Labels | undefined) => boolean;

/** An absent selector matches nothing, an empty one everything. Throws SelectorError when it is malformed. */
export function labelPredicate(selector: Frozen<LabelSelector> | undefined): LabelPredicate {
  const parsed = parseLabelSelector(selector);
  return (labels) => matches(parsed, labels);
}

/** For the plain maps of Services and ReplicationControllers: an empty or absent one matches nothing. */
export function mapPredicate(pairs: Labels | undefined): LabelPredicate {
  if (pairs === undefined || Object.keys(pairs).length === 0) return () => false;
  return (labels) => containsAll(labels, pairs);
}

export function isEmptySelector(selector: Frozen<LabelSelector> | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions?.length ?? 0) === 0;
}

/** "app=web,tier in (a,b),!old": the form of `labelSelector=` queries and of status.selector. */
export function labelSelectorText(selector: Frozen<LabelSelector>): string {
  return selectorText(parseLabelSelector(selector));
}

const byKey = (a: Requirement, b: Requirement): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

function sorted(requirements: Requirement[]): Selector {
  return requirements.sort(byKey);
}

function makeRequirement(key: string, operator: Operator, values: readonly string[]): Requirement {
  const wrong = qualifiedName(key);
  if (wrong.length > 0) throw new SelectorError(`key: Invalid value: ${field.quoteText(key)}: ${wrong.join('; ')}`);
  switch (operator) {
    case 'in':
    case 'notin':
      if (values.length === 0)
        throw new SelectorError("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
      break;
    case '=':
    case '==':
    case '!=':
      if (values.length !== 1)
        throw new SelectorError('values: Invalid value: exact-match compatibility requires one single value');
      break;
    case 'exists':
    case '!':
      if (values.length !== 0)
        throw new SelectorError('values: Invalid value: values set must be empty for exists and does not exist');
      break;
    case 'gt':
    case 'lt':
      if (values.length !== 1)
        throw new SelectorError("values: Invalid value: for 'Gt', 'Lt' operators, exactly one value is required");
      if (!isInteger(values[0]!))
        throw new SelectorError(
          `values[0]: Invalid value: ${field.quoteText(values[0]!)}: for 'Gt', 'Lt' operators, the value must be an integer`,
        );
  }
  for (const value of values) {
    const bad = labelValue(value);
    if (bad.length > 0)
      throw new SelectorError(`values[0][${key}]: Invalid value: ${field.quoteText(value)}: ${bad.join('; ')}`);
  }
  return {
    key,
    operator,
    values: operator === 'in' || operator === 'notin' ? [...new Set(values)].toSorted() : values,
  };
}

/** The text form of query parameters: "a=b,c in (d,e),!f". Throws SelectorError. */
export function parseSelectorText(text: string): Selector {
  const tokens = tokenize(text);
  const requirements: Requirement[] = [];
  let at = 0;
  const peek = (): string | undefined => tokens[at];
  const fail = (wanted: string): never => {
    throw new SelectorError(`unable to parse requirement: found '${peek() ?? ''}', expected: ${wanted}`);
  };
  const isWord = (token: string | undefined): token is string => token !== undefined && !symbols.has(token);

  const set = (): string[] => {
    if (peek() !== '(') fail("'('");
    at++;
    const values: string[] = [];
    for (;;) {
      const token = peek();
      if (isWord(token)) {
        values.push(token);
        at++;
      } else values.push('');
      if (peek() === ',') at++;
      else if (peek() === ')') break;
      else fail("',', or ')'");
    }
    at++;
    return values;
  };

  while (at < tokens.length) {
    if (peek() === '!') {
      at++;
      const key = peek();
      if (!isWord(key)) fail('identifier');
      requirements.push(makeRequirement(key as string, '!', []));
      at++;
    } else {
      const key = peek();
      if (!isWord(key)) fail('!, identifier, or end of string');
      at++;
      const operator = peek();
      if (operator === undefined || operator === ',') requirements.push(makeRequirement(key as string, 'exists', []));
      else if (operator === 'in' || operator === 'notin') {
        at++;
        requirements.push(makeRequirement(key as string, operator, set()));
      } else {
        const known = comparisons[operator];
        if (known === undefined) fail('in, notin, =, ==, !=, gt, lt');
        at++;
        const value = isWord(peek()) ? tokens[at++]! : '';
        requirements.push(makeRequirement(key as string, known!, [value]));
      }
    }
    if (at < tokens.length) {
      if (peek() !== ',') fail("',' or 'end of string'");
      at++;
      if (!isWord(peek()) && peek() !== '!') fail("identifier after ','");
    }
  }
  return sorted(requirements);
}

const comparisons: Readonly<Record<string, Operator | undefined>> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  '>': 'gt',
  '<': 'lt',
};
const symbols: ReadonlySet<string> = new Set(['!', '(', ')', ',', '=', '==', '!=', '<', '>']);
const token = /[ \t\r\n]*(==|!=|[!(),=<>]|[^ \t\r\n!(),=<>]+)/y;

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  const trimmed = text.trimEnd();
  token.lastIndex = 0;
  while (token.lastIndex < trimmed.length) {
    const match = token.exec(trimmed);
    if (match === null) throw new SelectorError(`unable to parse requirement: ${text}`);
    tokens.push(match[1]!);
  }
  return tokens;
}

/** The canonical text, as clients and scale subresources show it: "a=b,c in (d,e)". */
export function selectorText(selector: Selector): string {
  if (selector === 'nothing') return '';
  return selector.map(requirementText).join(',');
}

function requirementText({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'gt':
      return `${key}>${values[0]}`;
    case 'lt':
      return `${key}<${values[0]}`;
    default:
      return `${key}${operator}${values[0]}`;
  }
}

/** Validation of the object form. `path` is that of the selector. */
export function validateLabelSelector(selector: Frozen<LabelSelector> | undefined, path: string): FieldError[] {
  if (selector === undefined || selector === null) return [];
  const errors: FieldError[] = [];
  const pairs = field.child(path, 'matchLabels');
  for (const [name, value] of Object.entries(selector.matchLabels ?? {})) {
    for (const text of qualifiedName(name)) errors.push(field.invalid(pairs, name, text));
    for (const text of labelValue(value)) errors.push(field.invalid(pairs, value, text));
  }
  (selector.matchExpressions ?? []).forEach((expression, at) => {
    const here = field.index(field.child(path, 'matchExpressions'), at);
    const count = expression.values?.length ?? 0;
    const values = field.child(here, 'values');
    if (expression.operator === 'In' || expression.operator === 'NotIn') {
      if (count === 0) errors.push(field.required(values, "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (expression.operator === 'Exists' || expression.operator === 'DoesNotExist') {
      if (count > 0)
        errors.push(field.forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    } else
      errors.push(field.invalid(field.child(here, 'operator'), expression.operator, 'not a valid selector operator'));
    for (const text of qualifiedName(expression.key))
      errors.push(field.invalid(field.child(here, 'key'), expression.key, text));
    (expression.values ?? []).forEach((value, position) => {
      for (const text of labelValue(value)) errors.push(field.invalid(field.index(values, position), value, text));
    });
  });
  return errors;
}

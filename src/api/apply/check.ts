// Owns the check that an applied configuration is what its schema declares: unknown fields, wrong types, doubled items.
import type { ListSchema, ScalarSchema, Schema } from '../schema/schema.ts';
import { displayOf } from './element.ts';
import { deduced, isMap, itemElement, type JsonMap, NotTypable, valueSchema } from './structure.ts';

/** Enough for a message; a hostile body gets no longer one. */
const maxProblems = 20;

/** What is wrong, ".spec.replicas: expected integer, got string"; empty when all is well. At most 20 are told. */
export function checkApplied(schema: Schema, value: unknown): string[] {
  const problems: string[] = [];
  check(schema, value, () => '', { problems, mayRepeat: false });
  return problems;
}

/** That owners can be told of what is in it: all is of its type, and items of lists may be doubled. */
export function isTypable(schema: Schema, value: unknown): boolean {
  const problems: string[] = [];
  check(schema, value, () => '', { problems, mayRepeat: true });
  return problems.length === 0;
}

interface Found {
  readonly problems: string[];
  readonly mayRepeat: boolean;
}

/** A path, made only when there is something to tell. */
type Where = () => string;

function check(schema: Schema, value: unknown, path: Where, found: Found): void {
  const { problems } = found;
  if (value === null || value === undefined || problems.length >= maxProblems) return;
  switch (schema.type) {
    case 'object':
    case 'map':
      if (isMap(value)) checkMap(schema, value, path, found);
      else problems.push(`${path()}: expected map, got ${typeName(value)}`);
      return;
    case 'list':
      if (Array.isArray(value)) checkList(schema, value, path, found);
      else problems.push(`${path()}: expected list, got ${typeName(value)}`);
      return;
    case 'alternative':
      return;
    default:
      if (!accepts(schema, value)) problems.push(`${path()}: expected ${expected(schema)}, got ${typeName(value)}`);
  }
}

function checkMap(schema: Schema, value: JsonMap, path: Where, found: Found): void {
  const { problems } = found;
  for (const name of Object.keys(value)) {
    const below = valueSchema(schema, name);
    if (below === undefined) problems.push(`${path()}.${name}: field not declared in schema`);
    else if (below !== deduced) check(below, value[name], () => `${path()}.${name}`, found);
    if (problems.length >= maxProblems) return;
  }
}

function checkList(list: ListSchema, items: readonly unknown[], path: Where, found: Found): void {
  const { problems } = found;
  const seen = new Set<string>();
  for (let at = 0; at < items.length && problems.length < maxProblems; at++) {
    const item = items[at];
    let where: Where = () => `${path()}[${at}]`;
    if (list.listType === 'set' && item === null) {
      problems.push(`${path()}: element ${at}: null is no item of a set`);
      continue;
    }
    if (list.listType !== 'atomic') {
      try {
        const element = itemElement(list, item);
        where = () => path() + displayOf(element);
        if (!found.mayRepeat && seen.has(element))
          problems.push(`${path()}: duplicate entries for key ${displayOf(element)}`);
        seen.add(element);
      } catch (error) {
        if (!(error instanceof NotTypable)) throw error;
        problems.push(`${path()}: element ${at}: ${error.message}`);
        continue;
      }
    }
    check(list.items, item, where, found);
  }
}

/** Where a configuration says what is owned, and replaced, as a whole: ".spec.selector". */
export function atomicPlaces(schema: Schema, value: unknown, path = ''): string[] {
  if (isMap(value)) {
    const isWhole = (schema.type === 'object' || schema.type === 'map') && schema.atomic === true;
    const below = Object.keys(value).flatMap((name) => {
      const inner = valueSchema(schema, name);
      return inner === undefined ? [] : atomicPlaces(inner, value[name], `${path}.${name}`);
    });
    return isWhole ? [path, ...below] : below;
  }
  if (!Array.isArray(value)) return [];
  if (schema.type !== 'list') return schema.type === 'any' ? [path] : [];
  const below = value.flatMap((item, at) => atomicPlaces(schema.items, item, `${path}[${at}]`));
  return schema.listType === 'atomic' ? [path, ...below] : below;
}

function accepts(schema: ScalarSchema, value: unknown): boolean {
  switch (schema.type) {
    case 'string':
    case 'bytes':
    case 'time':
    case 'microTime':
    case 'duration':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'double':
      return typeof value === 'number' || typeof value === 'bigint';
    case 'quantity':
    case 'intOrString':
      return typeof value === 'string' || typeof value === 'number';
    case 'raw':
    case 'fields':
    case 'any':
      return true;
  }
}

function expected(schema: ScalarSchema): string {
  if (accepts(schema, '')) return 'string';
  return schema.type === 'boolean' ? 'boolean' : 'numeric (int or float)';
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  if (isMap(value)) return 'map';
  return typeof value;
}

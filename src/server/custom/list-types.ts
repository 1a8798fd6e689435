// Owns the invariants of lists of type set and map: no value and no key twice. Nothing else of them.
import { writeJson } from '../../api/codec/json-write.ts';
import { duplicate, invalid } from '../../api/field-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { dotted, partOf } from './pathing.ts';
import type { Part } from './pathing.ts';
import { isObject, under } from './structural.ts';
import type { Structural } from './structural.ts';
import { keyOf } from './validate.ts';

export function validateListTypes(value: unknown, schema: Structural): FieldError[] {
  const errors: FieldError[] = [];
  walk(value, schema, [], errors);
  return errors;
}

function walk(value: unknown, schema: Structural, place: Part[], errors: FieldError[]): void {
  if (!schema.hasLists) return;
  if (Array.isArray(value)) {
    if (schema.listType !== 'atomic') unique(value, schema, place, errors);
    const { items } = schema;
    if (items === undefined) return;
    for (let at = 0; at < value.length; at++) {
      place.push(at);
      walk(value[at], items, place, errors);
      place.pop();
    }
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    const inner = under(schema, name);
    if (inner === undefined) continue;
    place.push(partOf(schema.properties, name));
    walk(value[name], inner, place, errors);
    place.pop();
  }
}

/** Each value that comes again is told once, at its second place. */
function unique(items: readonly unknown[], schema: Structural, place: readonly Part[], errors: FieldError[]): void {
  const seen = new Map<string, number>();
  const isMap = schema.listType === 'map';
  const wrong = isMap ? items.findIndex((item) => item !== null && !isObject(item)) : -1;
  if (wrong >= 0) {
    const field = dotted([...place, wrong]);
    errors.push(invalid(field, items[wrong], 'must be an object for an array of list-type map'));
    return;
  }
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    const key = isMap ? keyOf(item ?? {}, schema.mapKeys) : canonical(item);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    if (times !== 2) continue;
    const shown =
      isMap && isObject(item)
        ? Object.fromEntries(
            schema.mapKeys.filter((name) => Object.hasOwn(item, name)).map((name) => [name, item[name]]),
          )
        : item;
    errors.push(duplicate(dotted([...place, at]), shown));
  }
}

/** The same text for the same JSON, whatever the order of its fields. */
function canonical(value: unknown): string {
  if (!isObject(value)) return Array.isArray(value) ? `[${value.map(canonical).join()}]` : writeJson(value);
  return `{${Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
    .join()}}`;
}

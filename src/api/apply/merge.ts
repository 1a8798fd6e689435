// Owns the merge of an applied configuration into an object, and the removal of fields from one. Shares what does not change.
import { setOwn } from '../meta.ts';
import type { ListSchema, Schema } from '../schema/schema.ts';
import { type Fields, isEmpty, isMember } from './fields.ts';
import { deduced, equalJson, isMap, itemElement, type JsonMap, partsOf, valueSchema } from './structure.ts';

/** `applied` over `live`. Throws `NotTypable`, also for two items of the same keys in `applied`. */
export function mergeApplied(schema: Schema, live: unknown, applied: unknown): unknown {
  if (applied === undefined || applied === live) return live;
  if (live === undefined && partsOf(schema, applied) === 'leaf') return applied;
  const parts = partsOf(schema, applied);
  if (parts === 'map') {
    const left = isMap(live) ? live : {};
    const right = isMap(applied) ? applied : {};
    if (Object.keys(left).length > 0 || Object.keys(right).length > 0) return mergeMaps(schema, live, left, right);
  } else if (parts === 'list') {
    const left = Array.isArray(live) ? live : [];
    const right = Array.isArray(applied) ? applied : [];
    if (left.length > 0 || right.length > 0) return mergeLists(schema as ListSchema, left, right);
  }
  return equalJson(live, applied) ? live : applied;
}

function mergeMaps(schema: Schema, live: unknown, left: JsonMap, right: JsonMap): unknown {
  let changed = left !== live;
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(left)) {
    const was = left[name];
    const merged = Object.hasOwn(right, name)
      ? mergeApplied(valueSchema(schema, name) ?? deduced, was, right[name])
      : was;
    if (merged !== was) changed = true;
    setOwn(result, name, merged);
  }
  for (const name of Object.keys(right)) {
    if (Object.hasOwn(left, name)) continue;
    changed = true;
    setOwn(result, name, mergeApplied(valueSchema(schema, name) ?? deduced, undefined, right[name]));
  }
  return changed ? result : live;
}

/** The applied order holds among applied items; what only the live list has keeps its place relative to its neighbours. */
function mergeLists(list: ListSchema, left: readonly unknown[], right: readonly unknown[]): unknown {
  const before = left.map((item) => itemElement(list, item));
  const wanted = right.map((item) => itemElement(list, item));
  const live = firstByElement(before, left);
  const applied = uniqueByElement(wanted, right);
  const shared = wanted.filter((element) => live.has(element));
  const done = new Set<string>();
  const result: unknown[] = [];
  let next = 0;
  const take = (element: string, item: unknown): void => {
    result.push(mergeApplied(list.items, item, applied.get(element)));
    done.add(element);
    if (shared[next] === element) next++;
  };
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const mine = before[l];
    if (mine !== undefined && r < right.length) {
      if (mine === wanted[r]) {
        take(mine, live.get(mine));
        l++;
        r++;
        continue;
      }
      if (applied.has(mine) && next < shared.length && shared[next] !== mine) {
        l++;
        continue;
      }
    }
    if (mine !== undefined && !applied.has(mine)) {
      result.push(left[l++]);
      continue;
    }
    if (mine !== undefined && done.has(mine)) l++;
    if (r < right.length) {
      take(wanted[r]!, live.get(wanted[r]!));
      r++;
    }
  }
  return result.length === left.length && result.every((item, at) => item === left[at]) ? left : result;
}

function firstByElement(elements: readonly string[], items: readonly unknown[]): Map<string, unknown> {
  const found = new Map<string, unknown>();
  elements.forEach((element, at) => {
    if (!found.has(element)) found.set(element, items[at]);
  });
  return found;
}

function uniqueByElement(elements: readonly string[], items: readonly unknown[]): Map<string, unknown> {
  const found = new Map(elements.map((element, at) => [element, items[at]]));
  // `checkApplied` has refused duplicates; merging on would pair the wrong items.
  if (found.size !== elements.length) throw new Error('duplicate items in an applied list');
  return found;
}

/** Without the fields of `set` and all beneath them. An object of which nothing is left becomes null, as upstream has it. */
export function removeFields(schema: Schema, value: unknown, set: Fields): unknown {
  if (isEmpty(set)) return value;
  const parts = partsOf(schema, value);
  if (parts === 'map' && isMap(value)) return removeFromMap(schema, value, set);
  if (parts === 'list' && Array.isArray(value)) return removeFromList(schema as ListSchema, value, set);
  return schema.type === 'object' || schema.type === 'map' || schema.type === 'list' ? null : value;
}

function removeFromMap(schema: Schema, value: JsonMap, set: Fields): unknown {
  let changed = false;
  const result: Record<string, unknown> = {};
  let left = 0;
  for (const name of Object.keys(value)) {
    const node = set[`f:${name}`];
    const was = value[name];
    if (node !== undefined && isMember(node)) {
      changed = true;
      continue;
    }
    const kept = node === undefined ? was : removeFields(valueSchema(schema, name) ?? deduced, was, node);
    if (kept !== was) changed = true;
    setOwn(result, name, kept);
    left++;
  }
  if (!changed) return value;
  return left === 0 ? null : result;
}

function removeFromList(list: ListSchema, value: readonly unknown[], set: Fields): unknown {
  let changed = false;
  const result: unknown[] = [];
  for (const item of value) {
    const node = set[itemElement(list, item)];
    if (node !== undefined && isMember(node)) {
      changed = true;
      continue;
    }
    const kept = node === undefined ? item : removeFields(list.items, item, node);
    if (kept !== item) changed = true;
    result.push(kept);
  }
  if (!changed) return value;
  return result.length === 0 ? null : result;
}

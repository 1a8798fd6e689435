// Owns how strategic merge joins two lists and in which order the result stands.
import { writeJson } from '../codec/json-write.ts';
import { isMap, type JsonMap } from '../apply/structure.ts';
import { badRequest, type StatusError } from '../status-error.ts';
import { directive, withoutDirectives } from './strategic-directives.ts';

function noMergeKey(mergeKey: string): StatusError {
  return badRequest(`an item of the patch does not have the merge key: ${mergeKey}`);
}

/** Scalars: those of the patch are added where missing. */
export function mergeScalarLists(was: readonly unknown[], wanted: readonly unknown[]): readonly unknown[] {
  const merged = [...new Set([...was, ...wanted])];
  return ordered.arrange(merged, wanted, was, undefined);
}

/** Objects, matched by their merge key. */
export function mergeObjectLists(
  was: readonly JsonMap[],
  wanted: readonly JsonMap[],
  mergeKey: string,
  merge: (left: JsonMap, right: JsonMap) => JsonMap,
): readonly unknown[] {
  const additions: JsonMap[] = [];
  const deleted = new Set<string>();
  let replace = false;
  for (const item of wanted) {
    const asked = item[directive];
    if (asked === undefined) additions.push(item);
    else if (asked === 'delete') deleted.add(requiredKey(item, mergeKey));
    else if (asked === 'replace') replace = true;
    else throw badRequest(`unknown patch type: ${writeJson(asked)}`);
  }
  if (replace) return additions;
  const base = deleted.size === 0 ? [...was] : was.filter((item) => !deleted.has(keyOf(item, mergeKey)));
  const places = placesIn(base, mergeKey);
  for (const item of additions) {
    const key = requiredKey(item, mergeKey);
    const at = places.get(key);
    if (at !== undefined) base[at] = merge(base[at]!, item);
    else {
      places.set(key, base.length);
      const added = withoutDirectives(item, 0) as JsonMap;
      // A key of null is one that says nothing, for validation to refuse.
      base.push(item[mergeKey] === null ? { ...added, [mergeKey]: null } : added);
    }
  }
  return ordered.arrange(base, additions, was, mergeKey);
}

/** What identifies an item, as text: its merge key, or all of it. */
function keyOf(item: unknown, mergeKey: string | undefined): string {
  if (mergeKey === undefined) return writeJson(item);
  return isMap(item) ? (writeJson(item[mergeKey]) ?? '') : '';
}

function requiredKey(item: JsonMap, mergeKey: string): string {
  if (item[mergeKey] === undefined) throw noMergeKey(mergeKey);
  return keyOf(item, mergeKey);
}

function placesIn(list: readonly unknown[], mergeKey: string | undefined): Map<string, number> {
  const places = new Map<string, number>();
  list.forEach((item, at) => {
    const key = keyOf(item, mergeKey);
    if (!places.has(key)) places.set(key, at);
  });
  return places;
}

/** Orders asked for by $setElementOrder, or by the order of a patch's own items. */
export const ordered = {
  /** Throws unless the items of the patch stand in the order's order. */
  check(items: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
    requireKeys(order, mergeKey);
    // An empty order asks for nothing.
    if (order.length === 0) return;
    const present = items.filter((item) => !(isMap(item) && item[directive] === 'delete'));
    let next = 0;
    for (const wanted of order)
      if (next < present.length && keyOf(present[next], mergeKey) === keyOf(wanted, mergeKey)) next++;
    if (next < present.length)
      throw badRequest("the order of the patch's list does not match its $setElementOrder list");
  },

  /**
   * `merged` with the items that `order` names in that order; each other item stands before the first named one that
   * followed it in `before`.
   */
  arrange(
    merged: readonly unknown[],
    order: readonly unknown[],
    before: readonly unknown[],
    mergeKey: string | undefined,
  ): readonly unknown[] {
    requireKeys(merged, mergeKey);
    const orderPlaces = placesIn(order, mergeKey);
    const beforePlaces = placesIn(before, mergeKey);
    const named: { item: unknown; at: number; was: number }[] = [];
    const others: { item: unknown; was: number }[] = [];
    for (const item of merged) {
      const key = keyOf(item, mergeKey);
      const at = orderPlaces.get(key) ?? -1;
      const was = beforePlaces.get(key) ?? -1;
      if (at >= 0) named.push({ item, at, was });
      else others.push({ item, was });
    }
    named.sort((a, b) => a.at - b.at);
    // New ones that an empty order does not name come last.
    const place = ({ was }: { was: number }): number => (was < 0 ? before.length : was);
    others.sort((a, b) => place(a) - place(b));
    const result: unknown[] = [];
    let next = 0;
    for (const { item, was } of named) {
      while (next < others.length && was >= 0 && others[next]!.was >= 0 && others[next]!.was < was)
        result.push(others[next++]!.item);
      result.push(item);
    }
    while (next < others.length) result.push(others[next++]!.item);
    return result;
  },
};

function requireKeys(items: readonly unknown[], mergeKey: string | undefined): void {
  if (mergeKey === undefined) return;
  for (const item of items) if (!isMap(item) || item[mergeKey] === undefined) throw noMergeKey(mergeKey);
}

// Owns equality as the API means it: absent, null and empty lists and maps are the same. Quantities are compared as text.

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'object' && (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0));

/** Semantic equality of JSON values, used to tell whether an update changed something. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a)) return isEmpty(b);
  if (isEmpty(b)) return false;
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => same(item, b[at]));
  if (Array.isArray(b)) return false;
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(left)) if (!sameField(left, right, key)) return false;
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key) && !isEmpty(right[key])) return false;
  return true;
}

function sameField(
  left: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
  key: string,
): boolean {
  return same(left[key], Object.hasOwn(right, key) ? right[key] : undefined);
}

// Owns the question whether two JSON values are the same. No meaning.

export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let at = 0; at < a.length; at++) if (!same(a[at], b[at])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  const keys = definedKeys(a);
  if (keys.length !== definedKeys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return false;
    if (!same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])) return false;
  }
  return true;
}

function definedKeys(value: object): string[] {
  const keys = Object.keys(value);
  return keys.some((key) => (value as Record<string, unknown>)[key] === undefined)
    ? keys.filter((key) => (value as Record<string, unknown>)[key] !== undefined)
    : keys;
}

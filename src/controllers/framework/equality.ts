// Owns comparing API values: deep, without regard to the order of keys, an absent field being equal to an undefined one.

export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((value, at) => isEqual(value, b[at]))
    );
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key of Object.keys(left)) if (!isEqual(left[key], own(right, key))) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && own(left, key) === undefined) return false;
  return true;
}

function own(obj: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(obj, key) ? obj[key] : undefined;
}

/** 32-bit FNV-1a of a value's canonical JSON, in the alphabet of generated names: stable names for templates. */
export function shortHash(value: unknown, salt?: number): string {
  const text = canonical(value) + (salt === undefined ? '' : `#${salt}`);
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return safeEncode(String(hash));
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Letters that can form no words (as the server's generated names). */
function safeEncode(text: string): string {
  return Array.from(text, (letter) => alphabet[letter.charCodeAt(0) % alphabet.length]).join('');
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}

// Owns the quick look at JSON text which tells whether JSON.parse can be trusted with it: duplicate keys, odd numbers, depth.

export interface Scan {
  /** Colons outside strings: as many as there are keys. */
  readonly keys: number;
  /** A number that is no plain integer of up to 15 digits: its text matters. */
  readonly oddNumbers: boolean;
  readonly depth: number;
}

const quote = 0x22;
const backslash = 0x5c;

/** Meant for well-formed JSON; of other text it says something, which JSON.parse then refuses. */
export function scanJson(text: string): Scan {
  let keys = 0;
  let depth = 0;
  let deepest = 0;
  let oddNumbers = false;
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      digits = 0;
      continue;
    }
    if (code >= 0x30 && code <= 0x39) {
      if (++digits > 15) oddNumbers = true;
      continue;
    }
    if (code === 0x2e || (digits > 0 && (code === 0x65 || code === 0x45))) oddNumbers = true;
    else if (code === 0x2d && text.charCodeAt(at + 1) === 0x30) oddNumbers = true;
    digits = 0;
    if (code === 0x3a) keys++;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > deepest) deepest = depth;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return { keys, oddNumbers, depth: deepest };
}

/** The index of the closing quote; the text's length when there is none. */
function endOfString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (close >= 0 && text.charCodeAt(close - 1) === backslash) {
    let slashes = 1;
    while (text.charCodeAt(close - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) break;
    close = text.indexOf('"', close + 1);
  }
  return close < 0 ? text.length : close;
}

/** The number of keys in a parsed value: fewer than in the text when some were given twice. */
export function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) count += countKeys(item);
    return count;
  }
  const keys = Object.keys(value);
  count = keys.length;
  for (const key of keys) {
    const inner = (value as Record<string, unknown>)[key];
    if (typeof inner === 'object' && inner !== null) count += countKeys(inner);
  }
  return count;
}

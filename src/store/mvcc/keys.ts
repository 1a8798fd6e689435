// Owns the order of keys: by UTF-8 bytes, in a form in which JavaScript's own string comparison is right.
import { InvalidRequest } from '../store.ts';
import type { KeyRange } from '../store.ts';

/**
 * A key with one character for each UTF-8 byte, so that `<` orders by bytes. ASCII keys, that is all of Kubernetes', are
 * their own form and cost a scan only.
 */
export type ByteKey = string & { readonly byteKey: true };

const beyondAscii = /[^\0-\x7f]/;
const loneSurrogate = /\p{Surrogate}/u;

export function byteKey(text: string): ByteKey {
  if (!beyondAscii.test(text)) return text as ByteKey;
  if (loneSurrogate.test(text)) throw new InvalidRequest('a key must be well-formed Unicode text');
  return Buffer.from(text, 'utf8').toString('latin1') as ByteKey;
}

export function keyText(key: ByteKey): string {
  return beyondAscii.test(key) ? Buffer.from(key, 'latin1').toString('utf8') : key;
}

/** `end` undefined: no upper bound. A single key is the range up to its successor, key + "\0". */
export interface Bounds {
  readonly start: ByteKey;
  readonly end: ByteKey | undefined;
}

export function boundsOf(range: KeyRange): Bounds {
  if (range.start === '') throw new InvalidRequest('the key is empty', 'emptyKey');
  const start = byteKey(range.start);
  if (range.end === undefined) return { start, end: `${start}\0` as ByteKey };
  return { start, end: range.end === '\0' ? undefined : byteKey(range.end) };
}

export function within(bounds: Bounds, key: ByteKey): boolean {
  return key >= bounds.start && (bounds.end === undefined || key < bounds.end);
}

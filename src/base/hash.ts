// Owns hashes: one that spreads texts and keeps nothing secret, and one by which contents are told apart.
import { createHash } from 'node:crypto';

/** FNV-1a over UTF-16 code units, 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Of contents; hexadecimal digits in capitals. */
export const sha512 = (content: Buffer | string): string =>
  createHash('sha512').update(content).digest('hex').toUpperCase();

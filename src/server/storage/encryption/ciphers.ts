// Owns the ciphers of encryption at rest, byte for byte as kube-apiserver stores them. Pure but for chance. Knows no prefix.
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Random } from '../../../base/random.ts';
import { Undecryptable } from './transformer.ts';
import type { Transformer } from './transformer.ts';

const blockBytes = 16;
const gcmNonceBytes = 12;
const gcmTagBytes = 16;
const boxNonceBytes = 24;
const infoBytes = 32;

/** IV, then AES-CBC with PKCS #7 padding. Does not authenticate: a changed byte shows only when what comes out makes no sense. */
export function aesCbc(key: Uint8Array, random: Random): Transformer {
  const name = `aes-${key.length * 8}-cbc`;
  return {
    toStorage(plain) {
      const iv = random.bytes(blockBytes);
      const cipher = createCipheriv(name, key, iv);
      return Buffer.concat([iv, cipher.update(plain), cipher.final()]);
    },
    fromStorage(stored) {
      if (stored.length < 2 * blockBytes || stored.length % blockBytes !== 0)
        throw new Undecryptable('the value is not made of whole blocks');
      const decipher = createDecipheriv(name, key, stored.subarray(0, blockBytes));
      return attempt(
        'the padding is wrong',
        () => decipher.update(stored.subarray(blockBytes)),
        () => decipher.final(),
      );
    },
  };
}

/** Nonce, ciphertext, tag; the key in the store is the authenticated data. */
export function aesGcm(key: Uint8Array, random: Random): Transformer {
  const name = `aes-${key.length * 8}-gcm` as 'aes-256-gcm';
  return {
    toStorage(plain, place) {
      const nonce = random.bytes(gcmNonceBytes);
      const cipher = createCipheriv(name, key, nonce);
      cipher.setAAD(Buffer.from(place));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    fromStorage(stored, place) {
      if (stored.length < gcmNonceBytes + gcmTagBytes) throw new Undecryptable('the value is too short');
      const decipher = createDecipheriv(name, key, stored.subarray(0, gcmNonceBytes), { authTagLength: gcmTagBytes });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(stored.subarray(-gcmTagBytes));
      return attempt(
        'it was changed, or written under another key or for another object',
        () => decipher.update(stored.subarray(gcmNonceBytes, -gcmTagBytes)),
        () => decipher.final(),
      );
    },
  };
}

/** Nonce, then NaCl's secretbox (XSalsa20 and Poly1305). Authenticates the value, not its place. */
export function secretbox(key: Uint8Array, random: Random): Transformer {
  return {
    toStorage(plain) {
      const nonce = random.bytes(boxNonceBytes);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(plain)]);
    },
    fromStorage(stored) {
      if (stored.length < boxNonceBytes + gcmTagBytes) throw new Undecryptable('the value is too short');
      const box = xsalsa20poly1305(key, stored.subarray(0, boxNonceBytes));
      return attempt('it was changed, or written under another key', () => box.decrypt(stored.subarray(boxNonceBytes)));
    },
  };
}

/**
 * AES-GCM under a key of its own for each value, derived from the seed by HKDF's expansion with SHA-256: the 32 bytes that chose the
 * key, then what `aesGcm` writes. The seed may so be used for ever (KEP-3299).
 */
export function derivedAesGcm(seed: Uint8Array, random: Random): Transformer {
  return {
    toStorage(plain, place) {
      const info = random.bytes(infoBytes);
      return Buffer.concat([info, aesGcm(expandedKey(seed, info), random).toStorage(plain, place)]);
    },
    fromStorage(stored, place) {
      if (stored.length < infoBytes) throw new Undecryptable('the value is too short');
      return aesGcm(expandedKey(seed, stored.subarray(0, infoBytes)), random).fromStorage(
        stored.subarray(infoBytes),
        place,
      );
    },
  };
}

/** HKDF-Expand (RFC 5869) with SHA-256 to 32 bytes: its first block. */
export function expandedKey(seed: Uint8Array, info: Uint8Array): Uint8Array {
  return createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest();
}

function attempt(why: string, ...parts: readonly (() => Uint8Array)[]): { value: Uint8Array; stale: false } {
  try {
    const pieces = parts.map((part) => part());
    return { value: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), stale: false };
  } catch (error) {
    throw new Undecryptable(`the value cannot be decrypted: ${why}`, { cause: error });
  }
}

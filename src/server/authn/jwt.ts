// Owns signed tokens (JWS, compact): made and checked with node:crypto. Knows nothing of what is in them.
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export interface SigningKey {
  readonly key: KeyObject;
  readonly id: string;
  readonly algorithm: 'RS256' | 'ES256' | 'ES384' | 'ES512';
}

export type VerifyingKey = SigningKey;

const hashes = { RS256: 'sha256', ES256: 'sha256', ES384: 'sha384', ES512: 'sha512' } as const;

/** The id that upstream gives a key: the digest of its public form. */
function keyId(key: KeyObject): string {
  const spki = (key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest('base64url');
}

function algorithmOf(key: KeyObject): SigningKey['algorithm'] {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  if (key.asymmetricKeyType === 'ec') {
    switch (key.asymmetricKeyDetails?.namedCurve) {
      case 'prime256v1':
        return 'ES256';
      case 'secp384r1':
        return 'ES384';
      case 'secp521r1':
        return 'ES512';
    }
  }
  throw new Error('keys of service accounts must be RSA or ECDSA (P-256, P-384, P-521)');
}

export function signingKey(pem: string): SigningKey {
  const key = createPrivateKey(pem);
  return { key, id: keyId(key), algorithm: algorithmOf(key) };
}

/** From a public or private key, or a certificate. */
export function verifyingKey(pem: string): VerifyingKey {
  const key = createPublicKey(pem);
  return { key, id: keyId(key), algorithm: algorithmOf(key) };
}

export function signToken(payload: object, { key, id, algorithm }: SigningKey): string {
  const text = `${encode({ alg: algorithm, kid: id })}.${encode(payload)}`;
  const signature = sign(hashes[algorithm], Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export interface ParsedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly signed: string;
  readonly signature: Buffer;
}

/** Undefined for what is no token of this form. Checks nothing. */
export function parseToken(token: string): ParsedToken | undefined {
  const parts = token.split('.');
  if (parts.length !== 3 || token.length > 65_536) return undefined;
  try {
    const [header, payload] = [parts[0]!, parts[1]!].map((part) =>
      JSON.parse(Buffer.from(part, 'base64url').toString()),
    );
    if (typeof header !== 'object' || typeof payload !== 'object' || header === null || payload === null)
      return undefined;
    return { header, payload, signed: `${parts[0]}.${parts[1]}`, signature: Buffer.from(parts[2]!, 'base64url') };
  } catch {
    return undefined;
  }
}

/** The algorithm is the key's: what the token says of it must agree. */
export function isSignedBy(token: ParsedToken, { key, id, algorithm }: VerifyingKey): boolean {
  if (token.header['alg'] !== algorithm) return false;
  const kid = token.header['kid'];
  if (kid !== undefined && kid !== id) return false;
  return verify(hashes[algorithm], Buffer.from(token.signed), { key, dsaEncoding: 'ieee-p1363' }, token.signature);
}

export function jwkOf({ key, id, algorithm }: VerifyingKey): Record<string, unknown> {
  const publicKey = key.type === 'public' ? key : createPublicKey(key);
  const { kty, crv, ...numbers } = publicKey.export({ format: 'jwk' });
  return { use: 'sig', kty, kid: id, ...(crv !== undefined && { crv }), alg: algorithm, ...numbers };
}

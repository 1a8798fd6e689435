// Owns the key that signs the tokens kept in service-account-token Secrets: the API server verifies them with the same.
import { signingKey, signToken } from '../server/authn/jwt.ts';
import { UserError } from './user-error.ts';

/** Signs claims as they are: such tokens never expire. Throws UserError when the PEM holds no usable private key. */
export function legacyTokenSigner(keyPem: string): (claims: Readonly<Record<string, unknown>>) => string {
  try {
    const key = signingKey(keyPem);
    return (claims) => signToken(claims, key);
  } catch (error) {
    throw new UserError(
      `the key for ServiceAccount tokens cannot be used: ${(error as Error).message}`,
      'give a PEM file with an RSA or ECDSA private key',
    );
  }
}

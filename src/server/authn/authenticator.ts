// Owns the question who asks: authenticators in order, the first that knows wins; a credential that nobody accepts is refused.
import { warn } from '../request.ts';
import type { ApiRequest, UserInfo } from '../request.ts';

/** Knows nothing of the credential: the next is asked. */
export type Unknown = undefined;

export interface Authenticator {
  readonly name: string;
  /** Throws `BadCredential` for one that it knows and refuses. */
  authenticate(request: ApiRequest): UserInfo | Unknown | Promise<UserInfo | Unknown>;
}

export class BadCredential extends Error {
  override readonly name = 'BadCredential';
}

/** Checks bearer tokens. */
export interface TokenAuthenticator {
  readonly name: string;
  authenticateToken(token: string): TokenResult | Unknown | Promise<TokenResult | Unknown>;
}

export interface TokenResult {
  readonly user: UserInfo;
  readonly audiences?: readonly string[];
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

const authenticatedGroup = 'system:authenticated';

/** Everyone who proved a name is also in system:authenticated. */
export function authenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(authenticatedGroup) || user.groups.includes('system:unauthenticated')) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}

/** The token of an Authorization header; undefined when there is none. */
export function bearerToken(request: ApiRequest): string | undefined {
  const header = request.headers['authorization'];
  if (typeof header !== 'string' || header === '') return undefined;
  const [scheme, token] = header.trim().split(' ');
  if (scheme?.toLowerCase() === 'bearer' && token === '')
    warn(request, 'the Authorization header holds more than one space behind "Bearer": no token was seen');
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined || token === '') return undefined;
  return token;
}

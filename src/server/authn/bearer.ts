// Owns bearer tokens: the token authenticators in order, with what they said remembered for a short while.
import * as crypto from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { TokenMetrics } from '../metrics/tokens.ts';
import { warn } from '../request.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import type { Authenticator, TokenAuthenticator, TokenResult } from './authenticator.ts';
import { BadCredential, bearerToken } from './authenticator.ts';

/** A good token is believed so long without asking again (upstream's figure): an account's deletion takes that long to show. */
const rememberMs = 10_000;
const rememberLimit = 4096;

/** In one call where node has it (20.12 and later), which takes half the time. */
const digestOf: (token: string) => string =
  typeof crypto.hash === 'function'
    ? (token) => crypto.hash('sha256', token, 'base64')
    : (token) => crypto.createHash('sha256').update(token).digest('base64');

export interface BearerTokens extends Authenticator {
  /** For TokenReview: undefined when nobody knows the token. */
  check(token: string): Promise<TokenResult | undefined>;
  /** Forgets what was said of tokens: who says it has changed. */
  forget(): void;
}

/** `audiences`: a request is only answered for tokens meant for one of them; tokens without audiences are for anyone. */
export function bearerTokens(
  authenticators: readonly TokenAuthenticator[],
  clock: Clock,
  audiences?: readonly string[],
  metrics?: TokenMetrics,
): BearerTokens {
  const known = new Map<string, { readonly result: TokenResult; readonly untilMs: number }>();

  async function check(token: string): Promise<TokenResult | undefined> {
    for (const authenticator of authenticators) {
      const result = await authenticator.authenticateToken(token);
      if (result !== undefined) return result;
    }
    return undefined;
  }

  function accept(request: ApiRequest, { user, annotations, warning }: TokenResult): UserInfo {
    for (const name in annotations) (request.annotations ??= new Map()).set(name, annotations[name]!);
    if (warning !== undefined) warn(request, warning);
    return user;
  }

  async function slowly(key: string, token: string, request: ApiRequest): Promise<UserInfo> {
    const tell = metrics?.miss();
    let result: TokenResult | undefined;
    try {
      result = await check(token);
      tell?.('ok');
    } catch (error) {
      tell?.(error instanceof BadCredential ? 'ok' : 'error');
      throw error;
    }
    if (result === undefined) throw new BadCredential('unknown token');
    if (
      audiences !== undefined &&
      result.audiences !== undefined &&
      !result.audiences.some((name) => audiences.includes(name))
    )
      throw new BadCredential('the token is meant for others');
    if (known.size >= rememberLimit) known.clear();
    known.set(key, { result, untilMs: clock.now() + rememberMs });
    return accept(request, result);
  }

  return {
    name: 'bearer',
    check,
    forget: () => known.clear(),
    authenticate(request) {
      const token = bearerToken(request);
      if (token === undefined) return undefined;
      const key = digestOf(token);
      const cached = known.get(key);
      if (cached !== undefined && cached.untilMs > clock.now()) {
        metrics?.hit();
        return accept(request, cached.result);
      }
      known.delete(key);
      return slowly(key, token, request);
    },
  };
}

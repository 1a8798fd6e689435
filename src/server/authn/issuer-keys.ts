// Owns the keys of OpenID issuers, and whether a token is signed by one of them and meant for us. Maps no claims.
import { createLocalJWKSet, errors, jwtVerify } from 'jose';
import type { JSONWebKeySet, JWTPayload } from 'jose';
import type { Clock } from '../../base/clock.ts';
import type { Callout } from '../callout.ts';
import { CalloutError } from '../callout.ts';

/** Unknown keys make us ask the issuer anew, but not more often than this. */
const refetchMs = 10_000;
export const callTimeoutMs = 10_000;
/** Issuers that vouch for parts of others' tokens; the one that was asked least lately is forgotten. */
const mostIssuers = 16;

export interface Issuer {
  readonly url: string;
  readonly discoveryURL?: string;
  /** PEM. */
  readonly certificateAuthority?: string;
}

interface Deps {
  readonly callout: Callout;
  readonly clock: Clock;
}

/** The token is not this issuer's to vouch for, with the reason for the log. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

interface IssuerKeys {
  current(fresh: boolean): Promise<ReturnType<typeof createLocalJWKSet>>;
}

/** The keys that the issuer publishes, fetched when first needed. */
function keysOf(issuer: Issuer, { callout, clock }: Deps): IssuerKeys {
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  async function json(url: string): Promise<Record<string, unknown>> {
    const ca = issuer.certificateAuthority;
    const { status, body } = await callout.call(
      { url: new URL(url), ...(ca !== undefined && { ca }) },
      { method: 'GET', timeoutMs: callTimeoutMs, maxBytes: 1024 * 1024 },
    );
    if (status !== 200) throw new CalloutError(`${url} answered with status ${status}`);
    try {
      return JSON.parse(body) as Record<string, unknown>;
    } catch {
      throw new CalloutError(`${url} did not answer with JSON`);
    }
  }

  async function load(): Promise<void> {
    fetchedAt = clock.monotonic();
    const found = await json(
      issuer.discoveryURL ?? `${issuer.url.replace(/\/$/, '')}/.well-known/openid-configuration`,
    );
    if (found['issuer'] !== issuer.url)
      throw new CalloutError(`the issuer calls itself ${JSON.stringify(found['issuer'])}`);
    const set = await json(String(found['jwks_uri']));
    keys = createLocalJWKSet(set as unknown as JSONWebKeySet);
  }

  return {
    async current(fresh: boolean): Promise<ReturnType<typeof createLocalJWKSet>> {
      const mayAsk = clock.monotonic() - fetchedAt > refetchMs;
      if ((keys === undefined || fresh) && (mayAsk || fetching !== undefined))
        await (fetching ??= load().finally(() => {
          fetching = undefined;
        }));
      if (keys === undefined) throw new CalloutError('the keys of the issuer are not known');
      return keys;
    },
  };
}

/** What a token says of its issuer, unproven. */
export function issuerOf(token: string): string | undefined {
  const [, payload] = token.split('.');
  if (payload === undefined || token.length > 64 * 1024) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { iss?: unknown } | null;
    return typeof claims?.iss === 'string' ? claims.iss : undefined;
  } catch {
    return undefined;
  }
}

export interface VerifierOptions extends Issuer {
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
}

/**
 * Checks tokens of `url`, which is the one of the options or another issuer behind the same authority. Throws Refused, CalloutError
 * and the errors of JOSE.
 */
export type Verify = (token: string, url: string) => Promise<JWTPayload>;

export function verifier(options: VerifierOptions, deps: Deps): Verify {
  const own = keysOf(options, deps);
  const others = new Map<string, IssuerKeys>();

  function keysFor(url: string): IssuerKeys {
    if (url === options.url) return own;
    const known = others.get(url);
    others.delete(url);
    const { certificateAuthority } = options;
    const keys = known ?? keysOf({ url, ...(certificateAuthority !== undefined && { certificateAuthority }) }, deps);
    if (others.size >= mostIssuers) others.delete(others.keys().next().value!);
    others.set(url, keys);
    return keys;
  }

  return async (token, url) => {
    const wanted = {
      issuer: url,
      audience: [...options.audiences],
      algorithms: [...options.algorithms],
      currentDate: new Date(deps.clock.now()),
      requiredClaims: ['exp'],
    };
    const keys = keysFor(url);
    try {
      return (await jwtVerify(token, await keys.current(false), wanted)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return (await jwtVerify(token, await keys.current(true), wanted)).payload;
    }
  };
}

// Owns tokens of OpenID issuers (KEP-3331): found by issuer, checked against the issuer's keys, their claims mapped to a user by names or CEL.
import { createLocalJWKSet, errors, jwtVerify } from 'jose';
import type { JSONWebKeySet, JWTPayload } from 'jose';
import { environment } from '../../api/cel/environment.ts';
import type { CompiledExpression } from '../../api/cel/environment.ts';
import { dyn } from '../../api/cel/types.ts';
import { CelError, fromJson, toJson } from '../../api/cel/values.ts';
import { CelBudgetExceeded } from '../../api/cel/evaluate.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Callout } from '../callout.ts';
import { CalloutError } from '../callout.ts';
import type { UserInfo } from '../request.ts';
import { authenticated } from './authenticator.ts';
import type { TokenAuthenticator, TokenResult } from './authenticator.ts';

export interface Mapping {
  readonly claim?: string;
  readonly prefix?: string;
  readonly expression?: string;
}

/** One `jwt` of AuthenticationConfiguration. */
export interface JwtIssuer {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string;
    readonly certificateAuthority?: string;
    readonly audiences: readonly string[];
    readonly audienceMatchPolicy?: string;
    readonly egressSelectorType?: string;
  };
  /** --oidc-signing-algs; absent: all that are safe. */
  readonly signingAlgorithms?: readonly string[];
  readonly claimValidationRules?: readonly {
    readonly claim?: string;
    readonly requiredValue?: string;
    readonly expression?: string;
    readonly message?: string;
  }[];
  readonly claimMappings: {
    readonly username: Mapping;
    readonly groups?: Mapping;
    readonly uid?: Mapping;
    readonly extra?: readonly { readonly key: string; readonly valueExpression: string }[];
  };
  readonly userValidationRules?: readonly { readonly expression: string; readonly message?: string }[];
}

const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];
const budget = 1_000_000;
/** Unknown keys make us ask the issuer anew, but not more often than this. */
const refetchMs = 10_000;
const callTimeoutMs = 10_000;

interface Deps {
  readonly callout: Callout;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The token is not this issuer's to vouch for, with the reason for the log. */
class Refused extends Error {
  override readonly name = 'Refused';
}

function compiler(variable: string): (expression: string) => (json: unknown) => unknown {
  const cel = environment({ variables: { [variable]: dyn } });
  return (expression) => {
    const program: CompiledExpression = cel.compile(expression);
    return (json) => {
      try {
        return toJson(program.evaluate((name) => (name === variable ? fromJson(json) : undefined), budget).value);
      } catch (error) {
        if (error instanceof CelError || error instanceof CelBudgetExceeded)
          throw new Refused(`${expression}: ${error.message}`);
        throw error;
      }
    };
  };
}

function texts(value: unknown, what: string): string[] {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new Refused(`${what} must be texts`);
}

type Claims = Readonly<Record<string, unknown>>;

/** Throws (at start) for expressions that do not compile and configurations that say too much or too little. */
function mapper({
  claimMappings,
  claimValidationRules = [],
  userValidationRules = [],
}: JwtIssuer): (claims: Claims) => UserInfo {
  const ofClaims = compiler('claims');
  const ofUser = compiler('user');
  const reader = (mapping: Mapping | undefined, what: string) => {
    if (mapping === undefined) return () => undefined;
    if ((mapping.claim === undefined) === (mapping.expression === undefined))
      throw new Error(`claimMappings.${what} needs either claim or expression`);
    if (mapping.expression !== undefined) return ofClaims(mapping.expression);
    return (claims: unknown): unknown =>
      Object.hasOwn(claims as object, mapping.claim!) ? (claims as Claims)[mapping.claim!] : undefined;
  };
  const username = reader(claimMappings.username, 'username');
  const groups = reader(claimMappings.groups, 'groups');
  const uid = reader(claimMappings.uid, 'uid');
  const extra = (claimMappings.extra ?? []).map(({ key, valueExpression }) => ({
    key,
    read: ofClaims(valueExpression),
  }));
  const rules = claimValidationRules.map((rule) => {
    if (rule.expression === undefined)
      return (claims: Claims): boolean =>
        Object.hasOwn(claims, rule.claim ?? '') && claims[rule.claim ?? ''] === (rule.requiredValue ?? '');
    const read = ofClaims(rule.expression);
    return (claims: Claims): boolean => read(claims) === true;
  });
  const userRules = userValidationRules.map(({ expression }) => ofUser(expression));
  return (claims) => {
    for (const [at, rule] of rules.entries())
      if (!rule(claims)) throw new Refused(claimValidationRules[at]!.message ?? 'a claim validation rule is not met');
    // An address that its issuer did not verify names nobody.
    if (
      claimMappings.username.claim === 'email' &&
      claims['email_verified'] !== undefined &&
      claims['email_verified'] !== true
    )
      throw new Refused('email not verified');
    const name = username(claims);
    if (typeof name !== 'string' || name === '') throw new Refused('the token names no user');
    const id = uid(claims);
    const more = extra
      .map(({ key, read }) => [key, texts(read(claims), `extra ${key}`)] as const)
      .filter(([, values]) => values.length > 0);
    const user: UserInfo = {
      name: (claimMappings.username.prefix ?? '') + name,
      ...(typeof id === 'string' && id !== '' && { uid: id }),
      groups: texts(groups(claims), 'groups').map((group) => (claimMappings.groups?.prefix ?? '') + group),
      ...(more.length > 0 && { extra: Object.fromEntries(more) }),
    };
    const seen = { username: user.name, uid: user.uid ?? '', groups: user.groups, extra: user.extra ?? {} };
    for (const [at, rule] of userRules.entries())
      if (rule(seen) !== true)
        throw new Refused(userValidationRules[at]!.message ?? 'a user validation rule is not met');
    return user;
  };
}

/** The keys that the issuer publishes, fetched when first needed. */
function keysOf({ issuer }: JwtIssuer, { callout, clock }: Deps) {
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

function issuerOf(token: string): string | undefined {
  const [, payload] = token.split('.');
  if (payload === undefined || token.length > 64 * 1024) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { iss?: unknown } | null;
    return typeof claims?.iss === 'string' ? claims.iss : undefined;
  } catch {
    return undefined;
  }
}

export function openIdTokens(issuers: readonly JwtIssuer[], deps: Deps): TokenAuthenticator {
  const byUrl = new Map(
    issuers.map((config) => {
      return [config.issuer.url, { config, keys: keysOf(config, deps), userOf: mapper(config) }] as const;
    }),
  );

  async function verified(
    token: string,
    { config, keys }: { config: JwtIssuer; keys: ReturnType<typeof keysOf> },
  ): Promise<JWTPayload> {
    const options = {
      issuer: config.issuer.url,
      audience: [...config.issuer.audiences],
      algorithms: [...(config.signingAlgorithms ?? algorithms)],
      currentDate: new Date(deps.clock.now()),
      requiredClaims: ['exp'],
    };
    try {
      return (await jwtVerify(token, await keys.current(false), options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return (await jwtVerify(token, await keys.current(true), options)).payload;
    }
  }

  return {
    name: 'oidc',
    async authenticateToken(token): Promise<TokenResult | undefined> {
      const issuer = byUrl.get(issuerOf(token) ?? '');
      if (issuer === undefined) return undefined;
      try {
        const claims = await verified(token, issuer);
        return { user: authenticated(issuer.userOf(claims)) };
      } catch (error) {
        if (!(error instanceof Refused) && !(error instanceof CalloutError) && !(error instanceof errors.JOSEError))
          throw error;
        deps.log.info('a token of an issuer was refused', { issuer: issuer.config.issuer.url, error: error.message });
        return undefined;
      }
    },
  };
}

// Owns tokens of OpenID issuers (KEP-3331): found by issuer, checked against the issuer's keys, their claims mapped to a user by names or CEL.
import { errors } from 'jose';
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
import { distributedClaim } from './distributed-claims.ts';
import { issuerOf, Refused, verifier } from './issuer-keys.ts';
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

interface Deps {
  readonly callout: Callout;
  readonly clock: Clock;
  readonly log: Logger;
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

export function openIdTokens(issuers: readonly JwtIssuer[], deps: Deps): TokenAuthenticator {
  const byUrl = new Map(
    issuers.map((config) => {
      const { issuer, signingAlgorithms, claimMappings } = config;
      const verify = verifier(
        {
          ...issuer,
          algorithms: signingAlgorithms ?? algorithms,
        },
        deps,
      );
      const groups = claimMappings.groups?.claim;
      const expand = groups === undefined ? undefined : distributedClaim(groups, issuer, verify, deps);
      return [issuer.url, { verify, expand, userOf: mapper(config) }] as const;
    }),
  );

  return {
    name: 'oidc',
    async authenticateToken(token): Promise<TokenResult | undefined> {
      const url = issuerOf(token) ?? '';
      const issuer = byUrl.get(url);
      if (issuer === undefined) return undefined;
      try {
        const claims = await issuer.verify(token, url);
        return { user: authenticated(issuer.userOf((await issuer.expand?.(claims)) ?? claims)) };
      } catch (error) {
        if (!(error instanceof Refused) && !(error instanceof CalloutError) && !(error instanceof errors.JOSEError))
          throw error;
        deps.log.info('a token of an issuer was refused', { issuer: url, error: error.message });
        return undefined;
      }
    },
  };
}

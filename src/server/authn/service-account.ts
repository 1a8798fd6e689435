// Owns the tokens of service accounts: what is in them, who issues them, and whether they still hold.
import type { Pod } from '../../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { randomUuid } from '../../base/random.ts';
import type { AccountTokenMetrics } from '../metrics/tokens.ts';
import type { Catalog } from '../served/served.ts';
import type { UserInfo } from '../request.ts';
import type { TokenAuthenticator, TokenResult } from './authenticator.ts';
import { authenticated } from './authenticator.ts';
import { legacyIssuer, legacyTokenOf } from './legacy-token.ts';
import type { LegacyToken } from './legacy-token.ts';
import { isSignedBy, jwkOf, parseToken, signingKey, signToken, verifyingKey } from './jwt.ts';

export interface ServiceAccountOptions {
  /** PEM, private. */
  readonly signingKey: string;
  readonly verifyKeys?: readonly string[];
  readonly issuers?: readonly string[];
  readonly audiences?: readonly string[];
  readonly maxExpirationSeconds?: number;
}

interface Named {
  readonly name: string;
  readonly uid: string;
}

/** The private claims, under "kubernetes.io". */
interface Bound {
  readonly namespace: string;
  readonly serviceaccount: Named;
  readonly pod?: Named;
  readonly secret?: Named;
  readonly node?: Named;
  readonly warnafter?: number;
}

export interface IssueRequest {
  readonly bound: Bound;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
}

export interface ServiceAccountTokens extends TokenAuthenticator {
  readonly audiences: readonly string[];
  readonly maxExpirationSeconds: number;
  issue(request: IssueRequest): { readonly token: string; readonly id: string };
  /** Called with each use of a token in a Secret that its Secret does not know of. One listener. */
  onLegacyUse(listener: (token: LegacyToken) => void): void;
  readonly issuer: string;
  /** All whose tokens are accepted. */
  readonly issuers: readonly string[];
  /** JSON Web Keys, for /openid/v1/jwks. */
  jwks(): { readonly keys: readonly Record<string, unknown>[] };
}

export const defaultIssuer = 'https://kubernetes.default.svc';

/** Objects that are being deleted hold their tokens so much longer. */
const goneGraceMs = 60_000;

export function serviceAccountTokens(
  options: ServiceAccountOptions,
  catalog: Catalog,
  clock: Clock,
  random: Random,
  metrics?: AccountTokenMetrics,
): ServiceAccountTokens {
  const signer = signingKey(options.signingKey);
  const keys = [verifyingKey(options.signingKey), ...(options.verifyKeys ?? []).map(verifyingKey)];
  const issuers = options.issuers ?? [defaultIssuer];
  const audiences = options.audiences ?? [issuers[0]!];
  let legacyUsed: ((token: LegacyToken) => void) | undefined;

  /** Undefined: what the token is bound to is gone, or another of the same name. */
  function bound(plural: string, key: string, wanted: Named): Frozen<KubeObject> | undefined {
    const object = catalog.cache('', plural).get(key)?.object;
    if (object === undefined || object.metadata.uid !== wanted.uid) return undefined;
    const { deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined && Date.parse(deletionTimestamp) + goneGraceMs < clock.now()) return undefined;
    return object;
  }

  function holds(claims: Bound): boolean {
    const { namespace, serviceaccount, pod, secret, node } = claims;
    if (bound('serviceaccounts', `${namespace}/${serviceaccount.name}`, serviceaccount) === undefined) return false;
    if (secret !== undefined && bound('secrets', `${namespace}/${secret.name}`, secret) === undefined) return false;
    if (pod !== undefined) {
      const found = bound('pods', `${namespace}/${pod.name}`, pod) as Frozen<KubeObject & Pod> | undefined;
      if (found === undefined) return false;
    } else if (node !== undefined && bound('nodes', node.name, node) === undefined) return false;
    return true;
  }

  function userOf({ namespace, serviceaccount, pod, node }: Bound, id: unknown): UserInfo {
    const extra: Record<string, string[]> = {};
    if (typeof id === 'string') extra['authentication.kubernetes.io/credential-id'] = [`JTI=${id}`];
    if (node !== undefined) {
      extra['authentication.kubernetes.io/node-name'] = [node.name];
      if (node.uid !== '') extra['authentication.kubernetes.io/node-uid'] = [node.uid];
    }
    if (pod !== undefined) {
      extra['authentication.kubernetes.io/pod-name'] = [pod.name];
      extra['authentication.kubernetes.io/pod-uid'] = [pod.uid];
    }
    return authenticated({
      name: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      uid: serviceaccount.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      ...(Object.keys(extra).length > 0 && { extra }),
    });
  }

  function legacy(token: string, payload: Readonly<Record<string, unknown>>): TokenResult | undefined {
    const found = legacyTokenOf(token, payload, catalog, clock.now());
    if (found === undefined) return undefined;
    if (found.isInvalid) {
      if (found.isAutomatic) metrics?.invalidLegacy();
      return undefined;
    }
    metrics?.legacy(found.isAutomatic);
    if (found.isUseNew) legacyUsed?.(found);
    const user = userOf({ namespace: found.namespace, serviceaccount: found.account }, undefined);
    return {
      user,
      audiences,
      annotations: { 'authentication.k8s.io/legacy-token': user.name },
      ...(found.isAutomatic && {
        warning:
          'Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.',
      }),
    };
  }

  function authenticateToken(token: string): TokenResult | undefined {
    const parsed = parseToken(token);
    if (parsed === undefined) return undefined;
    const isLegacy = parsed.payload['iss'] === legacyIssuer;
    if (!isLegacy && !issuers.includes(String(parsed.payload['iss']))) return undefined;
    if (!keys.some((key) => isSignedBy(parsed, key))) return undefined;
    if (isLegacy) return legacy(token, parsed.payload);
    const { exp, nbf, aud, jti } = parsed.payload;
    const now = clock.now() / 1000;
    if (typeof exp !== 'number' || now >= exp || (typeof nbf === 'number' && now < nbf)) return undefined;
    const claims = parsed.payload['kubernetes.io'] as Bound | undefined;
    if (claims?.serviceaccount === undefined || typeof claims.namespace !== 'string') return undefined;
    if (!holds(claims)) return undefined;
    const user = userOf(claims, jti);
    metrics?.valid();
    const late = typeof claims.warnafter === 'number' ? Math.floor(now - claims.warnafter) : 0;
    if (late > 0) metrics?.stale();
    return {
      user,
      audiences: Array.isArray(aud) ? (aud as string[]) : [String(aud)],
      ...(late > 0 && {
        annotations: {
          'authentication.k8s.io/stale-token': `subject: ${user.name}, seconds after warning threshold: ${late}`,
        },
      }),
    };
  }

  return {
    name: 'service-account',
    audiences,
    issuer: issuers[0]!,
    issuers,
    // No limit but that of the field.
    maxExpirationSeconds: options.maxExpirationSeconds ?? 2 ** 32,
    authenticateToken,
    onLegacyUse(listener) {
      legacyUsed = listener;
    },
    issue({ bound: claims, audiences: wanted, expirationSeconds }) {
      const now = Math.floor(clock.now() / 1000);
      const id = randomUuid(random);
      const token = signToken(
        {
          aud: wanted,
          exp: now + expirationSeconds,
          iat: now,
          iss: issuers[0],
          jti: id,
          'kubernetes.io': claims,
          nbf: now,
          sub: `system:serviceaccount:${claims.namespace}:${claims.serviceaccount.name}`,
        },
        signer,
      );
      return { token, id };
    },
    jwks() {
      const unique = new Map(keys.map((key) => [key.id, key]));
      return { keys: [...unique.values()].map(jwkOf) };
    },
  };
}

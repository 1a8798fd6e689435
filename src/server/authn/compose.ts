// Owns which authenticators the options ask for, in order, and what of them may change while the server runs.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Callout } from '../callout.ts';
import { checkIssuers } from './issuer-rules.ts';
import { openIdTokens } from './oidc.ts';
import { clientCertificateExpiration, tokenMetrics } from '../metrics/tokens.ts';
import { webhookTokens } from './webhook.ts';
import type { ApiServerOptions } from '../options.ts';
import type { Catalog } from '../served/served.ts';
import type { Authenticator, TokenAuthenticator } from './authenticator.ts';
import { bearerTokens } from './bearer.ts';
import type { BearerTokens } from './bearer.ts';
import { bootstrapTokens } from './bootstrap-token.ts';
import { Authorities, clientCertificates } from './client-certificate.ts';
import { frontProxy } from './front-proxy.ts';
import type { ServiceAccountTokens } from './service-account.ts';
import { tokenFile } from './token-file.ts';

/** What AuthenticationConfiguration says. */
export type AuthenticationSettings = Pick<ApiServerOptions, 'jwtIssuers' | 'anonymousAuth' | 'anonymousPaths'>;

/** Who is anonymous, asked with each request without credentials. */
export interface Anonymous {
  allowedAt(path: string): boolean;
}

export interface Authentication {
  readonly authenticators: readonly Authenticator[];
  readonly tokens: BearerTokens;
  readonly anonymous: Anonymous;
  readonly clientAuthorities: Authorities | undefined;
  readonly proxyAuthorities: Authorities | undefined;
  /** Takes another AuthenticationConfiguration over. Throws, and changes nothing, when it is wrong. */
  reconfigure(next: AuthenticationSettings): void;
}

export function authentication(
  options: ApiServerOptions,
  catalog: Catalog,
  clock: Clock,
  accounts: ServiceAccountTokens | undefined,
  remote: { readonly callout: Callout; readonly log: Logger; readonly metrics?: MetricsRegistry },
): Authentication {
  const deps = { ...remote, clock };
  const audiences = accounts?.audiences ?? [];
  const issuersOf = ({ jwtIssuers = [] }: AuthenticationSettings): TokenAuthenticator | undefined => {
    checkIssuers(jwtIssuers, accounts?.issuers ?? []);
    return jwtIssuers.length === 0 ? undefined : openIdTokens(jwtIssuers, deps);
  };
  let settings: AuthenticationSettings = options;
  let issuers = issuersOf(options);
  const tokens = bearerTokens(
    [
      ...(options.tokenFile === undefined ? [] : [tokenFile(options.tokenFile)]),
      ...(accounts === undefined ? [] : [accounts]),
      bootstrapTokens(catalog, clock),
      { name: 'oidc', authenticateToken: (token) => issuers?.authenticateToken(token) },
      ...(options.tokenWebhook === undefined ? [] : [webhookTokens(options.tokenWebhook, audiences, deps)]),
    ],
    clock,
    accounts?.audiences,
    remote.metrics && tokenMetrics(remote.metrics, clock),
  );
  const clientAuthorities = options.clientCa === undefined ? undefined : new Authorities(options.clientCa);
  const { requestHeader } = options;
  const proxyAuthorities = requestHeader === undefined ? undefined : new Authorities(requestHeader.clientCa);
  return {
    tokens,
    clientAuthorities,
    proxyAuthorities,
    authenticators: [
      ...(proxyAuthorities === undefined ? [] : [frontProxy(requestHeader!, proxyAuthorities, clock)]),
      ...(clientAuthorities === undefined
        ? []
        : [
            clientCertificates(clientAuthorities, clock, remote.metrics && clientCertificateExpiration(remote.metrics)),
          ]),
      tokens,
    ],
    anonymous: {
      allowedAt: (path) => settings.anonymousAuth !== false && settings.anonymousPaths?.includes(path) !== false,
    },
    reconfigure(next) {
      issuers = issuersOf(next);
      settings = next;
      tokens.forget();
    },
  };
}

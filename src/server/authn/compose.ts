// Owns which authenticators the options ask for, in order.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Callout } from '../callout.ts';
import { openIdTokens } from './oidc.ts';
import { webhookTokens } from './webhook.ts';
import type { ApiServerOptions } from '../options.ts';
import type { Catalog } from '../served/served.ts';
import type { Authenticator } from './authenticator.ts';
import { bearerTokens } from './bearer.ts';
import type { BearerTokens } from './bearer.ts';
import { bootstrapTokens } from './bootstrap-token.ts';
import { certificatesOf, clientCertificates } from './client-certificate.ts';
import { frontProxy } from './front-proxy.ts';
import type { ServiceAccountTokens } from './service-account.ts';
import { tokenFile } from './token-file.ts';

export interface Authentication {
  readonly authenticators: readonly Authenticator[];
  readonly tokens: BearerTokens;
}

export function authentication(
  options: ApiServerOptions,
  catalog: Catalog,
  clock: Clock,
  accounts: ServiceAccountTokens | undefined,
  remote: { readonly callout: Callout; readonly log: Logger },
): Authentication {
  const deps = { ...remote, clock };
  const audiences = accounts?.audiences ?? [];
  const tokens = bearerTokens(
    [
      ...(options.tokenFile === undefined ? [] : [tokenFile(options.tokenFile)]),
      ...(accounts === undefined ? [] : [accounts]),
      bootstrapTokens(catalog, clock),
      ...(options.jwtIssuers === undefined ? [] : [openIdTokens(options.jwtIssuers, deps)]),
      ...(options.tokenWebhook === undefined ? [] : [webhookTokens(options.tokenWebhook, audiences, deps)]),
    ],
    clock,
    accounts?.audiences,
  );
  return {
    tokens,
    authenticators: [
      ...(options.requestHeader === undefined ? [] : [frontProxy(options.requestHeader, clock)]),
      ...(options.clientCa === undefined ? [] : [clientCertificates(certificatesOf(options.clientCa), clock)]),
      tokens,
    ],
  };
}

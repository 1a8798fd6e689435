// Owns the list of what is read anew while the server runs, and what each change does. Reads no file itself.
import type { TaskGroup } from '../base/task-group.ts';
import type { HttpListener } from '../wire/http-listener.ts';
import type { Authentication, AuthenticationSettings } from './authn/compose.ts';
import type { Authorization } from './authz/compose.ts';
import type { ApiServerOptions } from './options.ts';
import { keepReloaded, reloadEveryMs } from './reload.ts';
import type { ReloadDeps, Reloaded } from './reload.ts';
import { servingPair } from './serving-certificate.ts';

export interface ReloadTargets {
  readonly listener: Pick<HttpListener, 'renew'>;
  readonly authentication: Authentication;
  readonly authorization: Authorization;
  /** Called when other authorities are trusted. */
  trustChanged(): void;
}

export function startReloads(
  options: ApiServerOptions,
  { listener, authentication, authorization, trustChanged }: ReloadTargets,
  deps: ReloadDeps,
  group: TaskGroup,
): void {
  const { reread = {}, tls } = options;
  const { clientAuthorities, proxyAuthorities } = authentication;
  const keep = <T>(reloaded: Reloaded<T>): void =>
    group.run(`reload of ${reloaded.what}`, (signal) =>
      keepReloaded(reloaded, deps, signal, reread.everyMs ?? reloadEveryMs),
    );
  if (tls.reread !== undefined) keep(servingPair(tls, (pair) => listener.renew(pair)));
  if (reread.named !== undefined)
    keep({
      what: 'the certificates by name',
      current: options.transport?.named ?? [],
      read: reread.named,
      apply: (named) => listener.renew({ named }),
    });
  if (reread.clientCa !== undefined && clientAuthorities !== undefined)
    keep({
      what: 'the authorities of client certificates',
      current: clientAuthorities.pem,
      read: reread.clientCa,
      apply(pem) {
        clientAuthorities.replace(pem);
        listener.renew({ clientAuthorities: pem });
        trustChanged();
      },
    });
  if (reread.requestHeaderCa !== undefined && proxyAuthorities !== undefined)
    keep({
      what: 'the authorities of front proxies',
      current: proxyAuthorities.pem,
      read: reread.requestHeaderCa,
      apply(pem) {
        proxyAuthorities.replace(pem);
        trustChanged();
      },
    });
  if (reread.authentication !== undefined)
    keep<AuthenticationSettings>({
      what: 'the AuthenticationConfiguration',
      metric: 'authentication_config',
      current: pick(options),
      read: async () => pick(await reread.authentication!()),
      apply: (next) => authentication.reconfigure(next),
    });
  if (reread.authorization !== undefined)
    keep({
      what: 'the AuthorizationConfiguration',
      metric: 'authorization_config',
      current: options.authorizers ?? [],
      read: reread.authorization,
      apply: (next) => authorization.reconfigure(next),
    });
}

/** Always of the same form, so that texts can be compared. */
function pick({ jwtIssuers, anonymousAuth, anonymousPaths }: AuthenticationSettings): AuthenticationSettings {
  return {
    jwtIssuers: jwtIssuers ?? [],
    anonymousAuth: anonymousAuth ?? true,
    ...(anonymousPaths && { anonymousPaths }),
  };
}

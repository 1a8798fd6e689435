// Owns --use-service-account-credentials: a client for each ServiceAccount that controllers act as, all over one connection.
import { systemClock } from '../../base/clock.ts';
import { accountToken } from '../../client/account-token.ts';
import type { Client } from '../../client/client.ts';
import { httpConnection } from '../../client/http-connection.ts';
import { httpTransport } from '../../client/http-transport.ts';
import { client } from '../../client/rest.ts';
import { type AloneDeps, httpOptionsFromFlags, type KubeconfigFlags } from './alone.ts';

const namespace = 'kube-system';

/** The kubeconfig's user asks for the accounts' tokens, and makes accounts that are missing. */
export async function accountClients(
  flags: KubeconfigFlags,
  component: string,
  { signal }: AloneDeps,
): Promise<(account: string) => Client> {
  const own = await httpOptionsFromFlags(flags, component);
  const asker = httpTransport(own);
  // A client certificate would win over the token.
  const { cert: _cert, key: _key, ...tls } = own.tls ?? {};
  const { token: _token, impersonate: _impersonate, ...reach } = own;
  const connection = httpConnection({ ...reach, tls });
  signal.addEventListener(
    'abort',
    () =>
      systemClock.after(2000, () => {
        asker.close();
        connection.close();
      }),
    { once: true },
  );
  const clients = new Map<string, Client>();
  return (account) => {
    let made = clients.get(account);
    if (made === undefined) {
      const userAgent = `${component}/${account}`;
      const token = accountToken(asker, namespace, account, systemClock);
      made = client(httpTransport({ ...reach, tls, connection, userAgent, token }));
      clients.set(account, made);
    }
    return made;
  };
}

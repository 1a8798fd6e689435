// Owns Secrets of type service-account-token: filled with a token, removed when their account goes.
import type { Frozen, ObjectKey } from '../../api/meta.ts';
import type { Secret, ServiceAccount } from '../../api/generated/core.v1.ts';
import { secrets, serviceAccounts } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, watching } from '../framework/controller.ts';

/** Keys of Secrets that are gone and may still be listed by their account, in a queue of Secrets. */
const listedPrefix = 'listed:';
const type = 'kubernetes.io/service-account-token';
const nameAnnotation = 'kubernetes.io/service-account.name';
const uidAnnotation = 'kubernetes.io/service-account.uid';

export interface TokenSecretOptions {
  readonly rootCaPem: string | undefined;
  readonly sign: (claims: Readonly<Record<string, unknown>>) => string | Promise<string>;
}

/** The claims of tokens that do not expire, as the server's legacy authenticator knows them. Pure. */
function tokenClaims(account: Frozen<ServiceAccount>, secretName: string): Record<string, unknown> {
  const { name, namespace = '', uid } = account.metadata;
  const claim = 'kubernetes.io/serviceaccount';
  return {
    iss: 'kubernetes/serviceaccount',
    sub: `system:serviceaccount:${namespace}:${name}`,
    [`${claim}/namespace`]: namespace,
    [`${claim}/secret.name`]: secretName,
    [`${claim}/service-account.name`]: name,
    [`${claim}/service-account.uid`]: uid,
  };
}

export function serviceAccountTokenController(
  context: ControllerContext,
  { rootCaPem, sign }: TokenSecretOptions,
): Controller {
  const secretCache = context.informers.informer(secrets, { fieldSelector: `type=${type}` });
  const accounts = context.informers.informer(serviceAccounts);
  const client = context.client.resource(secrets);
  const accountKey = (secret: Frozen<Secret>): ObjectKey => ({
    namespace: secret.metadata.namespace ?? '',
    name: secret.metadata.annotations?.[nameAnnotation] ?? '',
  });
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  /** The server's word counts before a Secret is deleted: the account may be newer than our cache. */
  async function isAccountGone(key: ObjectKey, uid: string | undefined, signal: AbortSignal): Promise<boolean> {
    try {
      const live = await context.client.resource(serviceAccounts).get(key, { signal });
      return uid !== undefined && uid !== '' && live.metadata.uid !== uid;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  async function fill(secret: Frozen<Secret>, account: Frozen<ServiceAccount>, signal: AbortSignal): Promise<void> {
    const data = { ...secret.data };
    const ca = rootCaPem === undefined ? undefined : base64(rootCaPem);
    const namespace = base64(secret.metadata.namespace ?? '');
    const hasUid = secret.metadata.annotations?.[uidAnnotation] === account.metadata.uid;
    if (data['token'] && hasUid && data['namespace'] && (ca === undefined || data['ca.crt'] === ca)) return;
    data['token'] ||= base64(await sign(tokenClaims(account, secret.metadata.name)));
    data['namespace'] ||= namespace;
    if (ca !== undefined) data['ca.crt'] = ca;
    const annotations = { ...secret.metadata.annotations, [uidAnnotation]: account.metadata.uid };
    const next = { ...secret, metadata: { ...secret.metadata, annotations }, data };
    await client.update(next, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  /** An account lists no Secret that is gone. */
  async function unlist({ namespace, name }: ObjectKey, signal: AbortSignal): Promise<void> {
    const [, accountName = '', secretName = ''] = name.split(':');
    try {
      const account = await context.client.resource(serviceAccounts).get({ namespace, name: accountName }, { signal });
      const left = account.secrets?.filter((secret) => secret.name !== secretName) ?? [];
      if (left.length === (account.secrets?.length ?? 0)) return;
      if (secretCache.get({ namespace, name: secretName }) !== undefined) return;
      const { secrets: _, ...rest } = account;
      const next = { ...rest, ...(left.length > 0 && { secrets: left }) };
      await context.client.resource(serviceAccounts).update(next as Frozen<ServiceAccount>, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return {
    name: 'serviceaccount-token-controller',
    watches: [
      watching(secretCache, (secret) => {
        const key = { namespace: secret.metadata.namespace ?? '', name: secret.metadata.name };
        if (secretCache.get(key) !== undefined) return [key];
        return [key, { ...key, name: `${listedPrefix}${accountKey(secret).name}:${key.name}` }];
      }),
      watching(accounts, (account) =>
        secretCache
          .list(account.metadata.namespace)
          .filter((secret) => accountKey(secret).name === account.metadata.name)
          .map((secret) => ({ namespace: secret.metadata.namespace ?? '', name: secret.metadata.name })),
      ),
    ],
    async reconcile(key, signal) {
      if (key.name.startsWith(listedPrefix)) {
        await unlist(key, signal);
        return undefined;
      }
      const secret = secretCache.get(key);
      if (!secret || accountKey(secret).name === '') return undefined;
      const account = accounts.get(accountKey(secret));
      const wantedUid = secret.metadata.annotations?.[uidAnnotation];
      if (account && (!wantedUid || wantedUid === account.metadata.uid)) await fill(secret, account, signal);
      else if (await isAccountGone(accountKey(secret), wantedUid, signal))
        await client.delete(key, { preconditions: { uid: secret.metadata.uid }, signal }).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      return undefined;
    },
  };
}

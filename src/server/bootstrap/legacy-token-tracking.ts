// Owns the marks that tell cleaners which tokens in Secrets are used: since when it is noted, and each Secret's last day. Judges no token.
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { deferred } from '../../base/task-group.ts';
import type { Transport } from '../../client/transport.ts';
import type { ServiceAccountTokens } from '../authn/service-account.ts';
import { lastUsedPatch } from '../authn/legacy-token.ts';

const path = '/api/v1/namespaces/kube-system/configmaps';
const name = 'kube-apiserver-legacy-service-account-token-tracking';
/** Secrets waiting for their mark; further ones get it with a later use. */
const pendingLimit = 1000;

async function sayWhen(transport: Transport, clock: Clock): Promise<void> {
  const since = new Date(clock.now()).toISOString().slice(0, 10);
  const metadata = { name, namespace: 'kube-system' };
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { since } };
  await transport.call({ method: 'POST', path, body }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/** Runs until the signal aborts. */
export async function trackLegacyTokens(
  tokens: ServiceAccountTokens,
  { transport, clock, log }: { readonly transport: Transport; readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  const pending = new Set<string>();
  let wake = deferred();
  tokens.onLegacyUse(({ namespace, secret }) => {
    if (pending.size < pendingLimit) pending.add(`/api/v1/namespaces/${namespace}/secrets/${secret}`);
    wake.resolve();
  });
  const stop = (): void => wake.resolve();
  signal.addEventListener('abort', stop, { once: true });
  await sayWhen(transport, clock);
  while (!signal.aborted) {
    await wake.promise;
    wake = deferred();
    for (const secret of [...pending]) {
      pending.delete(secret);
      if (signal.aborted) return;
      try {
        const body = lastUsedPatch(clock.now());
        await transport.call({ method: 'PATCH', path: secret, contentType: 'application/merge-patch+json', body });
      } catch (error) {
        if (!isNotFound(error)) log.warn('the use of a token cannot be noted in its Secret', { error, secret });
      }
    }
  }
}

// Owns tokens of a ServiceAccount for a component that acts as it: asked for by TokenRequest, kept, renewed in time.
import type { Clock } from '../base/clock.ts';
import { ignoring, isAlreadyExists, isNotFound } from '../api/status-error.ts';
import type { TokenSource } from './token.ts';
import type { Transport } from './transport.ts';

const lifeSeconds = 3600;
/** Renewed after this part of its life, as client-go does. */
const renewAt = 0.8;

interface Kept {
  readonly token: string;
  readonly renewMs: number;
}

/** Makes the account when it is missing. `by` is who asks. Concurrent requests ask once. */
export function accountToken(by: Transport, namespace: string, name: string, clock: Clock): TokenSource {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  let kept: Kept | undefined;
  let asking: Promise<Kept> | undefined;

  async function request(): Promise<Kept> {
    const askedMs = clock.monotonic();
    const answer = (await by.call({
      method: 'POST',
      path: `${accounts}/${name}/token`,
      body: {
        kind: 'TokenRequest',
        apiVersion: 'authentication.k8s.io/v1',
        spec: { audiences: [], expirationSeconds: lifeSeconds },
      },
    })) as { readonly status: { readonly token: string; readonly expirationTimestamp: string } };
    // The server may shorten it.
    const lifeMs = Math.min(Date.parse(answer.status.expirationTimestamp) - clock.now(), lifeSeconds * 1000);
    return { token: answer.status.token, renewMs: askedMs + lifeMs * renewAt };
  }

  async function requestOrMake(): Promise<Kept> {
    try {
      return await request();
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    const body = { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name } };
    await ignoring(isAlreadyExists, by.call({ method: 'POST', path: accounts, body }));
    return request();
  }

  return async () => {
    if (kept !== undefined && clock.monotonic() < kept.renewMs) return kept.token;
    asking ??= requestOrMake().finally(() => (asking = undefined));
    kept = await asking;
    return kept.token;
  };
}

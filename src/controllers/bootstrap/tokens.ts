// Owns bootstrap tokens in kube-system: reading them, deleting those that have expired, signing cluster-info with them.
import { createHmac } from 'node:crypto';
import type { Frozen, ObjectKey } from '../../api/meta.ts';
import type { Secret } from '../../api/generated/core.v1.ts';
import { configMaps, secrets } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { maybeMillisOf } from '../../api/time.ts';
import { type Controller, type ControllerContext, self, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';

const type = 'bootstrap.kubernetes.io/token';
const tokenSelection = { fieldSelector: `type=${type}`, namespace: 'kube-system' };
const clusterInfo: ObjectKey = { namespace: 'kube-public', name: 'cluster-info' };
const signaturePrefix = 'jws-kubeconfig-';

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  readonly signs: boolean;
  /** Undefined: never. What is no time has expired, as upstream. */
  readonly expiresMs: number | undefined;
}

/** Undefined for Secrets that are no usable token. Pure. */
export function tokenOf(obj: Frozen<Secret>): BootstrapToken | undefined {
  const field = (name: string) => Buffer.from(obj.data?.[name] ?? '', 'base64').toString('utf8');
  const [id, secret, expiration] = [field('token-id'), field('token-secret'), field('expiration')];
  if (obj.type !== type || !/^[a-z0-9]{6}$/.test(id) || !/^[a-z0-9]{16}$/.test(secret)) return undefined;
  if (obj.metadata.name !== `bootstrap-token-${id}`) return undefined;
  const expiresMs = expiration === '' ? undefined : (maybeMillisOf(expiration) ?? 0);
  return { id, secret, signs: field('usage-bootstrap-signing') === 'true', expiresMs };
}

export function tokenCleaner(context: ControllerContext): Controller {
  const cache = context.informers.informer(secrets, tokenSelection);
  return {
    name: 'token-cleaner-controller',
    watches: [self(cache)],
    async reconcile(key, signal) {
      const obj = cache.get(key);
      const text = Buffer.from(obj?.data?.['expiration'] ?? '', 'base64').toString('utf8');
      if (!obj || text === '') return undefined;
      const leftMs = (maybeMillisOf(text) ?? 0) - context.clock.now();
      if (leftMs > 0) return { afterMs: leftMs };
      const preconditions = { uid: obj.metadata.uid };
      await context.client
        .resource(secrets)
        .delete(key, { preconditions, signal })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      return undefined;
    },
  };
}

/** A detached JWS of the kubeconfig: who knows the token can tell that cluster-info is genuine. Pure. */
function detachedSignature(content: string, { id, secret }: Pick<BootstrapToken, 'id' | 'secret'>): string {
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const header = encode(JSON.stringify({ alg: 'HS256', kid: id }));
  const signature = createHmac('sha256', `${id}.${secret}`)
    .update(`${header}.${encode(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
}

export function bootstrapSigner(context: ControllerContext): Controller {
  const tokens = context.informers.informer(secrets, tokenSelection);
  const maps = context.informers.informer(configMaps, { namespace: clusterInfo.namespace });
  return {
    name: 'bootstrap-signer-controller',
    workers: 1,
    watches: [watching(tokens, () => [clusterInfo]), self(maps)],
    async reconcile(key, signal) {
      const map = key.name === clusterInfo.name ? maps.get(clusterInfo) : undefined;
      const kubeconfig = map?.data?.['kubeconfig'];
      if (!map || kubeconfig === undefined) return undefined;
      const data = Object.fromEntries(
        Object.entries(map.data ?? {}).filter(([name]) => !name.startsWith(signaturePrefix)),
      );
      for (const obj of tokens.list()) {
        const token = tokenOf(obj);
        if (!token?.signs || (token.expiresMs ?? Number.POSITIVE_INFINITY) <= context.clock.now()) continue;
        data[signaturePrefix + token.id] = detachedSignature(kubeconfig, token);
      }
      if (isEqual(data, map.data)) return undefined;
      await context.client.resource(configMaps).update({ ...map, data }, { signal });
      return undefined;
    },
  };
}

// Owns bootstrap tokens: secrets in kube-system that let a new node in for a while.
import { timingSafeEqual } from 'node:crypto';
import type { Secret } from '../../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { Catalog } from '../served/served.ts';
import type { TokenAuthenticator } from './authenticator.ts';
import { authenticated } from './authenticator.ts';

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

export function bootstrapTokens(catalog: Catalog, clock: Clock): TokenAuthenticator {
  return {
    name: 'bootstrap-token',
    authenticateToken(token) {
      const match = form.exec(token);
      if (match === null) return undefined;
      const [, id, secret] = match;
      const entry = catalog.cache('', 'secrets').get(`kube-system/bootstrap-token-${id}`);
      const object = entry?.object as Frozen<KubeObject & Secret> | undefined;
      if (object === undefined || object.type !== 'bootstrap.kubernetes.io/token') return undefined;
      if (object.metadata.deletionTimestamp !== undefined) return undefined;
      const read = (name: string): string => Buffer.from(object.data?.[name] ?? '', 'base64').toString();
      const given = Buffer.from(secret!);
      const wanted = Buffer.from(read('token-secret'));
      if (wanted.length !== given.length || !timingSafeEqual(wanted, given) || read('token-id') !== id)
        return undefined;
      const expiration = read('expiration');
      if (expiration !== '' && !(Date.parse(expiration) > clock.now())) return undefined;
      if (read('usage-bootstrap-authentication') !== 'true') return undefined;
      const extra = read('auth-extra-groups')
        .split(',')
        .filter((group) => group.startsWith('system:bootstrappers:'));
      return {
        user: authenticated({ name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...extra.sort()] }),
      };
    },
  };
}

// Owns tokens that are kept in Secrets and never expire: what is in them, and whether they still hold. Signs and writes nothing.
import type { Secret } from '../../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Catalog } from '../served/served.ts';

export const legacyIssuer = 'kubernetes/serviceaccount';

/** Set on the Secret by the cleaner of tokens that nobody uses: from then on they are refused. */
const invalidSince = 'kubernetes.io/legacy-token-invalid-since';
const lastUsed = 'kubernetes.io/legacy-token-last-used';

export interface LegacyToken {
  readonly namespace: string;
  readonly account: { readonly name: string; readonly uid: string };
  readonly secret: string;
  /** The account names the Secret: it was made with it, as long ago. */
  readonly isAutomatic: boolean;
  /** The Secret does not say that it was used on this day. */
  readonly isUseNew: boolean;
  /** The cleaner of tokens that nobody uses has marked it: it is refused. */
  readonly isInvalid: boolean;
}

const day = (nowMs: number): string => new Date(nowMs).toISOString().slice(0, 10);

/** Undefined: it does not hold (any more). The signature is checked by the caller. */
export function legacyTokenOf(
  token: string,
  payload: Readonly<Record<string, unknown>>,
  catalog: Catalog,
  nowMs: number,
): LegacyToken | undefined {
  const claim = (name: string): string => String(payload[`kubernetes.io/serviceaccount/${name}`] ?? '');
  const namespace = claim('namespace');
  const name = claim('service-account.name');
  const uid = claim('service-account.uid');
  const secretName = claim('secret.name');
  if (!namespace || !name || !uid || !secretName) return undefined;
  if (payload['sub'] !== `system:serviceaccount:${namespace}:${name}`) return undefined;
  const account = catalog.cache('', 'serviceaccounts').get(`${namespace}/${name}`)?.object as
    | Frozen<KubeObject & { secrets?: { name?: string }[] }>
    | undefined;
  if (account === undefined || account.metadata.uid !== uid || account.metadata.deletionTimestamp !== undefined)
    return undefined;
  const secret = catalog.cache('', 'secrets').get(`${namespace}/${secretName}`)?.object as
    | Frozen<KubeObject & Secret>
    | undefined;
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
  const kept = (secret.data as Readonly<Record<string, string>> | undefined)?.['token'];
  if (kept === undefined || Buffer.from(kept, 'base64').toString('utf8') !== token) return undefined;
  const { labels } = secret.metadata;
  return {
    namespace,
    account: { name, uid },
    secret: secretName,
    isAutomatic: account.secrets?.some((reference) => reference.name === secretName) === true,
    isUseNew: labels?.[lastUsed] !== day(nowMs),
    isInvalid: labels?.[invalidSince] !== undefined,
  };
}

export function lastUsedPatch(nowMs: number): object {
  return { metadata: { labels: { [lastUsed]: day(nowMs) } } };
}

// Owns the ConfigMap extension-apiserver-authentication, from which extension servers learn whom to trust: made, and kept as it should be.
import { X509Certificate } from 'node:crypto';
import { thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/status-error.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isAbort } from '../../base/task-group.ts';
import type { Transport } from '../../client/transport.ts';
import type { Authentication } from '../authn/compose.ts';
import { certificatesOf } from '../authn/client-certificate.ts';
import { followCache } from '../cache/follow.ts';
import type { ApiServerOptions } from '../options.ts';
import type { Catalog } from '../served/served.ts';
import { same } from '../verbs/equal.ts';

const collection = '/api/v1/namespaces/kube-system/configmaps';
const name = 'extension-apiserver-authentication';
const everyMs = 60_000;

type Trust = Pick<Authentication, 'clientAuthorities' | 'proxyAuthorities'>;
type Data = Readonly<Record<string, string>>;

/** Those that were there and hold still, and ours: the other servers of a cluster may be ahead of us, or behind. */
function together(present: string | undefined, ours: string, nowMs: number): string {
  const all = new Map<string, string>();
  for (const certificate of [...certificatesOf(present ?? ''), ...certificatesOf(ours)])
    all.set(certificate.fingerprint256, certificate.toString());
  const valid = [...all.values()].filter((pem) => Date.parse(new X509Certificate(pem).validTo) > nowMs);
  return valid.length === 0 ? ours : valid.map((pem) => `${pem.trimEnd()}\n`).join('');
}

function listed(present: string | undefined, ours: readonly string[]): string {
  let before: unknown = [];
  try {
    before = JSON.parse(present ?? '[]');
  } catch {
    // Somebody wrote what is no list: ours takes its place.
  }
  const kept = Array.isArray(before) ? before.filter((item): item is string => typeof item === 'string') : [];
  return JSON.stringify([...new Set([...kept, ...ours])]);
}

function readable(pem: string | undefined): string | undefined {
  try {
    certificatesOf(pem ?? '');
    return pem;
  } catch {
    return undefined;
  }
}

function dataOf({ requestHeader }: ApiServerOptions, trust: Trust, present: Data, nowMs: number): Data {
  const { clientAuthorities, proxyAuthorities } = trust;
  return {
    ...(clientAuthorities !== undefined && {
      'client-ca-file': together(readable(present['client-ca-file']), clientAuthorities.pem, nowMs),
    }),
    ...(requestHeader !== undefined &&
      proxyAuthorities !== undefined && {
        'requestheader-allowed-names': listed(present['requestheader-allowed-names'], requestHeader.allowedNames ?? []),
        'requestheader-client-ca-file': together(
          readable(present['requestheader-client-ca-file']),
          proxyAuthorities.pem,
          nowMs,
        ),
        'requestheader-extra-headers-prefix': listed(
          present['requestheader-extra-headers-prefix'],
          requestHeader.extraHeaderPrefixes ?? ['X-Remote-Extra-'],
        ),
        'requestheader-group-headers': listed(
          present['requestheader-group-headers'],
          requestHeader.groupHeaders ?? ['X-Remote-Group'],
        ),
        'requestheader-uid-headers': listed(
          present['requestheader-uid-headers'],
          requestHeader.uidHeaders ?? ['X-Remote-Uid'],
        ),
        'requestheader-username-headers': listed(
          present['requestheader-username-headers'],
          requestHeader.usernameHeaders ?? ['X-Remote-User'],
        ),
      }),
  };
}

/** Makes it, or brings it up to what this server trusts now. */
export async function authenticationConfig(
  options: ApiServerOptions,
  trust: Trust,
  transport: Transport,
  clock: Clock,
): Promise<void> {
  try {
    const present = (await transport.call({ method: 'GET', path: `${collection}/${name}` })) as Frozen<
      KubeObject & { data?: Record<string, string> }
    >;
    const data = dataOf(options, trust, present.data ?? {}, clock.now());
    if (same(present.data ?? {}, data)) return;
    await transport.call({ method: 'PUT', path: `${collection}/${name}`, body: { ...thaw(present), data } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const metadata = { name, namespace: 'kube-system' };
    const data = dataOf(options, trust, {}, clock.now());
    await transport
      .call({ method: 'POST', path: collection, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } })
      .catch((refused: unknown) => {
        if (!isAlreadyExists(refused)) throw refused;
      });
  }
}

export interface TrustKeeper {
  /** Writes it soon: what is trusted has changed. */
  wake(): void;
  run(signal: AbortSignal): Promise<void>;
}

/** Puts it back when somebody changes or deletes it, and looks every minute besides. */
export function authenticationConfigKeeper(
  options: ApiServerOptions,
  trust: Trust,
  { transport, catalog, clock, log }: { transport: Transport; catalog: Catalog; clock: Clock; log: Logger },
): TrustKeeper {
  let woken: (() => void) | undefined;
  let isDirty = false;
  const wake = (): void => {
    isDirty = true;
    woken?.();
  };

  async function wait(signal: AbortSignal): Promise<void> {
    const rest = new AbortController();
    woken = () => rest.abort();
    if (isDirty) rest.abort();
    await sleep(clock, everyMs, AbortSignal.any([signal, rest.signal])).catch((error: unknown) => {
      if (!rest.signal.aborted || signal.aborted) throw error;
    });
    woken = undefined;
    isDirty = false;
  }

  return {
    wake,
    async run(signal) {
      const mine = (entry: { readonly namespace: string; readonly name: string }): void => {
        if (entry.name === name && entry.namespace === 'kube-system') wake();
      };
      const stop = followCache(catalog.cache('', 'configmaps'), { put: mine, removed: mine, reset: wake });
      try {
        while (!signal.aborted) {
          await wait(signal);
          await authenticationConfig(options, trust, transport, clock).catch((error: unknown) => {
            // Somebody else was quicker: their change wakes us again.
            if (isAbort(error) || !isConflict(error)) {
              if (signal.aborted) throw error;
              log.warn('extension-apiserver-authentication cannot be written', { error });
            }
          });
        }
      } finally {
        stop();
      }
    },
  };
}

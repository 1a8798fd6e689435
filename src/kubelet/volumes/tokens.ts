// Owns the service account tokens of pods: asked for once, renewed when most of their time is over.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import type { TokenRequest } from '../../api/generated/authentication.v1.ts';
import { serviceAccounts } from '../../api/generated/resources.ts';
import { maybeMillisOf } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import type { FrozenPod } from '../pod/pod-words.ts';

export interface TokenSpec {
  readonly audience?: string;
  readonly expirationSeconds: number;
}

export interface ServiceAccountTokens {
  /** A token bound to the pod, with at least a fifth of its time left. */
  token(pod: FrozenPod, spec: TokenSpec): Promise<string>;
  forget(uid: string): void;
}

interface Entry {
  readonly token: string;
  readonly issuedMs: number;
  readonly expiresMs: number;
}

/** Renewed at four fifths of its life, and daily. */
const renewAt = 0.8;
const maxAgeMs = 24 * 3600_000;
const maxTokens = 5000;

export function serviceAccountTokens(client: Client, clock: Clock): ServiceAccountTokens {
  const entries = new LRUCache<string, Entry>({ max: maxTokens });

  function isFresh({ issuedMs, expiresMs }: Entry): boolean {
    const now = clock.now();
    return now < issuedMs + (expiresMs - issuedMs) * renewAt && now - issuedMs < maxAgeMs;
  }

  return {
    async token(pod, spec) {
      const account = pod.spec.serviceAccountName || 'default';
      const id = `${pod.metadata.uid} ${account} ${spec.audience ?? ''} ${spec.expirationSeconds}`;
      const known = entries.get(id);
      if (known && isFresh(known)) return known.token;
      const issuedMs = clock.now();
      const answer = await client
        .resource(serviceAccounts)
        .createSubresource<object, TokenRequest>({ namespace: pod.metadata.namespace ?? '', name: account }, 'token', {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          metadata: {},
          spec: {
            audiences: spec.audience === undefined ? [] : [spec.audience],
            expirationSeconds: spec.expirationSeconds,
            boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid },
          },
        });
      const { token, expirationTimestamp } = answer.status;
      const expiresMs = maybeMillisOf(expirationTimestamp) ?? issuedMs + spec.expirationSeconds * 1000;
      entries.set(id, { token, issuedMs, expiresMs });
      return token;
    },
    forget(uid) {
      for (const id of entries.keys()) if (id.startsWith(`${uid} `)) entries.delete(id);
    },
  };
}

// Owns reading the API objects that pods name: each at most once in a while, shared by all pods. Writes nothing.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import type { Frozen, KubeObject, ObjectKey, ResourceRef } from '../api/meta.ts';
import { keyText } from '../api/meta.ts';
import { isNotFound } from '../api/status-error.ts';
import type { Client } from '../client/client.ts';

export interface KubeObjects {
  /** Undefined when there is none. At most `maxAgeMs` old (default: the cache's own bound). */
  get<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, maxAgeMs?: number): Promise<Frozen<T> | undefined>;
}

const defaultMaxAgeMs = 10_000;
const maxObjects = 2000;

interface Entry {
  readonly atMs: number;
  readonly answer: Promise<Frozen<KubeObject> | undefined>;
}

export function kubeObjects(client: Client, clock: Clock): KubeObjects {
  const entries = new LRUCache<string, Entry>({ max: maxObjects });
  return {
    async get<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, maxAgeMs = defaultMaxAgeMs) {
      const id = `${ref.group}/${ref.plural}/${keyText(key)}`;
      const known = entries.get(id);
      if (known && clock.monotonic() - known.atMs <= maxAgeMs)
        return (await known.answer) as unknown as Frozen<T> | undefined;
      const answer = client
        .resource(ref)
        .get(key)
        .catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          entries.delete(id);
          throw error;
        });
      entries.set(id, { atMs: clock.monotonic(), answer: answer as Promise<Frozen<KubeObject> | undefined> });
      return answer;
    },
  };
}

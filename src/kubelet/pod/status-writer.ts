// Owns the sending of pod statuses to the API server: the newest of each pod, one request a pod at a time, until it is there.
import type { PodStatus } from '../../api/generated/core.v1.ts';
import { pods } from '../../api/generated/resources.ts';
import { keyOf } from '../../api/meta.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Client } from '../../client/client.ts';
import type { FrozenPod } from './pod-words.ts';
import { statusPatch } from './status-patch.ts';

export interface StatusWriter {
  /** `pod` is as the API server has it (a mirror pod for a static one). Supersedes what still waits of this pod. */
  set(pod: FrozenPod, status: PodStatus): void;
  /** Resolves when nothing of this pod waits any more. */
  settled(uid: string): Promise<void>;
  /** Sends nothing more and waits for what is under way. */
  stop(): Promise<void>;
}

export interface StatusWriterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The server's answer to a write. */
  readonly wrote?: (pod: FrozenPod) => void;
}

interface Entry {
  pod: FrozenPod;
  wanted: PodStatus | undefined;
  /** What the server answered last, which may be newer than what the watch has shown. */
  known?: FrozenPod;
  sending: Promise<void>;
}

const firstRetryMs = 200;
const maxRetryMs = 10_000;

export function statusWriter(options: StatusWriterOptions): StatusWriter {
  const entries = new Map<string, Entry>();
  const abort = new AbortController();

  async function send(uid: string, entry: Entry): Promise<void> {
    let retryMs = firstRetryMs;
    while (entry.wanted !== undefined && !abort.signal.aborted) {
      const { wanted, pod } = entry;
      entry.wanted = undefined;
      const patch = statusPatch(uid, newer(pod, entry.known).status, wanted);
      if (patch === undefined) continue;
      try {
        const answer = await options.client
          .resource(pods)
          .patch(keyOf(pod), { type: 'strategic', body: patch }, { subresource: 'status' });
        entry.known = answer;
        options.wrote?.(answer);
        retryMs = firstRetryMs;
      } catch (error) {
        // Gone, or another pod of that name: whoever deleted it needs no status.
        if (isNotFound(error) || isConflict(error)) break;
        if (abort.signal.aborted) break;
        options.logger.warn('cannot write the status of a pod', { pod: pod.metadata.name, error });
        entry.wanted ??= wanted;
        await sleep(options.clock, retryMs, abort.signal).catch(() => undefined);
        retryMs = Math.min(maxRetryMs, retryMs * 2);
      }
    }
    entries.delete(uid);
  }

  return {
    set(pod, status) {
      if (abort.signal.aborted) return;
      const { uid } = pod.metadata;
      const entry = entries.get(uid);
      if (entry) {
        entry.pod = pod;
        entry.wanted = status;
        return;
      }
      if (statusPatch(uid, pod.status, status) === undefined) return;
      const made: Entry = { pod, wanted: status, sending: Promise.resolve() };
      entries.set(uid, made);
      made.sending = send(uid, made);
    },
    settled: (uid) => entries.get(uid)?.sending ?? Promise.resolve(),
    async stop() {
      abort.abort();
      await Promise.all([...entries.values()].map(({ sending }) => sending));
    },
  };
}

function newer(a: FrozenPod, b: FrozenPod | undefined): FrozenPod {
  return b !== undefined && Number(b.metadata.resourceVersion) >= Number(a.metadata.resourceVersion) ? b : a;
}

// Owns writing what became of a refused pod into its status: the newest word for each pod, so many requests at a time.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { TaskGroup } from '../base/task-group.ts';
import type { Frozen } from '../api/meta.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { isNotFound } from '../api/status-error.ts';
import { timeOf } from '../api/time.ts';
import type { ResourceClient } from '../client/client.ts';
import type { PodInfo } from './pod-info.ts';

export interface PodVerdict {
  /** Absent: the condition is left as it is. */
  readonly condition?: { readonly reason: 'Unschedulable' | 'SchedulerError'; readonly message: string };
  /** Absent: left as it is. Empty: taken away. */
  readonly nominatedNodeName?: string;
}

const maxConcurrent = 16;

export class StatusWriter {
  readonly #pods: ResourceClient<Pod>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #group: TaskGroup;
  /** At most one entry a pod. */
  readonly #pending = new Map<string, { readonly info: PodInfo; readonly verdict: PodVerdict }>();
  #writers = 0;

  constructor(options: { pods: ResourceClient<Pod>; clock: Clock; logger: Logger; group: TaskGroup }) {
    this.#pods = options.pods;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#group = options.group;
  }

  put(info: PodInfo, verdict: PodVerdict): void {
    if (!changes(info, verdict)) {
      this.#pending.delete(info.uid);
      return;
    }
    this.#pending.set(info.uid, { info, verdict });
    if (this.#writers >= maxConcurrent) return;
    this.#writers++;
    this.#group.run('pod status', (signal) => this.#drain(signal));
  }

  forget(uid: string): void {
    this.#pending.delete(uid);
  }

  async #drain(signal: AbortSignal): Promise<void> {
    try {
      for (let next = this.#take(); next !== undefined && !signal.aborted; next = this.#take())
        await this.write(next.info, next.verdict, signal).catch((error: unknown) => {
          if (!isNotFound(error) && !signal.aborted)
            this.#logger.warn('pod status was not written', {
              pod: `${next?.info.namespace}/${next?.info.name}`,
              error,
            });
        });
    } finally {
      this.#writers--;
    }
  }

  #take(): { readonly info: PodInfo; readonly verdict: PodVerdict } | undefined {
    for (const [uid, entry] of this.#pending) {
      this.#pending.delete(uid);
      return entry;
    }
    return undefined;
  }

  /** Writes at once. Throws StatusError. */
  async write(info: PodInfo, { condition, nominatedNodeName }: PodVerdict, signal: AbortSignal): Promise<void> {
    const { pod, uid, namespace, name } = info;
    const before = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    const now = timeOf(this.#clock.now());
    const body = {
      metadata: { uid },
      status: {
        ...(condition && {
          ...conditionOrder(pod, 'PodScheduled'),
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              ...condition,
              ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
              lastProbeTime: null,
              lastTransitionTime: before?.status === 'False' ? before.lastTransitionTime : now,
            },
          ],
        }),
        ...(nominatedNodeName !== undefined && { nominatedNodeName: nominatedNodeName || null }),
      },
    };
    await this.#pods.patch(
      { namespace, name },
      { type: 'strategic', body },
      { subresource: 'status', fieldManager: 'kube-scheduler', signal },
    );
  }
}

/** Keeps the conditions in the order in which they came; a strategic patch puts new ones first otherwise. */
export function conditionOrder(pod: Frozen<Pod>, type: string): Record<string, readonly { readonly type: string }[]> {
  const types = (pod.status?.conditions ?? []).map((condition) => condition.type);
  const all = types.includes(type) ? types : [...types, type];
  return { '$setElementOrder/conditions': all.map((each) => ({ type: each })) };
}

function changes({ pod }: PodInfo, { condition, nominatedNodeName }: PodVerdict): boolean {
  if (nominatedNodeName !== undefined && nominatedNodeName !== (pod.status?.nominatedNodeName ?? '')) return true;
  if (condition === undefined) return false;
  const before = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return (
    before?.status !== 'False' ||
    before.reason !== condition.reason ||
    before.message !== condition.message ||
    before.observedGeneration !== pod.metadata.generation
  );
}

// Owns pods that a permit plugin keeps waiting between the decision and the binding.
import type { Clock } from '../base/clock.ts';
import { deferred } from '../base/task-group.ts';
import { type Refusal, type RefusedBy, refusal } from './framework/plugin.ts';
import type { PodInfo } from './pod-info.ts';

interface Waiting {
  readonly pod: PodInfo;
  readonly pending: Set<string>;
  readonly settle: (refused: Refusal) => void;
}

export class WaitingPods {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  pods(): readonly PodInfo[] {
    return [...this.#waiting.values()].map(({ pod }) => pod);
  }

  /** One plugin's consent; the pod goes on when all that made it wait have given theirs. */
  allow(uid: string, plugin: string): void {
    const waiting = this.#waiting.get(uid);
    if (waiting?.pending.delete(plugin) === true && waiting.pending.size === 0) waiting.settle(undefined);
  }

  reject(uid: string, why: RefusedBy): void {
    this.#waiting.get(uid)?.settle(why);
  }

  /** Resolves when all plugins consent, one rejects, or the first of their times is up. Rejects with the signal's reason. */
  async wait(pod: PodInfo, limits: ReadonlyMap<string, number>, signal: AbortSignal): Promise<Refusal> {
    const { promise, resolve, reject } = deferred<Refusal>();
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) throw signal.reason as Error;
    signal.addEventListener('abort', onAbort, { once: true });
    const timers = [...limits].map(([plugin, ms]) =>
      this.#clock.after(ms, () => resolve(refusal(`pod "${pod.name}" rejected: plugin ${plugin} waited too long`))),
    );
    this.#waiting.set(pod.uid, { pod, pending: new Set(limits.keys()), settle: resolve });
    try {
      return await promise;
    } finally {
      this.#waiting.delete(pod.uid);
      for (const timer of timers) timer.cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }
}

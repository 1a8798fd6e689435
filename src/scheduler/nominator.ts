// Owns which pods were promised which node by preemption and wait for it to become free.
import type { Nominations } from './schedule-pod.ts';
import type { PodInfo } from './pod-info.ts';

const nobody: readonly PodInfo[] = [];

export class Nominator implements Nominations {
  readonly #nodeOf = new Map<string, string>();
  readonly #byNode = new Map<string, Map<string, PodInfo>>();

  get size(): number {
    return this.#nodeOf.size;
  }

  on(nodeName: string): readonly PodInfo[] {
    const pods = this.#byNode.get(nodeName);
    return pods === undefined ? nobody : [...pods.values()];
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodeOf.get(uid);
  }

  /** An empty node name takes the promise back. */
  nominate(pod: PodInfo, nodeName: string): void {
    this.remove(pod.uid);
    if (nodeName === '') return;
    this.#nodeOf.set(pod.uid, nodeName);
    let pods = this.#byNode.get(nodeName);
    if (pods === undefined) this.#byNode.set(nodeName, (pods = new Map()));
    pods.set(pod.uid, pod);
  }

  remove(uid: string): void {
    const nodeName = this.#nodeOf.get(uid);
    if (nodeName === undefined) return;
    this.#nodeOf.delete(uid);
    const pods = this.#byNode.get(nodeName);
    pods?.delete(uid);
    if (pods?.size === 0) this.#byNode.delete(nodeName);
  }
}

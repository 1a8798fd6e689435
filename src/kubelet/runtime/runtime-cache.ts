// Owns the picture of what runs on this node: relists, listens to the runtime's events, and tells who asked about a pod's change.
import { type Clock, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isAbort } from '../../base/task-group.ts';
import { isGrpcError } from '../../wire/grpc-service.ts';
import type { Container as CriContainer, PodSandbox } from '../../wire/generated/cri-runtime-v1.ts';
import type { Cri } from '../cri.ts';
import { exitedIn, taskExitFilter } from './containerd-events.ts';
import {
  newestFirst,
  type RuntimeContainer,
  runtimeContainer,
  runtimeLabels,
  type RuntimePod,
  type RuntimeSandbox,
  runtimeSandbox,
  stateOf,
} from './runtime-pod.ts';

export interface RuntimeCacheOptions {
  readonly cri: Cri;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reads what a finished container left as its message. */
  readonly terminationMessage: (
    annotations: Readonly<Record<string, string>>,
    exitCode: number,
    logPath: string,
    mounts: readonly { readonly containerPath: string; readonly hostPath: string }[],
  ) => string;
  /** Between relists while the runtime sends events, and while it does not. */
  readonly relistWithEventsMs?: number;
  readonly relistMs?: number;
}

export interface RuntimeCache {
  get(uid: string): RuntimePod | undefined;
  list(): readonly RuntimePod[];
  /** Asks the runtime about one pod now. */
  refresh(uid: string): Promise<RuntimePod | undefined>;
  /** Asks the runtime about everything now. Changed pods are told to `changed`. */
  relist(): Promise<void>;
  /** When the last whole relist succeeded (monotonic ms), for node health; undefined before the first. */
  readonly lastRelistMs: number | undefined;
  onChange(changed: (uid: string) => void): () => void;
  run(signal: AbortSignal): Promise<void>;
}

export function runtimeCache(options: RuntimeCacheOptions): RuntimeCache {
  return new Cache(options);
}

class Cache implements RuntimeCache {
  readonly #options: RuntimeCacheOptions;
  readonly #pods = new Map<string, RuntimePod>();
  readonly #signatures = new Map<string, string>();
  readonly #listeners = new Set<(uid: string) => void>();
  /** Full statuses of finished things do not change: they are asked for once. */
  readonly #finished = new Map<string, RuntimeContainer>();
  #hasEvents = false;
  #isRelistingSoon = false;
  lastRelistMs: number | undefined;

  constructor(options: RuntimeCacheOptions) {
    this.#options = options;
  }

  get(uid: string): RuntimePod | undefined {
    return this.#pods.get(uid);
  }

  list(): readonly RuntimePod[] {
    return [...this.#pods.values()];
  }

  onChange(changed: (uid: string) => void): () => void {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  }

  async refresh(uid: string): Promise<RuntimePod | undefined> {
    const { runtime } = this.#options.cri;
    const labelSelector = { [runtimeLabels.podUid]: uid };
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandbox({ filter: { labelSelector } }, callOptions),
      runtime.listContainers({ filter: { labelSelector } }, callOptions),
    ]);
    await this.#take(uid, sandboxes.items, containers.containers);
    return this.#pods.get(uid);
  }

  async relist(): Promise<void> {
    const { runtime } = this.#options.cri;
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandbox({}, callOptions),
      runtime.listContainers({}, callOptions),
    ]);
    const byPod = new Map<string, { sandboxes: PodSandbox[]; containers: CriContainer[] }>();
    const entry = (uid: string) => {
      const found = byPod.get(uid) ?? { sandboxes: [], containers: [] };
      byPod.set(uid, found);
      return found;
    };
    for (const each of sandboxes.items) entry(uidOf(each)).sandboxes.push(each);
    for (const each of containers.containers) entry(uidOf(each)).containers.push(each);
    byPod.delete('');
    for (const uid of this.#pods.keys()) if (!byPod.has(uid)) entry(uid);
    const living = new Set(containers.containers.map(({ id }) => id));
    for (const id of this.#finished.keys()) if (!living.has(id)) this.#finished.delete(id);
    for (const [uid, found] of byPod) await this.#take(uid, found.sandboxes, found.containers);
    this.lastRelistMs = this.#options.clock.monotonic();
  }

  /** Updates one pod from the runtime's lists; details are asked for only where something changed. */
  async #take(uid: string, sandboxes: readonly PodSandbox[], containers: readonly CriContainer[]): Promise<void> {
    const signature = [
      ...sandboxes.map((each) => `${each.id} ${each.state}`),
      ...containers.map((each) => `${each.id} ${each.state}`),
    ]
      .toSorted()
      .join();
    if (signature === (this.#signatures.get(uid) ?? '')) return;
    const before = this.#pods.get(uid);
    const [newSandboxes, newContainers] = await Promise.all([
      Promise.all(sandboxes.map((each) => this.#sandbox(each, before))),
      Promise.all(containers.map((each) => this.#container(each, before))),
    ]);
    const first = sandboxes[0]?.labels ?? containers[0]?.labels;
    if (first === undefined) {
      this.#pods.delete(uid);
      this.#signatures.delete(uid);
    } else {
      this.#pods.set(uid, {
        uid,
        name: first[runtimeLabels.podName] ?? '',
        namespace: first[runtimeLabels.podNamespace] ?? '',
        sandboxes: newSandboxes.toSorted(newestFirst),
        containers: newContainers.filter((each) => each !== undefined).toSorted(newestFirst),
      });
      this.#signatures.set(uid, signature);
    }
    for (const listener of this.#listeners) listener(uid);
  }

  async #sandbox(sandbox: PodSandbox, before: RuntimePod | undefined): Promise<RuntimeSandbox> {
    const known = before?.sandboxes.find(({ id }) => id === sandbox.id);
    if (known && known.ready === (sandbox.state === 'SANDBOX_READY')) return known;
    if (sandbox.state !== 'SANDBOX_READY') return { ...runtimeSandbox(sandbox, undefined), ips: known?.ips ?? [] };
    const status = await gone(this.#options.cri.runtime.podSandboxStatus({ podSandboxId: sandbox.id }, callOptions));
    return runtimeSandbox(sandbox, status?.status);
  }

  async #container(container: CriContainer, before: RuntimePod | undefined): Promise<RuntimeContainer | undefined> {
    const finished = this.#finished.get(container.id);
    if (finished) return finished;
    const known = before?.containers.find(({ id }) => id === container.id);
    if (known && known.state === stateOf(container)) return known;
    const answer = await gone(this.#options.cri.runtime.containerStatus({ containerId: container.id }, callOptions));
    const status = answer?.status;
    if (status === undefined) return undefined;
    const message =
      status.state === 'CONTAINER_EXITED'
        ? this.#options.terminationMessage(status.annotations, status.exitCode, status.logPath, status.mounts)
        : '';
    const result = runtimeContainer(status, container.podSandboxId, message || status.message);
    if (result.state === 'exited') this.#finished.set(container.id, result);
    return result;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#relistLoop(signal), this.#eventLoop(signal)]);
  }

  async #relistLoop(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        await this.relist();
      } catch (error) {
        if (isAbort(error) && signal.aborted) return;
        logger.warn('cannot list what the runtime runs', { error });
      }
      const pause = this.#hasEvents ? (this.#options.relistWithEventsMs ?? 5000) : (this.#options.relistMs ?? 1000);
      try {
        await sleep(clock, pause, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  }

  async #eventLoop(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const sources = [() => this.#criEvents(signal), () => this.#containerdEvents(signal)];
    while (!signal.aborted && sources.length > 0) {
      try {
        await sources[0]!();
      } catch (error) {
        if (signal.aborted) return;
        // Older runtimes have no events over CRI, and not every runtime is containerd: relisting every second remains.
        if (isGrpcError(error, 'UNIMPLEMENTED')) sources.shift();
        else logger.debug('the runtime ended its events', { error });
      }
      this.#hasEvents = false;
      try {
        await sleep(clock, sources.length === 2 ? 1000 : 0, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  }

  async #criEvents(signal: AbortSignal): Promise<void> {
    for await (const event of this.#options.cri.runtime.getContainerEvents({}, { signal })) {
      this.#hasEvents = true;
      const uid = event.podSandboxStatus?.metadata?.uid;
      if (uid) await this.refresh(uid);
    }
  }

  async #containerdEvents(signal: AbortSignal): Promise<void> {
    // Exits that happened while nobody listened are found by the next relist, which is never far away.
    for await (const event of this.#options.cri.events.subscribe({ filters: [taskExitFilter] }, { signal })) {
      this.#hasEvents = true;
      const id = exitedIn(event);
      const pod = this.list().find(
        ({ containers, sandboxes }) =>
          containers.some((each) => each.id === id) || sandboxes.some((each) => each.id === id),
      );
      if (pod) this.#lookSoon(pod.uid, 0);
      else this.#relistSoon(0);
    }
  }

  /** What ended so soon that it is not known yet: one round of looks however many such there are. */
  #relistSoon(tries: number): void {
    const delayMs = lookDelaysMs[tries];
    if (delayMs === undefined || (tries === 0 && this.#isRelistingSoon)) {
      this.#isRelistingSoon = this.#isRelistingSoon && delayMs !== undefined;
      return;
    }
    this.#isRelistingSoon = true;
    this.#options.clock.after(delayMs, () => {
      this.relist()
        .catch((error: unknown) => this.#options.logger.debug('cannot list after an event', { error }))
        .finally(() => this.#relistSoon(tries + 1));
    });
  }

  /** CRI's own picture follows the event by some milliseconds: looks again a few times until it shows. */
  #lookSoon(uid: string, tries: number): void {
    const delayMs = lookDelaysMs[tries];
    if (delayMs === undefined) return;
    const before = this.#signatures.get(uid);
    this.#options.clock.after(delayMs, () => {
      this.refresh(uid).then(
        () => {
          if (this.#signatures.get(uid) === before) this.#lookSoon(uid, tries + 1);
        },
        (error: unknown) => this.#options.logger.debug('cannot look at a pod after an event', { error }),
      );
    });
  }
}

const lookDelaysMs = [5, 30, 150, 600];
const callOptions = { timeoutMs: 120_000 };

function uidOf(object: { readonly labels: Readonly<Record<string, string>> }): string {
  return object.labels[runtimeLabels.podUid] ?? '';
}

/** Undefined when the object went away between being listed and being asked about. */
async function gone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isGrpcError(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}

// Owns the set of pods of this node: a worker for each, from the API server and from manifests; strays in the runtime are removed.
import { rm } from 'node:fs/promises';
import type { PodStatus } from '../api/generated/core.v1.ts';
import { pods } from '../api/generated/resources.ts';
import { keyOf } from '../api/meta.ts';
import { isConflict, isNotFound } from '../api/status-error.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Informer } from '../client/informer.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { isGrpcError } from '../wire/grpc-service.ts';
import { podLogFolder } from './pod/folders.ts';
import type { NodeContext } from './pod/node-context.ts';
import { PodWorker } from './pod/pod-worker.ts';
import { type FrozenPod, isMirrorPod } from './pod/pod-words.ts';
import type { StatusWriter } from './pod/status-writer.ts';
import type { RuntimePod } from './runtime/runtime-pod.ts';
import { podFolders } from './volumes/volumes.ts';

export interface NodePodsOptions {
  readonly node: NodeContext;
  readonly client: Client;
  readonly informer: Informer<Pod>;
  readonly statuses: StatusWriter;
  /** Why this node will not run the pod, or undefined. */
  readonly admit: (
    pod: FrozenPod,
    others: readonly FrozenPod[],
  ) => { readonly reason: string; readonly message: string } | undefined;
}

export interface NodePods {
  list(): readonly FrozenPod[];
  /** By UID; a mirror pod's UID finds its static pod. */
  worker(uid: string): PodWorker | undefined;
  /** A static pod, whose manifest is `undefined` when it was removed. */
  setStatic(uid: string, pod: FrozenPod | undefined): void;
  /** Resolves once the runtime and the API server have said what there is. */
  whenKnown(signal: AbortSignal): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

const volumeRefreshMs = 15_000;
const strayRoundMs = 30_000;

export function nodePods(options: NodePodsOptions): NodePods {
  const { node, informer, statuses } = options;
  const workers = new Map<string, PodWorker>();
  /** Static pods by UID, and the API's mirror of each by "namespace/name". */
  const statics = new Map<string, FrozenPod>();
  const mirrors = new Map<string, FrozenPod>();
  /** Gone from here, but kept in the API by someone's finalizer. */
  const finished = new Set<string>();

  function open(pod: FrozenPod): void {
    const { uid } = pod.metadata;
    const known = workers.get(uid);
    if (known) return known.update(pod);
    if (finished.has(uid)) return;
    const others = [...workers.values()].filter((worker) => !worker.isStopping).map((worker) => worker.pod);
    const isNew = pod.status?.phase === undefined || pod.status.phase === 'Pending';
    const hasRun = node.runtime.get(uid) !== undefined;
    const refusal = isNew && !hasRun && !pod.metadata.deletionTimestamp ? options.admit(pod, others) : undefined;
    if (refusal) return reject(pod, refusal);
    const isStatic = statics.has(uid);
    const ended = (): void => {
      workers.delete(uid);
      if (!statics.delete(uid) && informer.get(keyOf(pod))?.metadata.uid === uid) finished.add(uid);
    };
    workers.set(
      uid,
      // A static pod's mirror is removed by whoever reads the manifests.
      new PodWorker({ node, pod, publish, finish: isStatic ? async () => undefined : finish, ended }),
    );
  }

  function reject(pod: FrozenPod, { reason, message }: { readonly reason: string; readonly message: string }): void {
    node.events.event(pod, 'Warning', reason, message);
    statuses.set(pod, {
      ...(pod.status as PodStatus),
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message}`,
    });
  }

  function publish(pod: FrozenPod, status: PodStatus): void {
    const mirror = statics.has(pod.metadata.uid) ? mirrors.get(nameOf(pod)) : pod;
    if (mirror) statuses.set(mirror, status);
  }

  /** Only this node's word removes a deleted pod from the API server. */
  async function finish(pod: FrozenPod): Promise<void> {
    const { uid } = pod.metadata;
    await statuses.settled(uid);
    try {
      await options.client.resource(pods).delete(keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  function gone(pod: FrozenPod): void {
    if (isMirrorPod(pod)) return void mirrors.delete(nameOf(pod));
    finished.delete(pod.metadata.uid);
    const worker = workers.get(pod.metadata.uid);
    // Removed without asking this node (a forced deletion): its containers still get a moment.
    worker?.stop({
      reason: 'deleted',
      graceSeconds: pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30,
      sinceMs: node.clock.now(),
    });
  }

  function seen(pod: FrozenPod): void {
    if (!isMirrorPod(pod)) return open(pod);
    mirrors.set(nameOf(pod), pod);
    for (const [uid, each] of statics) if (nameOf(each) === nameOf(pod)) workers.get(uid)?.wake();
  }

  return {
    list: () => [...workers.values()].map((worker) => worker.pod),
    worker: (uid) => {
      const direct = workers.get(uid);
      if (direct) return direct;
      const mirror = [...mirrors.values()].find((pod) => pod.metadata.uid === uid);
      const owner = [...statics].find(([, pod]) => mirror && nameOf(pod) === nameOf(mirror));
      return owner && workers.get(owner[0]);
    },
    setStatic(uid, pod) {
      if (pod) {
        statics.set(uid, pod);
        return open(pod);
      }
      const worker = workers.get(uid);
      worker?.stop({
        reason: 'deleted',
        graceSeconds: worker.pod.spec.terminationGracePeriodSeconds ?? 30,
        sinceMs: node.clock.now(),
      });
    },
    whenKnown: (signal) => informer.whenSynced(signal),
    async run(signal) {
      const off = [node.runtime.onChange((uid) => workers.get(uid)?.wake())];
      try {
        await Promise.all([relistOnce(node, signal), informer.whenSynced(signal)]);
        off.push(informer.on({ added: seen, updated: seen, deleted: gone }));
        await Promise.all([
          strayLoop(
            node,
            (uid) => workers.has(uid) || informer.list().some(({ metadata }) => metadata.uid === uid),
            signal,
          ),
          volumeLoop(node, () => [...workers.values()], signal),
        ]);
      } finally {
        for (const each of off) each();
        await Promise.all([...workers.values()].map((worker) => worker.shutdown()));
      }
    },
  };
}

function nameOf({ metadata }: FrozenPod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** What runs must be known before anything is started: again and again until the runtime answers. */
export async function relistOnce(node: NodeContext, signal: AbortSignal): Promise<void> {
  while (node.runtime.lastRelistMs === undefined) {
    try {
      await node.runtime.relist();
    } catch (error) {
      signal.throwIfAborted();
      node.logger.warn('the container runtime does not answer yet', { error });
      await sleep(node.clock, 1000, signal);
    }
  }
}

/** False when the signal ended the pause. */
async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(clock, ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

async function volumeLoop(node: NodeContext, workers: () => PodWorker[], signal: AbortSignal): Promise<void> {
  while (await pause(node.clock, volumeRefreshMs, signal)) {
    for (const worker of workers()) {
      if (signal.aborted) return;
      try {
        await worker.refreshVolumes();
      } catch (error) {
        node.logger.debug('cannot refresh volumes', { pod: worker.pod.metadata.name, error });
      }
    }
  }
}

/** Pods in the runtime, folders and cgroups that no one knows any more: deleted while this kubelet was away. */
async function strayLoop(node: NodeContext, isKnown: (uid: string) => boolean, signal: AbortSignal): Promise<void> {
  do {
    try {
      await Promise.all(
        node.runtime
          .list()
          .filter(({ uid }) => !isKnown(uid))
          .map((stray) => removeStray(node, stray)),
      );
      for (const uid of await podFolders(node.folders.pods)) if (!isKnown(uid)) await node.volumes.remove(uid);
      for (const path of node.cgroups.podPaths())
        if (!isKnown(path.slice(path.lastIndexOf('/pod') + 4))) node.cgroups.remove(path);
    } catch (error) {
      node.logger.warn('cannot remove what a deleted pod left', { error });
    }
  } while (await pause(node.clock, strayRoundMs, signal));
}

async function removeStray(node: NodeContext, pod: RuntimePod): Promise<void> {
  const { runtime } = node.cri;
  const options = { timeoutMs: 120_000 };
  const running = pod.containers.filter(({ state }) => state === 'running');
  await Promise.all(
    running.map(({ id }) => ignoreGone(runtime.stopContainer({ containerId: id, timeout: 10 }, options))),
  );
  for (const { id } of pod.sandboxes) {
    await ignoreGone(runtime.stopPodSandbox({ podSandboxId: id }, options));
    await ignoreGone(runtime.removePodSandbox({ podSandboxId: id }, options));
  }
  await rm(podLogFolder(node.folders, pod), { recursive: true, force: true });
  await node.runtime.refresh(pod.uid);
}

async function ignoreGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isGrpcError(error, 'NOT_FOUND')) throw error;
  }
}

// Owns keeping one pod of a DaemonSet on each node that should have it, and moving them to a new template.
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type { ControllerRevision, DaemonSet } from '../../api/generated/apps.v1.ts';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import { controllerRevisions, daemonSets, nodes, pods } from '../../api/generated/resources.ts';
import { isEmptySelector, labelPredicate } from '../../api/selector.ts';
import { isTerminating, msUntilAvailable } from '../../api/pod-readiness.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Again, type Controller, type ControllerContext, self, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { claimed, indexByController, ownedBy } from '../framework/owners.ts';
import { inGrowingBatches, isNamespaceTerminating, podControl, podFromTemplate } from '../framework/pod-control.ts';
import {
  currentRevision,
  cutHistory,
  hashOf,
  isOfRevision,
  RevisionCollision,
  revisionHashLabel,
} from '../framework/revisions.ts';
import {
  daemonPodSpec,
  type DaemonPlan,
  planNodes,
  planStatus,
  planUpdate,
  type Situation,
  targetNode,
} from './plan.ts';

const generationAnnotation = 'deprecated.daemonset.template.generation';
const generationLabel = 'pod-template-generation';
/** Failed pods are replaced after 1 s, doubling to 15 min, forgotten after twice that without a failure. */
const failedBackoff = { firstMs: 1000, maxMs: 15 * 60_000 };

export function daemonSetController(context: ControllerContext): Controller {
  const worker = new DaemonSetWorker(context);
  return {
    name: 'daemonset-controller',
    workers: 2,
    watches: worker.watches,
    reconcile: (key, signal) => worker.reconcile(key, signal),
  };
}

class DaemonSetWorker {
  readonly #context: ControllerContext;
  readonly #cache;
  readonly #podCache;
  readonly #nodeCache;
  readonly #revisionCache;
  readonly #writer;
  readonly #revisionWriter;
  readonly #recorder;
  readonly #control;
  /** Daemon set's uid and node → when the next failed pod there may be replaced. */
  readonly #failures = new Map<string, { delayMs: number; nextMs: number }>();

  constructor(context: ControllerContext) {
    this.#context = context;
    const { informers } = context;
    this.#cache = informers.informer(daemonSets);
    this.#podCache = informers.informer(pods);
    this.#nodeCache = informers.informer(nodes);
    this.#revisionCache = informers.informer(controllerRevisions);
    this.#writer = informers.writer(daemonSets);
    this.#revisionWriter = informers.writer(controllerRevisions);
    this.#recorder = context.events.recorder('daemonset-controller');
    this.#control = podControl(context, this.#recorder);
    indexByController(this.#podCache);
    indexByController(this.#revisionCache);
  }

  get watches() {
    const all = (): ObjectKey[] => this.#cache.list().map((set) => keyOf(set));
    const adopters = (obj: Frozen<Pod> | Frozen<ControllerRevision>) =>
      this.#cache
        .list(obj.metadata.namespace)
        .filter((set) => labelPredicate(set.spec.selector)(obj.metadata.labels))
        .map((set) => keyOf(set));
    return [
      self(this.#cache),
      ownedBy(daemonSets, this.#podCache, adopters),
      ownedBy(daemonSets, this.#revisionCache, adopters),
      watching(this.#nodeCache, (node, previous) => (previous && !concernsPlacement(node, previous) ? [] : all())),
    ];
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    const daemonSet = this.#cache.get(key);
    if (!daemonSet || isTerminating(daemonSet)) return undefined;
    if (isEmptySelector(daemonSet.spec.selector)) {
      this.#recorder.event(
        daemonSet,
        'Warning',
        'SelectingAll',
        'This daemon set is selecting all pods. A non-empty selector is required.',
      );
      return undefined;
    }
    const claim = {
      owner: daemonSet,
      ref: daemonSets,
      matches: labelPredicate(daemonSet.spec.selector),
      current: () => this.#context.client.resource(daemonSets).get(key),
      signal,
    };
    const known = await claimed({ ...claim, informer: this.#revisionCache, client: this.#revisionWriter });
    const revision = await this.#revision(daemonSet, known, signal);
    if (!revision) return { afterMs: 10 };
    const mine = await claimed({ ...claim, informer: this.#podCache, client: this.#control.client });
    const waitMs = await this.#act(daemonSet, mine, revision, signal);
    const after = this.#podCache.indexed('controller', daemonSet.metadata.uid);
    const situation = this.#situation(daemonSet, after, revision);
    await this.#writeStatus(daemonSet, situation, signal);
    const all = known.some((one) => one.metadata.uid === revision.metadata.uid) ? known : [...known, revision];
    const used = new Set([...after.map(hashOf), hashOf(revision)]);
    await cutHistory(this.#revisionWriter, all, used, daemonSet.spec.revisionHistoryLimit ?? 10, signal);
    return soonest([waitMs, this.#msUntilAvailable(daemonSet, after)]);
  }

  async #revision(
    daemonSet: Frozen<DaemonSet>,
    known: readonly Frozen<ControllerRevision>[],
    signal: AbortSignal,
  ): Promise<Frozen<ControllerRevision> | undefined> {
    const collisionCount = daemonSet.status?.collisionCount;
    try {
      const of = { ref: daemonSets, owner: daemonSet, template: daemonSet.spec.template, collisionCount };
      return await currentRevision(this.#revisionWriter, of, known, signal);
    } catch (error) {
      if (!(error instanceof RevisionCollision)) throw error;
      const status = { ...daemonSet.status, collisionCount: (collisionCount ?? 0) + 1 };
      await this.#writer.updateStatus({ ...daemonSet, status }, { signal });
      return undefined;
    }
  }

  #situation(
    daemonSet: Frozen<DaemonSet>,
    mine: readonly Frozen<Pod>[],
    revision: Frozen<ControllerRevision>,
  ): Situation {
    const podsOf = new Map<string, Frozen<Pod>[]>();
    for (const pod of mine) {
      const node = targetNode(pod);
      if (node === '') continue;
      const list = podsOf.get(node);
      if (list) list.push(pod);
      else podsOf.set(node, [pod]);
    }
    return {
      daemonSet,
      nodes: this.#nodeCache.list(),
      podsOf,
      isUpdated: (pod) => isOfRevision(pod, revision),
      nowMs: this.#context.clock.now(),
    };
  }

  /** Returns how long a failed pod must still wait to be replaced. */
  async #act(
    daemonSet: Frozen<DaemonSet>,
    mine: readonly Frozen<Pod>[],
    revision: Frozen<ControllerRevision>,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const plan = planNodes(this.#situation(daemonSet, mine, revision));
    const { ready, waitMs } = this.#dueFailures(daemonSet, plan.failed);
    await this.#carryOut(daemonSet, { ...plan, remove: [...plan.remove, ...ready] }, revision, signal);
    if (daemonSet.spec.updateStrategy?.type === 'OnDelete') return waitMs;
    const now = this.#podCache.indexed('controller', daemonSet.metadata.uid);
    await this.#carryOut(daemonSet, planUpdate(this.#situation(daemonSet, now, revision)), revision, signal);
    return waitMs;
  }

  #dueFailures(
    daemonSet: Frozen<DaemonSet>,
    failed: readonly Frozen<Pod>[],
  ): { ready: Frozen<Pod>[]; waitMs: number | undefined } {
    const nowMs = this.#context.clock.monotonic();
    const ready: Frozen<Pod>[] = [];
    let waitMs: number | undefined;
    for (const [key, { nextMs, delayMs }] of this.#failures)
      if (nowMs > nextMs + 2 * delayMs) this.#failures.delete(key);
    for (const pod of failed) {
      const node = targetNode(pod);
      const key = `${daemonSet.metadata.uid}/${node}`;
      const known = this.#failures.get(key);
      if (known && known.nextMs > nowMs) {
        waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, known.nextMs - nowMs);
        continue;
      }
      const delayMs = known ? Math.min(known.delayMs * 2, failedBackoff.maxMs) : failedBackoff.firstMs;
      this.#failures.set(key, { delayMs, nextMs: nowMs + delayMs });
      const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
      if (pod.status?.phase === 'Failed')
        this.#recorder.event(
          daemonSet,
          'Warning',
          'FailedDaemonPod',
          `Found failed daemon pod ${name} on node ${node}, will try to kill it`,
        );
      else
        this.#recorder.event(
          daemonSet,
          'Normal',
          'SucceededDaemonPod',
          `Found succeeded daemon pod ${name} on node ${node}, will try to delete it`,
        );
      ready.push(pod);
    }
    return { ready, waitMs };
  }

  async #carryOut(
    daemonSet: Frozen<DaemonSet>,
    { create, remove }: DaemonPlan,
    revision: Frozen<ControllerRevision>,
    signal: AbortSignal,
  ): Promise<void> {
    const { error } = await inGrowingBatches(create.length, (at) =>
      this.#control.create(daemonSet, this.#podFor(daemonSet, create[at]!, revision), signal),
    );
    const deletions = await Promise.allSettled(remove.map((pod) => this.#control.delete(daemonSet, pod, signal)));
    const failure = error ?? deletions.find((result) => result.status === 'rejected')?.reason;
    if (failure !== undefined && !isNamespaceTerminating(failure)) throw failure;
  }

  #podFor(daemonSet: Frozen<DaemonSet>, nodeName: string, revision: Frozen<ControllerRevision>) {
    const pod = podFromTemplate(daemonSets, daemonSet, daemonSet.spec.template);
    const generation = daemonSet.metadata.annotations?.[generationAnnotation];
    pod.metadata.labels = {
      ...pod.metadata.labels,
      [revisionHashLabel]: hashOf(revision),
      ...(generation !== undefined && { [generationLabel]: generation }),
    };
    pod.spec = daemonPodSpec(pod.spec as Frozen<Pod['spec']>, nodeName);
    return pod;
  }

  async #writeStatus(daemonSet: Frozen<DaemonSet>, situation: Situation, signal: AbortSignal): Promise<void> {
    const status = planStatus(situation);
    if (isEqual(status, daemonSet.status)) return;
    await this.#writer.updateStatus({ ...daemonSet, status }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  #msUntilAvailable(daemonSet: Frozen<DaemonSet>, mine: readonly Frozen<Pod>[]): number | undefined {
    const minReadySeconds = daemonSet.spec.minReadySeconds ?? 0;
    if (minReadySeconds === 0) return undefined;
    const waits = mine.map((pod) => msUntilAvailable(pod, minReadySeconds, this.#context.clock.now()));
    const ahead = waits.filter((ms): ms is number => ms !== undefined && ms > 0);
    return ahead.length > 0 ? Math.min(...ahead) : undefined;
  }
}

function concernsPlacement(node: Frozen<Node>, previous: Frozen<Node>): boolean {
  return (
    !isEqual(node.metadata.labels, previous.metadata.labels) ||
    !isEqual(node.spec.taints, previous.spec.taints) ||
    node.spec.unschedulable !== previous.spec.unschedulable
  );
}

function soonest(waits: readonly (number | undefined)[]): Again | undefined {
  const known = waits.filter((ms): ms is number => ms !== undefined);
  return known.length > 0 ? { afterMs: Math.max(1, Math.min(...known)) } : undefined;
}

// Owns moving a Deployment's replica sets towards its template and size, one step a reconcile. Decisions are in plan, revision and status.
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/generated/apps.v1.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { deployments, pods, replicaSets } from '../../api/generated/resources.ts';
import { isEmptySelector, labelPredicate } from '../../api/selector.ts';
import { isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import { isAlreadyExists, isNotFound, isStatusError } from '../../api/status-error.ts';
import {
  type Again,
  type Controller,
  type ControllerContext,
  self,
  type Watch,
  watching,
} from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import {
  claimed,
  controlledBy,
  controllerOf,
  indexByController,
  isControlledBy,
  ownedBy,
} from '../framework/owners.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';
import {
  byAge,
  isRolling,
  isScalingEvent,
  maxSurge,
  newReplicas,
  planCleanup,
  planRollingStep,
  planScale,
  replicasOf,
  type Scaling,
} from './plan.ts';
import {
  annotation,
  hasSameTemplate,
  newReplicaSet,
  revisionOf,
  sizeAnnotations,
  updatedAnnotations,
} from './revision.ts';
import {
  conditionOf,
  hasDeadline,
  isComplete,
  msUntilDeadline,
  planCounts,
  planRolloutStatus,
  withCondition,
} from './status.ts';

export function deploymentController(context: ControllerContext): Controller {
  const worker = new DeploymentWorker(context);
  return {
    name: 'deployment-controller',
    pauseMs: 50,
    watches: worker.watches,
    reconcile: (key, signal) => worker.reconcile(key, signal),
  };
}

interface Sets {
  readonly newSet: Frozen<ReplicaSet> | undefined;
  readonly old: readonly Frozen<ReplicaSet>[];
  readonly all: readonly Frozen<ReplicaSet>[];
}

class DeploymentWorker {
  readonly #context: ControllerContext;
  readonly #cache;
  readonly #setCache;
  readonly #podCache;
  readonly #writer;
  readonly #setWriter;
  readonly #recorder;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#cache = context.informers.informer(deployments);
    this.#setCache = context.informers.informer(replicaSets);
    this.#podCache = context.informers.informer(pods);
    this.#writer = context.informers.writer(deployments);
    this.#setWriter = context.informers.writer(replicaSets);
    this.#recorder = context.events.recorder('deployment-controller');
    indexByController(this.#setCache);
    indexByController(this.#podCache);
  }

  get watches(): Watch[] {
    return [
      self(this.#cache),
      ownedBy(deployments, this.#setCache, (set) => this.#adopters(set)),
      watching(this.#podCache, (pod) => this.#waitingFor(pod)),
    ];
  }

  *#adopters(set: Frozen<ReplicaSet>): Generator<ObjectKey> {
    for (const one of this.#cache.list(set.metadata.namespace))
      if (labelPredicate(one.spec.selector)(set.metadata.labels)) yield keyOf(one);
  }

  /** A Recreate deployment goes on when the last old pod is gone; others do not look at pods. */
  *#waitingFor(pod: Frozen<Pod>): Generator<ObjectKey> {
    const owner = controllerOf(pod);
    if (owner?.kind !== 'ReplicaSet') return;
    const namespace = pod.metadata.namespace ?? '';
    const set = this.#setCache.get({ namespace, name: owner.name });
    const top = set && controllerOf(set);
    if (top?.kind !== 'Deployment') return;
    const deployment = this.#cache.get({ namespace, name: top.name });
    if (deployment && !isRolling(deployment)) yield keyOf(deployment);
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    let deployment = this.#cache.get(key);
    if (!deployment) return undefined;
    if (isEmptySelector(deployment.spec.selector)) return this.#refuse(deployment, signal);
    const sets = await claimed({
      owner: deployment,
      ref: deployments,
      matches: labelPredicate(deployment.spec.selector),
      informer: this.#setCache,
      client: this.#setWriter,
      current: () => this.#context.client.resource(deployments).get(key),
      signal,
    });
    if (isTerminating(deployment)) return this.#writeCounts(deployment, this.#sort(deployment, sets), signal);
    deployment = await this.#notePause(deployment, signal);
    if (deployment.spec.paused || isScalingEvent(deployment, sets)) return this.#scaleOnly(deployment, sets, signal);
    return isRolling(deployment) ? this.#roll(deployment, sets, signal) : this.#recreate(deployment, sets, signal);
  }

  get #nowMs(): number {
    return this.#context.clock.now();
  }

  async #refuse(deployment: Frozen<Deployment>, signal: AbortSignal): Promise<undefined> {
    this.#recorder.event(
      deployment,
      'Warning',
      'SelectingAll',
      'This deployment is selecting all pods. A non-empty selector is required.',
    );
    const observedGeneration = deployment.metadata.generation ?? 0;
    if ((deployment.status?.observedGeneration ?? 0) < observedGeneration)
      await this.#writeStatus(deployment, { ...deployment.status, observedGeneration }, signal);
    return undefined;
  }

  /** Splits the sets into the one with the current template and the others. */
  #sort(deployment: Frozen<Deployment>, sets: readonly Frozen<ReplicaSet>[]): Sets {
    const newSet = byAge(sets).find((set) => hasSameTemplate(deployment, set));
    return { newSet, old: sets.filter((set) => set !== newSet), all: sets };
  }

  /** Pausing stops the deadline's clock, resuming starts it anew. */
  async #notePause(deployment: Frozen<Deployment>, signal: AbortSignal): Promise<Frozen<Deployment>> {
    const conditions = deployment.status?.conditions ?? [];
    const current = conditionOf(conditions, 'Progressing');
    if (!hasDeadline(deployment) || current?.reason === 'ProgressDeadlineExceeded') return deployment;
    const wasPaused = current?.reason === 'DeploymentPaused';
    const isPaused = deployment.spec.paused ?? false;
    if (isPaused === wasPaused) return deployment;
    const next = isPaused
      ? withCondition(conditions, 'Progressing', 'Unknown', 'DeploymentPaused', 'Deployment is paused', this.#nowMs)
      : withCondition(conditions, 'Progressing', 'Unknown', 'DeploymentResumed', 'Deployment is resumed', this.#nowMs);
    return this.#writeStatus(deployment, { ...deployment.status, conditions: [...next] }, signal);
  }

  async #scaleOnly(
    before: Frozen<Deployment>,
    sets: readonly Frozen<ReplicaSet>[],
    signal: AbortSignal,
  ): Promise<Again | undefined> {
    const { deployment, sorted } = await this.#numbered(before, sets, signal);
    const changed = await this.#scale(deployment, planScale(deployment, sorted.newSet, sorted.old), signal);
    const now = this.#refreshed(sorted, changed);
    if (deployment.spec.paused) await this.#cleanUp(deployment, now.old, signal);
    return this.#writeCounts(deployment, now, signal);
  }

  async #roll(
    before: Frozen<Deployment>,
    sets: readonly Frozen<ReplicaSet>[],
    signal: AbortSignal,
  ): Promise<Again | undefined> {
    const { deployment, sorted } = await this.#withNewSet(before, sets, signal);
    if (!sorted.newSet) return undefined;
    const changed = await this.#scale(deployment, planRollingStep(deployment, sorted.newSet, sorted.old), signal);
    if (changed.size === 0 && isComplete(deployment, deployment.status ?? {}))
      await this.#cleanUp(deployment, sorted.old, signal);
    return this.#writeRollout(deployment, this.#refreshed(sorted, changed), signal);
  }

  async #recreate(
    before: Frozen<Deployment>,
    sets: readonly Frozen<ReplicaSet>[],
    signal: AbortSignal,
  ): Promise<Again | undefined> {
    let { deployment, sorted } = await this.#numbered(before, sets, signal);
    const active = sorted.old.filter((set) => replicasOf(set) > 0);
    const changed = await this.#scale(
      deployment,
      active.map((replicaSet) => ({ replicaSet, replicas: 0 })),
      signal,
    );
    if (changed.size > 0) return this.#writeRollout(deployment, this.#refreshed(sorted, changed), signal);
    const oldPods = sorted.old.flatMap((set) => controlledBy(this.#podCache, set.metadata.uid));
    if (oldPods.some((pod) => !isPodFinished(pod))) return this.#writeRollout(deployment, sorted, signal);
    if (!sorted.newSet) ({ deployment, sorted } = await this.#withNewSet(deployment, sets, signal));
    if (!sorted.newSet) return undefined;
    const desired = replicasOf(deployment);
    const grow = replicasOf(sorted.newSet) === desired ? [] : [{ replicaSet: sorted.newSet, replicas: desired }];
    const grown = await this.#scale(deployment, grow, signal);
    if (isComplete(deployment, deployment.status ?? {})) await this.#cleanUp(deployment, sorted.old, signal);
    return this.#writeRollout(deployment, this.#refreshed(sorted, grown), signal);
  }

  /** Gives the existing new set its revision and annotations; makes none. */
  async #numbered(
    deployment: Frozen<Deployment>,
    sets: readonly Frozen<ReplicaSet>[],
    signal: AbortSignal,
  ): Promise<{ deployment: Frozen<Deployment>; sorted: Sets }> {
    const sorted = this.#sort(deployment, sets);
    if (!sorted.newSet) return { deployment, sorted };
    const revision = Math.max(0, ...sorted.old.map(revisionOf)) + 1;
    const annotations = updatedAnnotations(deployment, sorted.newSet, revision);
    const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
    let newSet = sorted.newSet;
    if (
      !isEqual(annotations, newSet.metadata.annotations ?? {}) ||
      (newSet.spec.minReadySeconds ?? 0) !== minReadySeconds
    ) {
      const { metadata, spec } = newSet;
      newSet = await this.#setWriter.update(
        { ...newSet, metadata: { ...metadata, annotations }, spec: { ...spec, minReadySeconds } },
        { signal },
      );
    }
    const all = sets.map((set) => (set === sorted.newSet ? newSet : set));
    const conditions = deployment.status?.conditions ?? [];
    const found =
      hasDeadline(deployment) && !conditionOf(conditions, 'Progressing')
        ? withCondition(
            conditions,
            'Progressing',
            'True',
            'FoundNewReplicaSet',
            `Found new replica set "${newSet.metadata.name}"`,
            this.#nowMs,
          )
        : conditions;
    const numbered = await this.#writeRevision(deployment, newSet, found, signal);
    return { deployment: numbered, sorted: { newSet, old: sorted.old, all } };
  }

  async #withNewSet(
    deployment: Frozen<Deployment>,
    sets: readonly Frozen<ReplicaSet>[],
    signal: AbortSignal,
  ): Promise<{ deployment: Frozen<Deployment>; sorted: Sets }> {
    const numbered = await this.#numbered(deployment, sets, signal);
    if (numbered.sorted.newSet) return numbered;
    const size = newReplicas(deployment, sets, 0);
    const revision = Math.max(0, ...sets.map(revisionOf)) + 1;
    const wanted = newReplicaSet(deployment, size, replicasOf(deployment) + maxSurge(deployment), revision);
    const newSet = await this.#createSet(deployment, wanted as unknown as Frozen<ReplicaSet>, signal);
    if (!newSet) return numbered;
    const message = `Created new replica set "${newSet.metadata.name}"`;
    const conditions = deployment.status?.conditions ?? [];
    const created = hasDeadline(deployment)
      ? withCondition(conditions, 'Progressing', 'True', 'NewReplicaSetCreated', message, this.#nowMs)
      : conditions;
    return {
      deployment: await this.#writeRevision(deployment, newSet, created, signal),
      sorted: { newSet, old: sets, all: [...sets, newSet] },
    };
  }

  /** Undefined when the namespace is going away. A name taken by another template counts as a collision: the next try hashes anew. */
  async #createSet(
    deployment: Frozen<Deployment>,
    wanted: Frozen<ReplicaSet>,
    signal: AbortSignal,
  ): Promise<Frozen<ReplicaSet> | undefined> {
    try {
      const made = await this.#setWriter.create(wanted, { signal });
      if (replicasOf(made) > 0)
        this.#recorder.event(
          deployment,
          'Normal',
          'ScalingReplicaSet',
          `Scaled up replica set ${made.metadata.name} from 0 to ${replicasOf(made)}`,
        );
      return made;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!isAlreadyExists(error)) {
        await this.#noteFailedCreate(deployment, error as Error, signal);
        throw error;
      }
      const taken = await this.#context.client.resource(replicaSets).get(keyOf(wanted), { signal });
      if (isControlledBy(taken, deployment) && hasSameTemplate(deployment, taken)) return taken;
      const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
      await this.#writeStatus(deployment, { ...deployment.status, collisionCount }, signal);
      throw error;
    }
  }

  async #noteFailedCreate(deployment: Frozen<Deployment>, error: Error, signal: AbortSignal): Promise<void> {
    if (signal.aborted || !hasDeadline(deployment)) return;
    const message = `Failed to create new replica set: ${error.message}`;
    this.#recorder.event(deployment, 'Warning', 'FailedCreate', message);
    const conditions = withCondition(
      deployment.status?.conditions ?? [],
      'Progressing',
      'False',
      'FailedCreate',
      message,
      this.#nowMs,
    );
    await this.#writeStatus(deployment, { ...deployment.status, conditions: [...conditions] }, signal);
  }

  async #scale(
    deployment: Frozen<Deployment>,
    scalings: readonly Scaling[],
    signal: AbortSignal,
  ): Promise<Map<Frozen<ReplicaSet>, Frozen<ReplicaSet>>> {
    const changed = new Map<Frozen<ReplicaSet>, Frozen<ReplicaSet>>();
    const sizes = sizeAnnotations(deployment, replicasOf(deployment) + maxSurge(deployment));
    for (const { replicaSet: set, replicas } of scalings) {
      const before = replicasOf(set);
      const annotations = { ...set.metadata.annotations, ...sizes };
      if (before === replicas && isEqual(annotations, set.metadata.annotations)) continue;
      const next = { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } };
      changed.set(set, await this.#setWriter.update(next, { signal }));
      if (before === replicas) continue;
      const direction = before < replicas ? 'up' : 'down';
      const message = `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`;
      this.#recorder.event(deployment, 'Normal', 'ScalingReplicaSet', message);
    }
    return changed;
  }

  #refreshed({ newSet, old, all }: Sets, changed: ReadonlyMap<Frozen<ReplicaSet>, Frozen<ReplicaSet>>): Sets {
    const fresh = (set: Frozen<ReplicaSet>) => changed.get(set) ?? set;
    return { newSet: newSet && fresh(newSet), old: old.map(fresh), all: all.map(fresh) };
  }

  async #cleanUp(
    deployment: Frozen<Deployment>,
    old: readonly Frozen<ReplicaSet>[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const set of planCleanup(deployment, old))
      await this.#setWriter.delete(keyOf(set), { signal }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  async #writeRevision(
    deployment: Frozen<Deployment>,
    newSet: Frozen<ReplicaSet>,
    conditions: readonly Frozen<NonNullable<DeploymentStatus['conditions']>[number]>[],
    signal: AbortSignal,
  ): Promise<Frozen<Deployment>> {
    const revision = newSet.metadata.annotations?.[annotation.revision] ?? '';
    const current = deployment.metadata.annotations?.[annotation.revision];
    if (current === revision && isEqual(conditions, deployment.status?.conditions ?? [])) return deployment;
    const annotations = { ...deployment.metadata.annotations, [annotation.revision]: revision };
    const status = { ...deployment.status, conditions: [...conditions] };
    const next = { ...deployment, metadata: { ...deployment.metadata, annotations }, status };
    return this.#writer.updateStatus(next, { signal });
  }

  async #writeCounts(deployment: Frozen<Deployment>, sets: Sets, signal: AbortSignal): Promise<Again | undefined> {
    await this.#writeStatus(deployment, planCounts(deployment, sets.all, sets.newSet, this.#nowMs), signal);
    return undefined;
  }

  async #writeRollout(deployment: Frozen<Deployment>, sets: Sets, signal: AbortSignal): Promise<Again | undefined> {
    const status = planRolloutStatus(deployment, sets.all, sets.newSet, this.#nowMs);
    await this.#writeStatus(deployment, status, signal);
    const leftMs = msUntilDeadline(deployment, status, this.#nowMs);
    return leftMs === undefined ? undefined : { afterMs: Math.max(0, leftMs) + 1000 };
  }

  async #writeStatus(
    deployment: Frozen<Deployment>,
    status: Frozen<DeploymentStatus>,
    signal: AbortSignal,
  ): Promise<Frozen<Deployment>> {
    if (isEqual(status, deployment.status)) return deployment;
    try {
      return await this.#writer.updateStatus({ ...deployment, status }, { signal });
    } catch (error) {
      // Deleted in the meantime: there is no status to write.
      if (isStatusError(error, 'NotFound')) return deployment;
      throw error;
    }
  }
}

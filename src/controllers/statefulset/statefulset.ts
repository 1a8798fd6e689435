// Owns running StatefulSets: pods with identities, their claims, one step after another.
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type { ControllerRevision, StatefulSet } from '../../api/generated/apps.v1.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { controllerRevisions, persistentVolumeClaims, pods, statefulSets } from '../../api/generated/resources.ts';
import { isEmptySelector, labelPredicate } from '../../api/selector.ts';
import { isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/status-error.ts';
import { type Again, type Controller, type ControllerContext, self } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { claimed, indexByController, ownedBy } from '../framework/owners.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';
import { currentRevision, cutHistory, hashOf, RevisionCollision, templateOf } from '../framework/revisions.ts';
import { planStatus, planStep, type Revisions, type Step } from './plan.ts';
import { claimName, claimOwners, claimsOf, ordinalOf, statefulPod } from './pods.ts';

export function statefulSetController(context: ControllerContext): Controller {
  const worker = new StatefulSetWorker(context);
  return {
    name: 'statefulset-controller',
    watches: worker.watches,
    reconcile: (key, signal) => worker.reconcile(key, signal),
  };
}

class StatefulSetWorker {
  readonly #context: ControllerContext;
  readonly #cache;
  readonly #podCache;
  readonly #claimCache;
  readonly #revisionCache;
  readonly #writer;
  readonly #podWriter;
  readonly #claimWriter;
  readonly #revisionWriter;
  readonly #recorder;

  constructor(context: ControllerContext) {
    this.#context = context;
    const { informers } = context;
    this.#cache = informers.informer(statefulSets);
    this.#podCache = informers.informer(pods);
    this.#claimCache = informers.informer(persistentVolumeClaims);
    this.#revisionCache = informers.informer(controllerRevisions);
    this.#writer = informers.writer(statefulSets);
    this.#podWriter = informers.writer(pods);
    this.#claimWriter = informers.writer(persistentVolumeClaims);
    this.#revisionWriter = informers.writer(controllerRevisions);
    this.#recorder = context.events.recorder('statefulset-controller');
    indexByController(this.#podCache);
    indexByController(this.#revisionCache);
  }

  get watches() {
    const adopters = (obj: Frozen<Pod> | Frozen<ControllerRevision>) =>
      this.#cache
        .list(obj.metadata.namespace)
        .filter((set) => labelPredicate(set.spec.selector)(obj.metadata.labels))
        .map((set) => keyOf(set));
    return [
      self(this.#cache),
      ownedBy(statefulSets, this.#podCache, adopters),
      ownedBy(statefulSets, this.#revisionCache, adopters),
      { informer: this.#claimCache, start: () => () => undefined },
    ];
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    const set = this.#cache.get(key);
    if (!set || isTerminating(set) || isEmptySelector(set.spec.selector)) return undefined;
    const claim = {
      owner: set,
      ref: statefulSets,
      matches: labelPredicate(set.spec.selector),
      current: () => this.#context.client.resource(statefulSets).get(key),
      signal,
    };
    const known = await claimed({ ...claim, informer: this.#revisionCache, client: this.#revisionWriter });
    const update = await this.#updateRevision(set, known, signal);
    if (!update) return { afterMs: 10 };
    const current = known.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    const isOurs = (pod: Frozen<Pod>) => ordinalOf(set, pod) >= 0;
    await claimed({ ...claim, informer: this.#podCache, client: this.#podWriter, adoptable: isOurs });
    const revisions = { current: current.metadata.name, update: update.metadata.name };
    const again = await this.#step(set, { revisions, templates: [current, update] }, signal);
    const mine = this.#mine(set);
    await this.#writeStatus(set, mine, revisions, signal);
    const used = new Set([...mine.map(hashOf), revisions.current, revisions.update]);
    const all = known.some(({ metadata }) => metadata.uid === update.metadata.uid) ? known : [...known, update];
    await cutHistory(this.#revisionWriter, all, used, set.spec.revisionHistoryLimit ?? 10, signal);
    return again;
  }

  #mine(set: Frozen<StatefulSet>): readonly Frozen<Pod>[] {
    return this.#podCache.indexed('controller', set.metadata.uid).filter((pod) => ordinalOf(set, pod) >= 0);
  }

  async #updateRevision(
    set: Frozen<StatefulSet>,
    known: readonly Frozen<ControllerRevision>[],
    signal: AbortSignal,
  ): Promise<Frozen<ControllerRevision> | undefined> {
    const collisionCount = set.status?.collisionCount;
    const of = { ref: statefulSets, owner: set, template: set.spec.template, collisionCount };
    try {
      return await currentRevision(this.#revisionWriter, of, known, signal);
    } catch (error) {
      if (!(error instanceof RevisionCollision)) throw error;
      const status = { ...set.status, collisionCount: (collisionCount ?? 0) + 1 };
      await this.#writer.updateStatus({ ...set, status } as Frozen<StatefulSet>, { signal });
      return undefined;
    }
  }

  async #step(
    set: Frozen<StatefulSet>,
    of: { revisions: Revisions; templates: readonly Frozen<ControllerRevision>[] },
    signal: AbortSignal,
  ): Promise<Again | undefined> {
    const mine = this.#mine(set);
    const plan = planStep(set, mine, of.revisions, this.#context.clock.now());
    await this.#keepClaims(set, mine, plan.condemned, signal);
    try {
      for (const step of plan.steps)
        if (step.do === 'create') await this.#create(set, step, of.templates, signal);
        else await this.#delete(set, step.pod, step.why, signal);
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
    return plan.waitMs === undefined ? undefined : { afterMs: Math.max(1, plan.waitMs) };
  }

  async #create(
    set: Frozen<StatefulSet>,
    { ordinal, revision }: Extract<Step, { do: 'create' }>,
    templates: readonly Frozen<ControllerRevision>[],
    signal: AbortSignal,
  ): Promise<void> {
    const name = `${set.metadata.name}-${ordinal}`;
    try {
      await this.#createClaims(set, ordinal, name, signal);
      const template = templates.find(({ metadata }) => metadata.name === revision);
      const pod = statefulPod(set, template ? templateOf(template) : set.spec.template, revision, ordinal);
      await this.#podWriter.create(pod as Frozen<Pod>, { signal });
      this.#recorder.event(
        set,
        'Normal',
        'SuccessfulCreate',
        `create Pod ${name} in StatefulSet ${set.metadata.name} successful`,
      );
    } catch (error) {
      if (signal.aborted || isNamespaceTerminating(error)) throw error;
      const message = `create Pod ${name} in StatefulSet ${set.metadata.name} failed error: ${(error as Error).message}`;
      this.#recorder.event(set, 'Warning', 'FailedCreate', message);
      // A pod that is another's keeps its name from us until it goes.
      throw isAlreadyExists(error) ? new Error(message, { cause: error }) : error;
    }
  }

  async #createClaims(set: Frozen<StatefulSet>, ordinal: number, podName: string, signal: AbortSignal): Promise<void> {
    const namespace = set.metadata.namespace ?? '';
    for (const claim of claimsOf(set, ordinal)) {
      const { name } = claim.metadata;
      if (this.#claimCache.get({ namespace, name })) continue;
      try {
        await this.#claimWriter.create(claim as never, { signal });
        const message = `create Claim ${name} Pod ${podName} in StatefulSet ${set.metadata.name} success`;
        this.#recorder.event(set, 'Normal', 'SuccessfulCreate', message);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
  }

  async #delete(
    set: Frozen<StatefulSet>,
    pod: Frozen<Pod>,
    why: 'failed' | 'surplus' | 'update',
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace, uid } = pod.metadata;
    if (why === 'failed' && isPodFinished(pod)) {
      const [reason, state] =
        pod.status?.phase === 'Failed' ? ['RecreatingFailedPod', 'failed'] : ['RecreatingTerminatedPod', 'terminated'];
      this.#recorder.event(
        set,
        'Warning',
        reason!,
        `StatefulSet ${namespace}/${set.metadata.name} is recreating ${state} Pod ${name}`,
      );
    }
    try {
      await this.#podWriter.delete(keyOf(pod), { preconditions: { uid }, signal });
      this.#recorder.event(
        set,
        'Normal',
        'SuccessfulDelete',
        `delete Pod ${name} in StatefulSet ${set.metadata.name} successful`,
      );
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Claims get the owners with which they are to go, as the retention policy wants; a failure is only put off. */
  async #keepClaims(
    set: Frozen<StatefulSet>,
    mine: readonly Frozen<Pod>[],
    condemned: readonly Frozen<Pod>[],
    signal: AbortSignal,
  ): Promise<void> {
    const namespace = set.metadata.namespace ?? '';
    for (const pod of mine)
      for (const { metadata } of set.spec.volumeClaimTemplates ?? []) {
        const claim = this.#claimCache.get({ namespace, name: claimName(set, metadata.name, ordinalOf(set, pod)) });
        if (!claim) continue;
        const ownerReferences = claimOwners(set, claim, condemned.includes(pod) ? pod : undefined);
        if (isEqual(ownerReferences, claim.metadata.ownerReferences ?? [])) continue;
        const next = { ...claim, metadata: { ...claim.metadata, ownerReferences } };
        await this.#claimWriter.update(next, { signal }).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      }
  }

  async #writeStatus(
    set: Frozen<StatefulSet>,
    mine: readonly Frozen<Pod>[],
    revisions: Revisions,
    signal: AbortSignal,
  ): Promise<void> {
    const status = planStatus(set, mine, revisions, this.#context.clock.now());
    if (isEqual(status, set.status)) return;
    await this.#writer.updateStatus({ ...set, status }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
}

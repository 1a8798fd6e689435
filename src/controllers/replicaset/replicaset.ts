// Owns keeping the pods of ReplicaSets and ReplicationControllers at their number: one reconcile for both kinds.
import { type Frozen, keyOf, type KubeObject, type ObjectKey, type ResourceRef } from '../../api/meta.ts';
import type { ReplicaSet, ReplicaSetStatus } from '../../api/generated/apps.v1.ts';
import type { Pod, PodTemplateSpec, ReplicationController } from '../../api/generated/core.v1.ts';
import { pods, replicaSets, replicationControllers } from '../../api/generated/resources.ts';
import { isEmptySelector, type LabelPredicate, labelPredicate, mapPredicate } from '../../api/selector.ts';
import { isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import type { Informer } from '../../client/informer.ts';
import { type Controller, type ControllerContext, self } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { claimed, controlledBy, controllerOf, indexByController, ownedBy } from '../framework/owners.ts';
import { inGrowingBatches, isNamespaceTerminating, podControl, podFromTemplate } from '../framework/pod-control.ts';
import { planReplicas, planStatus, type StatusInput } from './plan.ts';

type Replicated = ReplicaSet | ReplicationController;

interface Flavour<T extends Replicated> {
  readonly name: string;
  readonly component: string;
  readonly ref: ResourceRef<T>;
  readonly selector: (owner: Frozen<T>) => LabelPredicate;
  readonly countsTerminating: boolean;
}

export function replicaSetController(context: ControllerContext): Controller {
  return replicaController<ReplicaSet>(context, {
    name: 'replicaset-controller',
    component: 'replicaset-controller',
    ref: replicaSets,
    selector: ({ spec }) => (isEmptySelector(spec.selector) ? () => false : labelPredicate(spec.selector)),
    countsTerminating: true,
  });
}

export function replicationControllerController(context: ControllerContext): Controller {
  return replicaController<ReplicationController>(context, {
    name: 'replicationcontroller-controller',
    component: 'replication-controller',
    ref: replicationControllers,
    selector: ({ spec }) => mapPredicate(spec.selector),
    countsTerminating: false,
  });
}

function replicaController<T extends Replicated>(context: ControllerContext, flavour: Flavour<T>): Controller {
  const { ref } = flavour;
  const owners = context.informers.informer(ref);
  const podCache = context.informers.informer(pods);
  indexByController(podCache);
  indexByController(owners);
  const control = podControl(context, context.events.recorder(flavour.component));
  const writer = context.informers.writer(ref);
  const matchers = new WeakMap<object, LabelPredicate>();
  const matcherOf = (owner: Frozen<T>): LabelPredicate => {
    const spec = owner.spec as object;
    const known = matchers.get(spec) ?? flavour.selector(owner);
    matchers.set(spec, known);
    return known;
  };

  function* adopters(pod: Frozen<Pod>): Generator<ObjectKey> {
    for (const owner of owners.list(pod.metadata.namespace))
      if (matcherOf(owner)(pod.metadata.labels)) yield keyOf(owner as Frozen<KubeObject>);
  }

  async function syncPods(owner: Frozen<T>, mine: readonly Frozen<Pod>[], signal: AbortSignal): Promise<unknown> {
    const typed = owner as Frozen<KubeObject>;
    const related = relatedPods(owners, podCache, typed);
    const plan = planReplicas(owner.spec.replicas ?? 1, mine, context.clock.now(), related);
    if ('create' in plan) {
      const pod = podFromTemplate(ref, typed, owner.spec.template as Frozen<PodTemplateSpec>);
      const { error } = await inGrowingBatches(plan.create, () => control.create(typed, pod, signal));
      return isNamespaceTerminating(error) ? undefined : error;
    }
    if ('remove' in plan) {
      const results = await Promise.allSettled(plan.remove.map((pod) => control.delete(typed, pod, signal)));
      return results.find((result) => result.status === 'rejected')?.reason;
    }
    return undefined;
  }

  async function writeStatus(owner: Frozen<T>, status: ReplicaSetStatus, signal: AbortSignal): Promise<void> {
    if (isEqual(owner.status, status)) return;
    await writer.updateStatus({ ...owner, status } as unknown as Frozen<T>, { signal });
  }

  return {
    name: flavour.name,
    // Each of its pods comes, runs and becomes ready: one status tells of many.
    pauseMs: 50,
    watches: [self(owners), ownedBy(ref, podCache, adopters)],
    async reconcile(key, signal) {
      const owner = owners.get(key);
      if (!owner) return undefined;
      const claim = {
        owner: owner as Frozen<KubeObject>,
        ref,
        matches: matcherOf(owner),
        informer: podCache,
        client: control.client,
        adoptable: (pod: Frozen<Pod>) => !isPodFinished(pod),
        current: () => context.client.resource(ref).get(key) as Promise<Frozen<KubeObject>>,
        signal,
      };
      const mine = await claimed(claim);
      const error = isTerminating(owner) ? undefined : await syncPods(owner, mine, signal);
      const after = controlledBy(podCache, owner.metadata.uid).filter((pod) => claim.matches(pod.metadata.labels));
      const { status, nextAvailableMs } = planStatus({
        generation: owner.metadata.generation ?? 0,
        previous: owner.status as StatusInput['previous'],
        claimed: after,
        templateLabels: owner.spec.template?.metadata?.labels ?? {},
        minReadySeconds: owner.spec.minReadySeconds ?? 0,
        ...(error !== undefined && { failure: failureOf(error, after.length < (owner.spec.replicas ?? 1)) }),
        nowMs: context.clock.now(),
        countsTerminating: flavour.countsTerminating,
      });
      await writeStatus(owners.get(key) ?? owner, status, signal);
      if (error !== undefined) throw error;
      return nextAvailableMs === undefined ? undefined : { afterMs: nextAvailableMs };
    },
  };
}

function failureOf(error: unknown, creating: boolean): NonNullable<StatusInput['failure']> {
  return { reason: creating ? 'FailedCreate' : 'FailedDelete', message: (error as Error).message };
}

/** The pods of all replica sets of the same Deployment: where they crowd on a node, one goes first. A bare set does not spread. */
function relatedPods<T extends Replicated>(
  owners: Informer<T>,
  podCache: Informer<Pod>,
  owner: Frozen<KubeObject>,
): Frozen<Pod>[] {
  const controller = controllerOf(owner);
  if (!controller) return [];
  return controlledBy(owners, controller.uid).flatMap((sibling) => controlledBy(podCache, sibling.metadata.uid));
}

// Owns the status of PodDisruptionBudgets: how many pods there should be by their controllers, how many may go.
import { type Frozen, keyOf, type ObjectKey, parseApiVersion, type ResourceRef } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/generated/policy.v1.ts';
import {
  deployments,
  podDisruptionBudgets,
  pods,
  replicaSets,
  replicationControllers,
  statefulSets,
} from '../../api/generated/resources.ts';
import type { OwnerReference } from '../../api/generated/meta.v1.ts';
import { type LabelPredicate, labelPredicate } from '../../api/selector.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isNotFound } from '../../api/status-error.ts';
import { discover } from '../../client/discovery.ts';
import { resourcePath } from '../../client/paths.ts';
import {
  type Again,
  type Controller,
  type ControllerContext,
  reading,
  self,
  watching,
} from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { controllerOf } from '../framework/owners.ts';
import { failedStatus, needsScale, planBudget } from './plan.ts';

export function disruptionController(context: ControllerContext): Controller {
  const worker = new DisruptionWorker(context);
  return {
    name: 'disruption-controller',
    watches: worker.watches,
    reconcile: (key, signal) => worker.reconcile(key, signal),
  };
}

class DisruptionWorker {
  readonly #context: ControllerContext;
  readonly #budgets;
  readonly #pods;
  readonly #sets;
  readonly #deployments;
  readonly #controllers;
  readonly #statefulSets;
  readonly #writer;
  readonly #recorder;

  constructor(context: ControllerContext) {
    this.#context = context;
    const { informers } = context;
    this.#budgets = informers.informer(podDisruptionBudgets);
    this.#pods = informers.informer(pods);
    this.#sets = informers.informer(replicaSets);
    this.#deployments = informers.informer(deployments);
    this.#controllers = informers.informer(replicationControllers);
    this.#statefulSets = informers.informer(statefulSets);
    this.#writer = informers.writer(podDisruptionBudgets);
    this.#recorder = context.events.recorder('controllermanager');
  }

  get watches() {
    return [
      self(this.#budgets),
      watching(this.#pods, (pod) => this.#budgetsOf(pod)),
      reading(this.#sets),
      reading(this.#deployments),
      reading(this.#controllers),
      reading(this.#statefulSets),
    ];
  }

  /** Of several budgets that select a pod only the first hears of it; evictions of such a pod are refused anyway. */
  #budgetsOf(pod: Frozen<Pod>): ObjectKey[] {
    for (const budget of this.#budgets.list(pod.metadata.namespace))
      if (selects(budget)(pod.metadata.labels)) return [keyOf(budget)];
    return [];
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    const budget = this.#budgets.get(key);
    if (!budget || isTerminating(budget)) return undefined;
    const { clock } = this.#context;
    const matches = selects(budget);
    const selected = this.#pods.list(key.namespace).filter((pod) => matches(pod.metadata.labels));
    if (selected.length === 0) this.#recorder.event(budget, 'Normal', 'NoPods', 'No matching pods found');
    let expected = selected.length;
    try {
      if (needsScale(budget)) expected = await this.#expected(budget, selected, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = (error as Error).message;
      this.#recorder.event(
        budget,
        'Warning',
        'CalculateExpectedPodCountFailed',
        `Failed to calculate the number of expected pods: ${message}`,
      );
      await this.#write(budget, failedStatus(budget, message, clock.now()), signal);
      throw error;
    }
    const { status, recheckMs } = planBudget({ budget, pods: selected, expected, nowMs: clock.now() });
    await this.#write(budget, status, signal);
    return recheckMs === undefined ? undefined : { afterMs: recheckMs };
  }

  async #write(
    budget: Frozen<PodDisruptionBudget>,
    status: PodDisruptionBudgetStatus,
    signal: AbortSignal,
  ): Promise<void> {
    if (isEqual(status, budget.status)) return;
    await this.#writer
      .updateStatus({ ...budget, status } as Frozen<PodDisruptionBudget>, { signal })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  /** What the pods' controllers want in all, each controller once. */
  async #expected(
    budget: Frozen<PodDisruptionBudget>,
    selected: readonly Frozen<Pod>[],
    signal: AbortSignal,
  ): Promise<number> {
    const scales = new Map<string, number>();
    const unmanaged: string[] = [];
    for (const pod of selected) {
      const owner = controllerOf(pod);
      if (!owner) unmanaged.push(pod.metadata.name);
      else if (!scales.has(owner.uid)) await this.#addScale(scales, pod.metadata.namespace ?? '', owner, signal);
    }
    if (unmanaged.length > 0)
      this.#recorder.event(
        budget,
        'Warning',
        'UnmanagedPods',
        `Pods selected by this PodDisruptionBudget (selector: ${JSON.stringify(budget.spec.selector)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`,
      );
    let total = 0;
    for (const replicas of scales.values()) total += replicas;
    return total;
  }

  async #addScale(
    scales: Map<string, number>,
    namespace: string,
    owner: Frozen<OwnerReference>,
    signal: AbortSignal,
  ): Promise<void> {
    const key = { namespace, name: owner.name };
    const { group } = parseApiVersion(owner.apiVersion);
    const found = (obj: { metadata: { uid: string }; spec: { replicas?: number } } | undefined) => {
      if (obj?.metadata.uid === owner.uid) scales.set(owner.uid, obj.spec.replicas ?? 1);
    };
    if (group === 'apps' && owner.kind === 'ReplicaSet') {
      const set = this.#sets.get(key);
      const top = set && controllerOf(set);
      if (top?.kind !== 'Deployment') return found(set);
      // All replica sets of a deployment count once, as what the deployment wants.
      const deployment = this.#deployments.get({ namespace, name: top.name });
      if (deployment?.metadata.uid === top.uid) {
        scales.set(top.uid, deployment.spec.replicas ?? 1);
        scales.set(owner.uid, 0);
      }
    } else if (group === '' && owner.kind === 'ReplicationController') found(this.#controllers.get(key));
    else if (group === 'apps' && owner.kind === 'StatefulSet') found(this.#statefulSets.get(key));
    else await this.#addCustomScale(scales, namespace, owner, signal);
  }

  /** Any other kind is asked by its scale subresource. */
  async #addCustomScale(
    scales: Map<string, number>,
    namespace: string,
    owner: Frozen<OwnerReference>,
    signal: AbortSignal,
  ): Promise<void> {
    const { group, version } = parseApiVersion(owner.apiVersion);
    const { all } = await discover(this.#context.client, signal);
    const ref: ResourceRef | undefined = all.find(
      (one) => one.group === group && one.version === version && one.kind === owner.kind,
    );
    if (!ref)
      throw new Error(`pods are controlled by ${owner.apiVersion}/${owner.kind}, which the server does not have`);
    const path = resourcePath(ref, namespace, owner.name, 'scale');
    const scale = (await this.#context.client.raw('GET', path, { signal })) as { spec?: { replicas?: number } };
    scales.set(owner.uid, scale.spec?.replicas ?? 0);
  }
}

/** In policy/v1 an empty selector selects every pod of the namespace, an absent one none. */
function selects(budget: Frozen<PodDisruptionBudget>): LabelPredicate {
  return labelPredicate(budget.spec.selector);
}

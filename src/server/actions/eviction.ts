// Owns pods/eviction: a deletion that respects disruption budgets.
import type { Pod } from '../../api/generated/core.v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/generated/policy.v1.ts';
import { badRequest, isConflict, notFound, statusError } from '../../api/status-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { matches, selectorOf } from '../../api/selector.ts';
import type { Action } from '../action.ts';
import { admitAction } from '../admission/action.ts';
import { planEviction } from '../resources/policy/plan-eviction.ts';
import type { Parts } from '../parts.ts';
import type { ApiRequest } from '../request.ts';
import { checkKind, readObject } from '../verbs/body.ts';
import { fitNamespace } from '../verbs/create.ts';
import { removeOne } from '../verbs/delete.ts';
import { recordServerWrite } from '../verbs/field-managers.ts';
import { timeText } from '../verbs/metadata.ts';
import { deleteChoices, writeOptions } from '../verbs/options.ts';

type PodObject = Frozen<KubeObject & Pod>;
type Budget = Frozen<KubeObject & PodDisruptionBudget>;

/** policy/v1beta1 is still understood. */
const kind = { group: 'policy', version: 'v1', kind: 'Eviction' };

export const evictionAction: Action = {
  group: '',
  resource: 'pods',
  subresource: 'eviction',
  async handle(parts, request) {
    const options = writeOptions(request, 'CreateOptions');
    const given = await readObject(request, options.fieldValidation, kind);
    if (given === undefined) throw badRequest('the request has no body');
    const older = given.apiVersion === 'policy/v1beta1';
    const body = checkKind(given, older ? { ...kind, version: 'v1beta1' } : kind) as KubeObject & {
      deleteOptions?: Record<string, unknown>;
    };
    const { namespace, name } = request.info;
    fitNamespace(body, true, namespace);
    if (body.metadata.name !== name) throw badRequest('name in URL does not match name in Eviction object');
    const served = parts.catalog.stored('', 'pods')!;
    await admitAction(parts, request, served, body, options.dryRun);
    const pod = served.collection!.cache.get(`${namespace}/${name}`)?.object as PodObject | undefined;
    if (pod === undefined) throw notFound({ group: '', plural: 'pods' }, name);
    const asked = deleteChoices(new URLSearchParams(), body.deleteOptions ?? {});
    const choices = { ...asked, dryRun: asked.dryRun || options.dryRun };
    await takeFromBudget(parts, request, pod, choices.dryRun);
    if (!choices.dryRun) await noteDisruption(parts, namespace, name, request.arrivedMs);
    await removeOne(parts, request, served, namespace, name, choices);
    return {
      type: 'object',
      code: 201,
      object: freeze({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }),
    };
  },
};

/** Asks the budget of the pod, and notes there that the pod goes. */
async function takeFromBudget(parts: Parts, request: ApiRequest, pod: PodObject, dryRun: boolean): Promise<void> {
  const served = parts.catalog.stored('policy', 'poddisruptionbudgets')!;
  const collection = served.collection!;
  const { namespace } = request.info;
  const found: Budget[] = [];
  for (const { object } of collection.cache.list({ type: 'namespace', namespace })) {
    const budget = object as Budget;
    if (matches(selectorOf(budget.spec?.selector), pod.metadata.labels)) found.push(budget);
  }
  const written = planned(pod, found, request.arrivedMs);
  if (written === undefined || dryRun) return;
  try {
    await parts.objects.update(collection, `${namespace}/${written.name}`, ({ object }) => {
      // What was planned on may have changed meanwhile: plan again on what is there now.
      const now = planned(pod, [object as Budget], request.arrivedMs);
      if (now === undefined) return object;
      const next = thaw(object as Budget) as KubeObject & PodDisruptionBudget;
      next.status = now.status;
      showAllowance(next, request.arrivedMs);
      recordServerWrite(served, object, next, 'status', request.arrivedMs);
      return freeze(collection.codec.canonical(next));
    });
  } catch (error) {
    if (isConflict(error)) throw refusal('the disruption budget changes at this moment', undefined, true);
    throw error;
  }
}

/** The status to write before the pod goes; undefined when no budget needs to know. Throws what refuses the eviction. */
function planned(
  pod: PodObject,
  budgets: readonly Budget[],
  nowMs: number,
): { readonly name: string; readonly status: PodDisruptionBudgetStatus } | undefined {
  const plan = planEviction(pod as Frozen<Pod>, budgets as readonly Frozen<PodDisruptionBudget>[], timeText(nowMs));
  switch (plan.verdict) {
    case 'delete':
      return plan.budget;
    case 'later':
      throw refusal(plan.message, plan.retryAfterSeconds, plan.cause);
    case 'forbidden':
      throw statusError('Forbidden', plan.message);
    case 'ambiguous':
      throw statusError('InternalError', plan.message);
  }
}

function refusal(message: string, retryAfterSeconds: number | undefined, cause: boolean): Error {
  return statusError('TooManyRequests', message, {
    ...(cause && { causes: [{ reason: 'DisruptionBudget', message }] }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

/** The condition DisruptionAllowed follows the number that is left. */
function showAllowance({ metadata, status }: PodDisruptionBudget, nowMs: number): void {
  const conditions = (status!.conditions ??= []);
  const before = conditions.findIndex(({ type }) => type === 'DisruptionAllowed');
  const allowed = status!.disruptionsAllowed > 0;
  const is = allowed ? 'True' : 'False';
  const old = conditions[before];
  const condition = {
    type: 'DisruptionAllowed',
    status: is,
    observedGeneration: metadata.generation ?? 0,
    lastTransitionTime: old?.status === is ? old.lastTransitionTime : timeText(nowMs),
    reason: allowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
  } as (typeof conditions)[number];
  if (before < 0) conditions.push(condition);
  else conditions[before] = condition;
}

/** Tells on the pod why it goes. A pod that changes at this moment goes without the note. */
async function noteDisruption(parts: Parts, namespace: string, name: string, nowMs: number): Promise<void> {
  const collection = parts.catalog.stored('', 'pods')!.collection!;
  await parts.objects.update(collection, `${namespace}/${name}`, ({ object }) => {
    const next = thaw(object as PodObject) as KubeObject & Pod;
    const status = (next.status ??= {});
    const others = (status.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
    status.conditions = [
      ...others,
      {
        type: 'DisruptionTarget',
        status: 'True',
        lastTransitionTime: timeText(nowMs),
        reason: 'EvictionByEvictionAPI',
        message: 'Eviction API: evicting',
      },
    ];
    return freeze(collection.codec.canonical(next));
  });
}

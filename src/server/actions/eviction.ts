// Owns pods/eviction: a deletion that respects disruption budgets.
import type { Pod } from '../../api/generated/core.v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/policy.v1.ts';
import { badRequest, isConflict, notFound, statusError } from '../../api/status-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { matches, selectorOf } from '../../api/selector.ts';
import type { Action } from '../action.ts';
import type { Parts } from '../parts.ts';
import type { ApiRequest } from '../request.ts';
import { readObject } from '../verbs/body.ts';
import { removeOne } from '../verbs/delete.ts';
import { timeText } from '../verbs/metadata.ts';
import { deleteChoices, writeOptions } from '../verbs/options.ts';

type PodObject = Frozen<KubeObject & Pod>;
type Budget = Frozen<KubeObject & PodDisruptionBudget>;

const versions: ReadonlySet<string> = new Set(['policy/v1', 'policy/v1beta1']);
/** More evictions than this wait for the budget's controller. */
const maxDisruptedPods = 2000;

export const evictionAction: Action = {
  group: '',
  resource: 'pods',
  subresource: 'eviction',
  async handle(parts, request) {
    const options = writeOptions(request, 'CreateOptions');
    const body = (await readObject(request, options.fieldValidation)) as
      | (KubeObject & { deleteOptions?: Record<string, unknown> })
      | undefined;
    if (body === undefined) throw badRequest('the request has no body');
    if (body.kind !== 'Eviction' || !versions.has(body.apiVersion))
      throw badRequest(`no kind "${body.kind}" is registered for version "${body.apiVersion}" as an eviction`);
    const { namespace, name } = request.info;
    if (body.metadata?.name !== undefined && body.metadata.name !== '' && body.metadata.name !== name)
      throw badRequest('name in URL does not match name in Eviction object');
    const served = parts.catalog.stored('', 'pods')!;
    const pod = served.collection!.cache.get(`${namespace}/${name}`)?.object as PodObject | undefined;
    if (pod === undefined) throw notFound({ group: '', plural: 'pods' }, name);
    const asked = deleteChoices(new URLSearchParams(), body.deleteOptions ?? {});
    const choices = { ...asked, dryRun: asked.dryRun || options.dryRun };
    if (!ignoresBudgets(pod)) await takeFromBudget(parts, request, pod, choices.dryRun);
    await removeOne(parts, request, served, namespace, name, choices);
    return {
      type: 'object',
      code: 201,
      object: freeze({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }),
    };
  },
};

/** Ended, waiting or already going pods disrupt nobody. */
function ignoresBudgets({ status, metadata }: PodObject): boolean {
  const phase = status?.phase;
  return phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || metadata.deletionTimestamp !== undefined;
}

function isReady({ status }: PodObject): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

async function takeFromBudget(parts: Parts, request: ApiRequest, pod: PodObject, dryRun: boolean): Promise<void> {
  const collection = parts.catalog.stored('policy', 'poddisruptionbudgets')!.collection!;
  const { namespace } = request.info;
  const found: Budget[] = [];
  for (const { object } of collection.cache.list({ type: 'namespace', namespace })) {
    const budget = object as Budget;
    if (matches(selectorOf(budget.spec?.selector), pod.metadata.labels)) found.push(budget);
  }
  if (found.length === 0) return;
  if (found.length > 1)
    throw statusError(
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  const [budget] = found;
  if (!isReady(pod) && mayEvictUnready(budget!)) return;
  const key = `${namespace}/${budget!.metadata.name}`;
  if (dryRun) {
    taken(budget!, pod, request.arrivedMs);
    return;
  }
  try {
    await parts.objects.update(collection, key, ({ object }) =>
      freeze(collection.codec.canonical(taken(object as Budget, pod, request.arrivedMs))),
    );
  } catch (error) {
    if (isConflict(error)) throw tooMany(budget!.metadata.name, 'the disruption budget changes at this moment');
    throw error;
  }
}

/** Unready pods may go when the budget says so always, or while there are enough healthy ones. */
function mayEvictUnready({ spec, status }: Budget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0) && (status?.desiredHealthy ?? 0) > 0;
}

function tooMany(budget: string, message: string): Error {
  return statusError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: 'DisruptionBudget', message: `The disruption budget ${budget} ${message}` }],
  });
}

function taken(budget: Budget, pod: PodObject, nowMs: number): KubeObject {
  const { metadata, status } = budget;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    throw statusError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: `The disruption budget ${metadata.name} is still being processed by the server.`,
        },
      ],
      retryAfterSeconds: 10,
    });
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed <= 0)
    throw tooMany(
      metadata.name,
      `needs ${status?.desiredHealthy ?? 0} healthy pods and has ${status?.currentHealthy ?? 0} currently`,
    );
  if (Object.keys(status?.disruptedPods ?? {}).length > maxDisruptedPods)
    throw tooMany(metadata.name, 'has too many evictions not confirmed by its controller');
  const next = thaw(budget) as KubeObject & PodDisruptionBudget;
  next.status!.disruptionsAllowed = allowed - 1;
  next.status!.disruptedPods = { ...next.status!.disruptedPods, [pod.metadata.name]: timeText(nowMs) };
  return next;
}

// Owns what each metric of an autoscaler proposes: asks for its values and has them judged. Writes nothing.
import { podRequests } from '../../api/judge/pod-resources.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Container, Pod } from '../../api/generated/core.v1.ts';
import type { MetricIdentifier, MetricSpec, MetricStatus, MetricTarget } from '../../api/generated/autoscaling.v2.ts';
import { isPodReady } from '../../api/pod-readiness.ts';
import { formatQuantity, milliQuantity, milliValue, milliValueOf } from '../../api/quantity.ts';
import { parseLabelSelector, selectorText } from '../../api/selector.ts';
import type { MetricsClient } from './metrics-client.ts';
import {
  type PodMetrics,
  type Proposal,
  proposeByPods,
  proposeByTotal,
  type StartTimes,
  type Tolerances,
} from './replicas.ts';

export interface ProposalContext {
  readonly metrics: MetricsClient;
  readonly namespace: string;
  /** Of the target's pods, as text. */
  readonly selector: string;
  readonly pods: readonly Frozen<Pod>[];
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly times: StartTimes;
  /** "deployments.apps" for an object that a metric describes. */
  resourceOf(apiVersion: string, kind: string): Promise<string>;
  readonly signal: AbortSignal;
}

export interface MetricProposal {
  readonly replicas: number;
  readonly status: MetricStatus;
  /** "cpu resource utilization (percentage of request)" */
  readonly title: string;
}

/** Why a metric gave nothing: the condition's and event's reason, upstream's words. */
export class MetricError extends Error {
  override readonly name = 'MetricError';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

const failures: Readonly<Record<string, string>> = {
  Resource: 'FailedGetResourceMetric',
  ContainerResource: 'FailedGetContainerResourceMetric',
  Pods: 'FailedGetPodsMetric',
  Object: 'FailedGetObjectMetric',
  External: 'FailedGetExternalMetric',
};

export async function propose(spec: Frozen<MetricSpec>, context: ProposalContext): Promise<MetricProposal> {
  try {
    switch (spec.type) {
      case 'Resource':
        return await byResource(spec, spec.resource!, undefined, context);
      case 'ContainerResource':
        return await byResource(spec, spec.containerResource!, spec.containerResource!.container, context);
      case 'Pods':
        return await byPodsMetric(spec.pods!, context);
      case 'Object':
        return await byObject(spec.object!, context);
      case 'External':
        return await byExternal(spec.external!, context);
    }
  } catch (error) {
    if (context.signal.aborted) throw error;
    throw new MetricError(failures[spec.type] ?? 'InvalidMetricSourceType', (error as Error).message);
  }
  throw new MetricError('InvalidMetricSourceType', `unknown metric source type "${spec.type}"`);
}

const text = (milli: number) => formatQuantity(milliQuantity(Math.trunc(milli)));

async function byResource(
  { type }: Frozen<MetricSpec>,
  { name, target }: { readonly name: string; readonly target: Frozen<MetricTarget> },
  container: string | undefined,
  context: ProposalContext,
): Promise<MetricProposal> {
  const metrics = await valuesOr(`unable to get metrics for resource ${name}`, () =>
    context.metrics.resource(context.namespace, context.selector, name, container, context.signal),
  );
  const isShare = target.averageUtilization !== undefined;
  const requests = isShare ? requestsOf(context.pods, name, container) : undefined;
  const goal = target.averageUtilization ?? milliValue(target.averageValue ?? '0');
  const proposal = byPods(context, metrics, name, goal, requests);
  const current = {
    ...(proposal.utilization !== undefined && { averageUtilization: proposal.utilization }),
    averageValue: text(proposal.average),
  };
  const where = container === undefined ? '' : `container ${container} `;
  return {
    replicas: proposal.replicas,
    title: isShare ? `${name} ${where}resource utilization (percentage of request)` : `${name} ${where}resource`,
    status: (container === undefined
      ? { type, resource: { name, current } }
      : { type, containerResource: { name, container, current } }) as MetricStatus,
  };
}

function byPods(
  { current, pods, tolerances, times }: ProposalContext,
  metrics: PodMetrics,
  resource: string,
  target: number,
  requests: ReadonlyMap<string, number> | undefined,
): Proposal {
  return proposeByPods({ current, pods, metrics, resource, target, tolerances, times, ...(requests && { requests }) });
}

/** Throws for a container that requests nothing: a share of nothing cannot be told. */
function requestsOf(
  pods: readonly Frozen<Pod>[],
  resource: string,
  container: string | undefined,
): Map<string, number> {
  return new Map(
    pods.map((pod) => {
      const restarting = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
      const own = [...pod.spec.containers, ...restarting].filter(
        ({ name }) => container === undefined || name === container,
      );
      const ofPod = container === undefined && pod.spec.resources?.requests?.[resource] !== undefined;
      if (ofPod) return [pod.metadata.name, milliValueOf(podRequests(pod.spec).get(resource)!)];
      const total = own.reduce((sum, one) => sum + requestOf(one, pod, resource), 0);
      return [pod.metadata.name, total];
    }),
  );
}

function requestOf({ name, resources }: Frozen<Container>, pod: Frozen<Pod>, resource: string): number {
  const request = resources?.requests?.[resource];
  if (request === undefined)
    throw new Error(`missing request for ${resource} in container ${name} of Pod ${pod.metadata.name}`);
  return milliValue(request);
}

async function byPodsMetric(
  { metric, target }: NonNullable<Frozen<MetricSpec>['pods']>,
  context: ProposalContext,
): Promise<MetricProposal> {
  const { namespace, selector, signal } = context;
  const metrics = await valuesOr(`unable to get metric ${metric.name}`, () =>
    context.metrics.pods(namespace, selector, metric.name, selectorOf(metric), signal),
  );
  const proposal = byPods(context, metrics, '', milliValue(target.averageValue ?? '0'), undefined);
  return {
    replicas: proposal.replicas,
    title: `pods metric ${metric.name}`,
    status: {
      type: 'Pods',
      pods: { metric: metric as MetricIdentifier, current: { averageValue: text(proposal.average) } },
    },
  };
}

async function byObject(
  { metric, target, describedObject }: NonNullable<Frozen<MetricSpec>['object']>,
  context: ProposalContext,
): Promise<MetricProposal> {
  const { namespace, signal } = context;
  const usage = await valuesOr(`unable to get metric ${metric.name}`, async () => {
    const resource = await context.resourceOf(describedObject.apiVersion ?? 'v1', describedObject.kind);
    return context.metrics.object(namespace, resource, describedObject.name, metric.name, selectorOf(metric), signal);
  });
  const { replicas, current } = byTotal(usage, target, context);
  return {
    replicas,
    title: `${describedObject.kind} metric ${metric.name}`,
    status: { type: 'Object', object: { metric, describedObject, current } } as MetricStatus,
  };
}

async function byExternal(
  { metric, target }: NonNullable<Frozen<MetricSpec>['external']>,
  context: ProposalContext,
): Promise<MetricProposal> {
  const usage = await valuesOr(`unable to get external metric ${context.namespace}/${metric.name}`, () =>
    context.metrics.external(context.namespace, metric.name, selectorOf(metric), context.signal),
  );
  const { replicas, current } = byTotal(usage, target, context);
  return {
    replicas,
    title: `external metric ${metric.name}(${selectorOf(metric)})`,
    status: { type: 'External', external: { metric, current } } as MetricStatus,
  };
}

function byTotal(usage: number, target: Frozen<MetricTarget>, { current, pods, tolerances }: ProposalContext) {
  const perPod = target.averageValue !== undefined;
  const goal = milliValue(target.averageValue ?? target.value ?? '0');
  const ready = pods.filter(isPodReady).length;
  const proposal = proposeByTotal(usage, goal, perPod, { current, ready, tolerances });
  return {
    replicas: proposal.replicas,
    current: perPod ? { averageValue: text(proposal.average) } : { value: text(usage) },
  };
}

function selectorOf({ selector }: Frozen<MetricIdentifier>): string {
  return selector === undefined ? '' : selectorText(parseLabelSelector(selector));
}

async function valuesOr<T>(what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
  }
}

// Owns horizontal pod autoscalers: looks at each every few seconds, scales its target, and says in its status why or why not.
import { withCondition } from '../../api/judge/conditions.ts';
import { type Frozen, keyText, type ObjectKey } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { HorizontalPodAutoscaler, MetricStatus } from '../../api/generated/autoscaling.v2.ts';
import { horizontalPodAutoscalers, pods } from '../../api/generated/resources.ts';
import { milliValue } from '../../api/quantity.ts';
import { matches, parseSelectorText, type Selector } from '../../api/selector.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import { type Controller, type ControllerContext, reading, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import type { AutoscalerOptions } from '../manager/options.ts';
import { type History, limitReplicas, type Said, trimmed } from './limits.ts';
import { metricsClient } from './metrics-client.ts';
import { MetricError, type MetricProposal, propose, type ProposalContext } from './proposals.ts';
import { scales, type ScaleTarget } from './scale-target.ts';

type Status = HorizontalPodAutoscaler['status'];

/** One look at one autoscaler: its status is built up and written once at the end. */
interface Look {
  readonly hpa: Frozen<HorizontalPodAutoscaler>;
  status: Status;
}

/** A refusal that the status and an event tell; the next look is as usual. */
class Refused extends Error {
  override readonly name = 'Refused';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

const defaultMetric = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
} as const;

export function autoscalerController(context: ControllerContext, options: AutoscalerOptions = {}): Controller {
  const {
    syncPeriodMs = 15_000,
    tolerance = 0.1,
    downscaleStabilizationMs = 300_000,
    cpuInitializationPeriodMs = 300_000,
    initialReadinessDelayMs = 30_000,
  } = options;
  const { clock } = context;
  const cache = context.informers.informer(horizontalPodAutoscalers);
  const podCache = context.informers.informer(pods);
  const writer = context.informers.writer(horizontalPodAutoscalers);
  const recorder = context.events.recorder('horizontal-pod-autoscaler');
  const metrics = metricsClient(context.client);
  const targets = scales(context.client);
  const histories = new Map<string, History>();
  /** Selector of each autoscaler's target, as last seen: two for one pod are refused. */
  const selectors = new Map<string, Selector>();
  podCache.addIndex('namespace', ({ metadata }) => [metadata.namespace ?? '']);

  function say({ status }: Look, type: string, { status: truth, reason, message }: Said): void {
    const condition = { type, status: truth, reason, message };
    status.conditions = [...withCondition(status.conditions ?? [], condition, timeOf(clock.now()))];
  }

  function refuse(look: Look, type: string, reason: string, message: string): never {
    recorder.event(look.hpa, 'Warning', reason, message);
    say(look, type, { status: 'False', reason, message });
    throw new Refused(reason, message);
  }

  async function look(one: Look, signal: AbortSignal): Promise<void> {
    const { hpa, status } = one;
    const { namespace = '' } = hpa.metadata;
    let target: ScaleTarget;
    try {
      target = await targets.get(namespace, hpa.spec.scaleTargetRef, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      return refuse(one, 'AbleToScale', 'FailedGetScale', (error as Error).message);
    }
    say(one, 'AbleToScale', {
      status: 'True',
      reason: 'SucceededGetScale',
      message: 'the current scale of the target is known',
    });
    status.observedGeneration = hpa.metadata.generation!;
    const current = target.scale.spec.replicas ?? 0;
    const least = hpa.spec.minReplicas ?? 1;
    const wentToZero = status.conditions?.some(
      ({ type, status: truth }) => type === 'ScaledToZero' && truth === 'True',
    );
    if (current === 0 && least !== 0 && !wentToZero) {
      setCounts(status, current, 0, null);
      say(one, 'ScalingActive', {
        status: 'False',
        reason: 'ScalingDisabled',
        message: 'the target has no replicas by its own wish',
      });
      return;
    }
    setCounts(status, current, status.desiredReplicas, status.currentMetrics ?? null);
    if (current > hpa.spec.maxReplicas)
      return scaleTo(one, target, hpa.spec.maxReplicas, 'Current number of replicas above Spec.MaxReplicas', signal);
    if (current < least)
      return scaleTo(one, target, least, 'Current number of replicas below Spec.MinReplicas', signal);
    const matching = podsOf(one, target);
    const proposal = await decide(one, target, matching, signal);
    await scaleTo(one, target, proposal.replicas, proposal.why, signal);
  }

  /** The target's pods. Refused when another autoscaler has one of them too. */
  function podsOf(one: Look, { scale }: ScaleTarget): Frozen<Pod>[] {
    const { namespace = '', name } = one.hpa.metadata;
    const text = scale.status?.selector;
    if (!text) return refuse(one, 'ScalingActive', 'InvalidSelector', "the target's scale has no selector");
    const selector = parseSelectorText(text);
    const key = keyText({ namespace, name });
    selectors.set(key, selector);
    const own = podCache.indexed('namespace', namespace).filter((pod) => matches(selector, pod.metadata.labels));
    const others = [...selectors].filter(
      ([other, its]) =>
        other !== key && other.startsWith(`${namespace}/`) && own.some((pod) => matches(its, pod.metadata.labels)),
    );
    if (others.length > 0) {
      const names = [key, ...others.map(([other]) => other)].toSorted().join(' ');
      refuse(
        one,
        'ScalingActive',
        'AmbiguousSelector',
        `pods by selector ${text} are controlled by more than one HPA: ${names}`,
      );
    }
    return own;
  }

  async function decide(
    one: Look,
    { scale }: ScaleTarget,
    matching: readonly Frozen<Pod>[],
    signal: AbortSignal,
  ): Promise<{ readonly replicas: number; readonly why: string }> {
    const { hpa, status } = one;
    const current = scale.spec.replicas ?? 0;
    const { scaleDown, scaleUp } = hpa.spec.behavior ?? {};
    const question: ProposalContext = {
      metrics,
      namespace: hpa.metadata.namespace ?? '',
      selector: scale.status?.selector ?? '',
      pods: matching,
      current,
      tolerances: {
        down: scaleDown?.tolerance === undefined ? tolerance : milliValue(scaleDown.tolerance) / 1000,
        up: scaleUp?.tolerance === undefined ? tolerance : milliValue(scaleUp.tolerance) / 1000,
      },
      times: { nowMs: clock.now(), cpuInitializationPeriodMs, initialReadinessDelayMs },
      resourceOf: (apiVersion, kind) => targets.resourceOf(apiVersion, kind, signal),
      signal,
    };
    const { best, failure, statuses } = await askAll(one, question);
    // A metric that is silent may be the one that asks for more: then nothing is taken away.
    if (best === undefined || (failure !== undefined && best.replicas < current)) {
      setCounts(status, current, status.desiredReplicas, statuses);
      const { reason, message } = failure ?? new MetricError('InvalidMetricSourceType', 'there is no metric');
      say(one, 'ScalingActive', { status: 'False', reason, message });
      recorder.event(hpa, 'Warning', 'FailedComputeMetricsReplicas', `invalid metrics: ${message}`);
      throw new Refused(reason, message);
    }
    say(one, 'ScalingActive', {
      status: 'True',
      reason: 'ValidMetricFound',
      message: `the HPA was able to successfully calculate a replica count from ${best.title}`,
    });
    setCounts(status, current, status.desiredReplicas, statuses);
    const { uid } = hpa.metadata;
    const history = histories.get(uid) ?? { recommendations: [], ups: [], downs: [] };
    const nowMs = clock.now();
    const limits = limitReplicas(hpa.spec, history, {
      current,
      desired: best.replicas,
      nowMs,
      defaultDownWindowMs: downscaleStabilizationMs,
    });
    const recommendations = [...history.recommendations, { atMs: nowMs, replicas: best.replicas }];
    histories.set(uid, trimmed({ ...history, recommendations }, nowMs));
    say(one, 'AbleToScale', limits.able);
    say(one, 'ScalingLimited', limits.limited);
    const way = limits.replicas < current ? 'All metrics below target' : `${best.title} above target`;
    return { replicas: limits.replicas, why: way };
  }

  async function askAll(one: Look, question: ProposalContext) {
    let best: MetricProposal | undefined;
    let failure: MetricError | undefined;
    const statuses: MetricStatus[] = [];
    for (const spec of one.hpa.spec.metrics ?? [defaultMetric]) {
      try {
        const proposal = await propose(spec, question);
        statuses.push(proposal.status);
        if (best === undefined || proposal.replicas > best.replicas) best = proposal;
      } catch (error) {
        if (!(error instanceof MetricError)) throw error;
        failure ??= error;
        statuses.push({ type: '' });
        recorder.event(one.hpa, 'Warning', error.reason, error.message);
      }
    }
    return { best, failure, statuses };
  }

  async function scaleTo(
    one: Look,
    target: ScaleTarget,
    replicas: number,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { hpa, status } = one;
    const current = target.scale.spec.replicas ?? 0;
    if (replicas === current) return setCounts(status, current, current, status.currentMetrics);
    try {
      await targets.put(target, replicas, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const message = `New size: ${replicas}; reason: ${why}; error: ${(error as Error).message}`;
      recorder.event(hpa, 'Warning', 'FailedRescale', message);
      say(one, 'AbleToScale', { status: 'False', reason: 'FailedUpdateScale', message });
      throw new Refused('FailedUpdateScale', message);
    }
    say(one, 'AbleToScale', {
      status: 'True',
      reason: 'SucceededRescale',
      message: `the target was scaled to ${replicas}`,
    });
    say(
      one,
      'ScaledToZero',
      replicas === 0
        ? { status: 'True', reason: 'ScaledToZero', message: 'the workload was scaled to zero' }
        : { status: 'False', reason: 'NotScaledToZero', message: 'the workload was not scaled to zero' },
    );
    recorder.event(hpa, 'Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${why}`);
    const history = histories.get(hpa.metadata.uid) ?? { recommendations: [], ups: [], downs: [] };
    const nowMs = clock.now();
    const event = { atMs: nowMs, change: Math.abs(replicas - current) };
    const moved = replicas > current ? { ups: [...history.ups, event] } : { downs: [...history.downs, event] };
    histories.set(hpa.metadata.uid, trimmed({ ...history, ...moved }, nowMs));
    status.lastScaleTime = timeOf(nowMs);
    setCounts(status, current, replicas, status.currentMetrics);
  }

  function forget(hpa: Frozen<HorizontalPodAutoscaler>): void {
    histories.delete(hpa.metadata.uid);
    selectors.delete(keyText({ namespace: hpa.metadata.namespace ?? '', name: hpa.metadata.name }));
  }

  function* woken(
    hpa: Frozen<HorizontalPodAutoscaler>,
    previous?: Frozen<HorizontalPodAutoscaler>,
  ): Generator<ObjectKey> {
    const key = { namespace: hpa.metadata.namespace ?? '', name: hpa.metadata.name };
    if (cache.get(key) === undefined) forget(hpa);
    else if (previous === undefined || !isEqual(previous.spec, hpa.spec)) yield key;
  }

  return {
    name: 'horizontal-pod-autoscaler-controller',
    watches: [watching(cache, woken), reading(podCache)],
    async reconcile(key, signal) {
      const hpa = cache.get(key);
      if (!hpa) return undefined;
      const one: Look = { hpa, status: { ...(hpa.status as Status) } };
      try {
        await look(one, signal);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        context.logger.debug('an autoscaler cannot act', { key, reason: error.reason, error: error.message });
      }
      try {
        if (!isEqual(one.status, hpa.status))
          await writer.updateStatus({ ...hpa, status: one.status } as HorizontalPodAutoscaler, { signal });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error)) throw error;
      }
      return { afterMs: syncPeriodMs };
    },
  };
}

function setCounts(status: Status, current: number, desired: number, metrics: Status['currentMetrics'] | null): void {
  // Zero is not written: as upstream's encoding has it.
  if (current === 0) delete status.currentReplicas;
  else status.currentReplicas = current;
  status.desiredReplicas = desired;
  status.currentMetrics = metrics as Status['currentMetrics'];
}

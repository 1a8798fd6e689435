// Owns the ways between autoscaling/v1 and v2: what v1 has no field for travels in annotations.
import type * as v1 from '../../../api/generated/autoscaling.v1.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerBehavior,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
  MetricTarget,
} from '../../../api/generated/autoscaling.v2.ts';
import { type Frozen, thaw } from '../../../api/meta.ts';

const prefix = 'autoscaling.alpha.kubernetes.io';
const metricsKey = `${prefix}/metrics`;
const behaviorKey = `${prefix}/behavior`;
const currentKey = `${prefix}/current-metrics`;
const conditionsKey = `${prefix}/conditions`;

type Json = Record<string, unknown>;

/** v2 has fields for what these say; there they mean nothing and are not kept. */
export function dropV1Annotations({ metadata }: { readonly metadata: { annotations?: Record<string, string> } }): void {
  const { annotations } = metadata;
  if (annotations === undefined) return;
  for (const key of [metricsKey, behaviorKey, currentKey, conditionsKey]) delete annotations[key];
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
}

const isCpuUtilization = ({ type, resource }: Frozen<MetricSpec>): boolean =>
  type === 'Resource' && resource?.name === 'cpu' && resource.target?.averageUtilization !== undefined;

/** Drops what is undefined. */
const compact = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json;

const targetFields = ({ target }: { readonly target?: Frozen<MetricTarget> }): Json => ({
  targetAverageUtilization: target?.averageUtilization,
  targetAverageValue: target?.averageValue,
});

/** A metric as v1's annotation spells it. */
function metricToV1(metric: Frozen<MetricSpec>): Json {
  const { type, resource, containerResource, pods, object, external } = metric;
  return compact({
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      targetValue: object.target?.value ?? '0',
      selector: object.metric.selector,
      averageValue: object.target?.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      targetAverageValue: pods.target?.averageValue,
      selector: pods.metric.selector,
    },
    resource: resource && { name: resource.name, ...targetFields(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      ...targetFields(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      targetValue: external.target?.value,
      targetAverageValue: external.target?.averageValue,
    },
  });
}

function resourceTarget(source: Json): Json {
  const utilization = source['targetAverageUtilization'];
  return compact({
    type: utilization === undefined ? 'AverageValue' : 'Utilization',
    averageUtilization: utilization,
    averageValue: source['targetAverageValue'],
  });
}

function metricFromV1(metric: Json): MetricSpec {
  const of = (field: string): Json | undefined => metric[field] as Json | undefined;
  const [object, pods, resource, container, external] = [
    of('object'),
    of('pods'),
    of('resource'),
    of('containerResource'),
    of('external'),
  ];
  return compact({
    type: metric['type'],
    object: object && {
      describedObject: object['target'],
      metric: { name: object['metricName'], selector: object['selector'] },
      target:
        object['averageValue'] === undefined
          ? { type: 'Value', value: object['targetValue'] }
          : { type: 'AverageValue', averageValue: object['averageValue'] },
    },
    pods: pods && {
      metric: { name: pods['metricName'], selector: pods['selector'] },
      target: { type: 'AverageValue', averageValue: pods['targetAverageValue'] },
    },
    resource: resource && { name: resource['name'], target: resourceTarget(resource) },
    containerResource: container && {
      name: container['name'],
      container: container['container'],
      target: resourceTarget(container),
    },
    external: external && {
      metric: { name: external['metricName'], selector: external['metricSelector'] },
      target:
        external['targetValue'] === undefined
          ? { type: 'AverageValue', averageValue: external['targetAverageValue'] }
          : { type: 'Value', value: external['targetValue'] },
    },
  }) as unknown as MetricSpec;
}

/** Behaviour is kept in upstream's internal spelling. */
function rulesToV1(rules: Frozen<HPAScalingRules> | undefined): unknown {
  if (rules === undefined) return null;
  return {
    StabilizationWindowSeconds: rules.stabilizationWindowSeconds ?? null,
    SelectPolicy: rules.selectPolicy ?? null,
    Policies:
      rules.policies?.map(({ type, value, periodSeconds }) => ({
        Type: type,
        Value: value,
        PeriodSeconds: periodSeconds,
      })) ?? null,
    Tolerance: rules.tolerance ?? null,
  };
}

function rulesFromV1(rules: Json | null | undefined): HPAScalingRules | undefined {
  if (!rules) return undefined;
  const policies = rules['Policies'] as Json[] | null | undefined;
  const spelled = {
    stabilizationWindowSeconds: rules['StabilizationWindowSeconds'] ?? undefined,
    selectPolicy: rules['SelectPolicy'] ?? undefined,
    policies: policies?.map((policy) => ({
      type: policy['Type'],
      value: policy['Value'],
      periodSeconds: policy['PeriodSeconds'],
    })),
    tolerance: rules['Tolerance'] ?? undefined,
  };
  return compact(spelled);
}

function statusToV1({ type, resource, containerResource, pods, object, external }: Frozen<MetricStatus>): Json {
  return compact({
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current?.value ?? '0',
      selector: object.metric.selector,
      averageValue: object.current?.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current?.averageValue ?? '0',
      selector: pods.metric.selector,
    },
    resource: resource && {
      name: resource.name,
      currentAverageUtilization: resource.current?.averageUtilization,
      currentAverageValue: resource.current?.averageValue ?? '0',
    },
    containerResource: containerResource && {
      name: containerResource.name,
      currentAverageUtilization: containerResource.current?.averageUtilization,
      currentAverageValue: containerResource.current?.averageValue ?? '0',
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current?.value ?? '0',
      currentAverageValue: external.current?.averageValue,
    },
  });
}

/** Amounts are never absent there: of what said none it says "0". */
function statusFromV1(metric: Json): MetricStatus {
  const of = (field: string): Json | undefined => metric[field] as Json | undefined;
  const [object, pods, resource, container, external] = [
    of('object'),
    of('pods'),
    of('resource'),
    of('containerResource'),
    of('external'),
  ];
  const current = (source: Json): Json => ({
    averageUtilization: source['currentAverageUtilization'],
    averageValue: source['currentAverageValue'] ?? '0',
  });
  return compact({
    type: metric['type'],
    object: object && {
      describedObject: object['target'],
      metric: { name: object['metricName'], selector: object['selector'] },
      current: { value: object['currentValue'] ?? '0', averageValue: object['averageValue'] },
    },
    pods: pods && {
      metric: { name: pods['metricName'], selector: pods['selector'] },
      current: { averageValue: pods['currentAverageValue'] ?? '0' },
    },
    resource: resource && { name: resource['name'], current: current(resource) },
    containerResource: container && {
      name: container['name'],
      container: container['container'],
      current: current(container),
    },
    external: external && {
      metric: { name: external['metricName'], selector: external['metricSelector'] },
      current: { value: external['currentValue'] ?? '0', averageValue: external['currentAverageValue'] },
    },
  }) as unknown as MetricStatus;
}

export function toV1(obj: Frozen<HorizontalPodAutoscaler>): v1.HorizontalPodAutoscaler {
  const { metadata, spec, status } = thaw<HorizontalPodAutoscaler>(obj);
  const annotations: Record<string, string> = { ...metadata.annotations };
  const cpu = spec.metrics?.find(isCpuUtilization);
  const others = spec.metrics?.filter((metric) => metric !== cpu) ?? [];
  if (others.length > 0) annotations[metricsKey] = JSON.stringify(others.map(metricToV1));
  if (spec.behavior !== undefined)
    annotations[behaviorKey] = JSON.stringify({
      ScaleUp: rulesToV1(spec.behavior.scaleUp),
      ScaleDown: rulesToV1(spec.behavior.scaleDown),
    });
  const current = status?.currentMetrics ?? [];
  if (current.length > 0) annotations[currentKey] = JSON.stringify(current.map(statusToV1));
  if (status?.conditions?.length) annotations[conditionsKey] = JSON.stringify(status.conditions);
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  const cpuNow = current.find(({ type, resource }) => type === 'Resource' && resource?.name === 'cpu');
  const converted: v1.HorizontalPodAutoscaler = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: { scaleTargetRef: spec.scaleTargetRef, maxReplicas: spec.maxReplicas },
    status: { currentReplicas: status?.currentReplicas ?? 0, desiredReplicas: status?.desiredReplicas ?? 0 },
  };
  if (spec.minReplicas !== undefined) converted.spec.minReplicas = spec.minReplicas;
  const target = cpu?.resource?.target.averageUtilization;
  if (target !== undefined) converted.spec.targetCPUUtilizationPercentage = target;
  const { averageUtilization } = cpuNow?.resource?.current ?? {};
  if (averageUtilization !== undefined) converted.status.currentCPUUtilizationPercentage = averageUtilization;
  if (status?.observedGeneration !== undefined) converted.status.observedGeneration = status.observedGeneration;
  if (status?.lastScaleTime !== undefined) converted.status.lastScaleTime = status.lastScaleTime;
  return converted;
}

/** What an annotation holds; broken ones are dropped without a word, as upstream does. */
function parsed<T>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function listOf(text: string | undefined): Json[] | undefined {
  const list = parsed<unknown>(text);
  return Array.isArray(list) && list.every((item) => typeof item === 'object' && item !== null)
    ? (list as Json[])
    : undefined;
}

export function fromV1(obj: Frozen<v1.HorizontalPodAutoscaler>): HorizontalPodAutoscaler {
  const { metadata, spec = {} as v1.HorizontalPodAutoscalerSpec, status } = thaw<v1.HorizontalPodAutoscaler>(obj);
  const annotations = metadata.annotations ?? {};
  const metrics = listOf(annotations[metricsKey])?.map(metricFromV1) ?? [];
  const target = spec.targetCPUUtilizationPercentage;
  if (target !== undefined)
    metrics.push({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: target } },
    });
  const cpuNow = status?.currentCPUUtilizationPercentage;
  // The annotation says more than the field, and so takes its place.
  const current =
    listOf(annotations[currentKey])?.map(statusFromV1) ?? (cpuNow === undefined ? [] : [cpuUsage(cpuNow)]);
  const behavior = parsed<Json>(annotations[behaviorKey]);
  const conditions = parsed<HorizontalPodAutoscaler['status']['conditions']>(annotations[conditionsKey]);
  for (const key of [metricsKey, behaviorKey, currentKey, conditionsKey]) delete annotations[key];
  if (metadata.annotations !== undefined && Object.keys(annotations).length === 0) delete metadata.annotations;
  const converted: HorizontalPodAutoscaler = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata,
    spec: { scaleTargetRef: spec.scaleTargetRef, maxReplicas: spec.maxReplicas },
    status: { ...(current.length > 0 && { currentMetrics: current }), desiredReplicas: status?.desiredReplicas ?? 0 },
  } as HorizontalPodAutoscaler;
  if (spec.minReplicas !== undefined) converted.spec.minReplicas = spec.minReplicas;
  if (metrics.length > 0) converted.spec.metrics = metrics;
  if (behavior !== undefined && behavior !== null) converted.spec.behavior = behaviorFrom(behavior);
  if (status?.currentReplicas) converted.status.currentReplicas = status.currentReplicas;
  if (conditions !== undefined) converted.status.conditions = conditions;
  if (status?.observedGeneration !== undefined) converted.status.observedGeneration = status.observedGeneration;
  if (status?.lastScaleTime !== undefined) converted.status.lastScaleTime = status.lastScaleTime;
  return converted;
}

function behaviorFrom(behavior: Json): HorizontalPodAutoscalerBehavior {
  const scaleUp = rulesFromV1(behavior['ScaleUp'] as Json | null);
  const scaleDown = rulesFromV1(behavior['ScaleDown'] as Json | null);
  return { ...(scaleUp && { scaleUp }), ...(scaleDown && { scaleDown }) };
}

function cpuUsage(averageUtilization: number): MetricStatus {
  return { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization } } };
}

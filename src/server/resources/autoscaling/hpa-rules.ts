// Owns the validation of horizontal pod autoscalers.
import type {
  CrossVersionObjectReference,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from '../../../api/generated/autoscaling.v2.ts';
import type { Frozen } from '../../../api/meta.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { nano } from '../../../api/validation/quantities.ts';

/** Names that can be a segment of a URL path. */
function segmentProblems(name: string): readonly string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((mark) => name.includes(mark)).map((mark) => `may not contain '${mark}'`);
}

function validateSegment(problems: Problems, path: string, name: string | undefined): void {
  if (!name) problems.required(path);
  else problems.each(path, name, segmentProblems(name));
}

function validateReference(
  problems: Problems,
  path: string,
  ref: Frozen<CrossVersionObjectReference> | undefined,
  { mayLackGroup, isOld = false }: { readonly mayLackGroup: boolean; readonly isOld?: boolean },
): void {
  validateSegment(problems, `${path}.kind`, ref?.kind);
  validateSegment(problems, `${path}.name`, ref?.name);
  const version = ref?.apiVersion ?? '';
  if (isOld) return;
  if (version.split('/').length > 2) problems.invalid(`${path}.apiVersion`, version, 'must be GROUP/VERSION');
  else if (!mayLackGroup && groupOf(version) === '')
    problems.invalid(`${path}.apiVersion`, version, 'apiVersion must name an API group');
}

/** "apps/v1": "apps"; without a slash there is none. */
const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion.split('/')[0]! : '');

/** The version of a target that stays is not judged again. */
export function validateHpaSpec(
  problems: Problems,
  spec: Frozen<HorizontalPodAutoscalerSpec>,
  prev?: Frozen<HorizontalPodAutoscalerSpec>,
): void {
  const { minReplicas, maxReplicas = 0, metrics = [] } = spec;
  const { apiVersion, kind } = spec.scaleTargetRef ?? {};
  problems.notNegative('spec.minReplicas', minReplicas);
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    problems.invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`');
  validateReference(problems, 'spec.scaleTargetRef', spec.scaleTargetRef, {
    isOld: prev?.scaleTargetRef?.apiVersion === apiVersion && prev?.scaleTargetRef?.kind === kind,
    mayLackGroup: kind === 'ReplicationController',
  });
  metrics.forEach((metric, at) => validateMetric(problems, `spec.metrics[${at}]`, metric));
  const fromZero = metrics.some(({ type }) => type === 'Object' || type === 'External');
  if (minReplicas === 0 && !fromZero)
    problems.forbidden('spec.metrics', 'must specify at least one Object or External metric to scale to zero');
  if (spec.behavior?.scaleUp) validateRules(problems, 'spec.behavior.scaleUp', spec.behavior.scaleUp);
  if (spec.behavior?.scaleDown) validateRules(problems, 'spec.behavior.scaleDown', spec.behavior.scaleDown);
  // Declared by upstream, so told last.
  if (maxReplicas === 0) problems.required('spec.maxReplicas');
  else if (maxReplicas < 1) problems.invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1');
}

type Source = 'object' | 'external' | 'pods' | 'resource' | 'containerResource';

const sources: readonly {
  readonly type: string;
  readonly field: Source;
  readonly check: (problems: Problems, path: string, metric: Frozen<MetricSpec>) => void;
}[] = [
  {
    type: 'Object',
    field: 'object',
    check(problems, path, { object }) {
      validateReference(problems, `${path}.describedObject`, object!.describedObject, { mayLackGroup: true });
      validateIdentifier(problems, `${path}.metric`, object!.metric);
      validateTarget(problems, `${path}.target`, object!.target);
      const { value, averageValue } = object!.target ?? {};
      if (value === undefined && averageValue === undefined)
        problems.required(`${path}.target.averageValue`, 'must set either a target value or a per-pod target');
    },
  },
  {
    type: 'External',
    field: 'external',
    check(problems, path, { external }) {
      validateIdentifier(problems, `${path}.metric`, external!.metric);
      validateTarget(problems, `${path}.target`, external!.target);
      const { value, averageValue } = external!.target ?? {};
      if (value === undefined && averageValue === undefined)
        problems.required(`${path}.target.averageValue`, 'must set either a target value or a per-pod target');
      if (value !== undefined && averageValue !== undefined)
        problems.forbidden(`${path}.target.value`, 'may not set both a target value and a per-pod target');
    },
  },
  {
    type: 'Pods',
    field: 'pods',
    check(problems, path, { pods }) {
      validateIdentifier(problems, `${path}.metric`, pods!.metric);
      validateTarget(problems, `${path}.target`, pods!.target);
      if (nano(pods!.target?.averageValue) <= 0n)
        problems.required(`${path}.target.averageValue`, 'must specify a positive target averageValue');
    },
  },
  {
    type: 'Resource',
    field: 'resource',
    check(problems, path, { resource }) {
      if (!resource!.name) problems.required(`${path}.name`, 'must specify a resource name');
      validateResourceTarget(problems, `${path}.target`, resource!.target);
    },
  },
  {
    type: 'ContainerResource',
    field: 'containerResource',
    check(problems, path, { containerResource }) {
      if (!containerResource!.name) problems.required(`${path}.name`, 'must specify a resource name');
      if (!containerResource!.container) problems.required(`${path}.container`, 'must specify a container');
      validateResourceTarget(problems, `${path}.target`, containerResource!.target);
    },
  },
];

function validateMetric(problems: Problems, path: string, metric: Frozen<MetricSpec>): void {
  const types = sources.map(({ type }) => type);
  if (!metric.type) problems.required(`${path}.type`, 'must specify a metric source type');
  if (!types.includes(metric.type)) problems.notSupported(`${path}.type`, metric.type ?? '', [...types].sort());
  const present = sources.filter(({ field }) => metric[field] !== undefined);
  // Of several only the first is looked into.
  present[0]?.check(problems, `${path}.${present[0].field}`, metric);
  const expected = sources.find(({ type }) => type === metric.type);
  if (expected !== undefined && metric[expected.field] === undefined)
    problems.required(`${path}.${expected.field}`, 'must populate information for the given metric source');
  if (present.length < 2) return;
  const surplus = present.map(({ field }) => field).filter((field) => field !== expected?.field);
  for (const field of surplus) problems.forbidden(`${path}.${field}`, 'must populate the given metric source only');
}

function validateIdentifier(problems: Problems, path: string, metric: Frozen<MetricIdentifier> | undefined): void {
  validateSegment(problems, `${path}.name`, metric?.name);
}

function validateTarget(problems: Problems, path: string, target: Frozen<MetricTarget> | undefined): void {
  const { type = '', value, averageValue, averageUtilization } = target ?? {};
  if (type === '') problems.required(`${path}.type`, 'must specify a metric target type');
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue')
    problems.invalid(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue');
  if (value !== undefined && nano(value) <= 0n) problems.invalid(`${path}.value`, value, 'must be positive');
  if (averageValue !== undefined && nano(averageValue) <= 0n)
    problems.invalid(`${path}.averageValue`, averageValue, 'must be positive');
  if (averageUtilization !== undefined && averageUtilization < 1)
    problems.invalid(`${path}.averageUtilization`, averageUtilization, 'must be greater than 0');
}

function validateResourceTarget(problems: Problems, path: string, target: Frozen<MetricTarget> | undefined): void {
  validateTarget(problems, path, target);
  const { averageUtilization, averageValue } = target ?? {};
  if (averageUtilization === undefined && averageValue === undefined)
    problems.required(`${path}.averageUtilization`, 'must set either a target raw value or a target utilization');
  if (averageUtilization !== undefined && averageValue !== undefined)
    problems.forbidden(`${path}.averageValue`, 'may not set both a target raw value and a target utilization');
}

const maxStabilizationSeconds = 3600;
const maxPeriodSeconds = 1800;

function validateRules(problems: Problems, path: string, rules: Frozen<HPAScalingRules>): void {
  const { stabilizationWindowSeconds: window, policies = [], tolerance } = rules;
  problems.notNegative(`${path}.stabilizationWindowSeconds`, window);
  if (window !== undefined && window > maxStabilizationSeconds)
    problems.invalid(`${path}.stabilizationWindowSeconds`, window, `must be at most ${maxStabilizationSeconds}`);
  problems.optionalOneOf(`${path}.selectPolicy`, rules.selectPolicy, ['Disabled', 'Max', 'Min']);
  if (policies.length === 0) problems.required(`${path}.policies`, 'must specify at least one Policy');
  policies.forEach(({ type = '', value = 0, periodSeconds = 0 }, at) => {
    const here = `${path}.policies[${at}]`;
    if (type !== 'Pods' && type !== 'Percent') problems.notSupported(`${here}.type`, type, ['Percent', 'Pods']);
    if (value <= 0) problems.invalid(`${here}.value`, value, 'must be greater than zero');
    if (periodSeconds <= 0) problems.invalid(`${here}.periodSeconds`, periodSeconds, 'must be greater than zero');
    if (periodSeconds > maxPeriodSeconds)
      problems.invalid(`${here}.periodSeconds`, periodSeconds, `must be at most ${maxPeriodSeconds}`);
  });
  if (tolerance !== undefined && nano(tolerance) < 0n)
    problems.invalid(`${path}.tolerance`, tolerance, 'must be greater than or equal to 0');
}

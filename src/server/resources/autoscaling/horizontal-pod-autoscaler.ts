// Owns the kind HorizontalPodAutoscaler in both its versions; v2 is the one that is stored.
import type * as v1 from '../../../api/generated/autoscaling.v1.ts';
import type {
  HorizontalPodAutoscaler,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
} from '../../../api/generated/autoscaling.v2.ts';
import { autoscalingV1HorizontalPodAutoscalers, horizontalPodAutoscalers } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import type { FieldError } from '../../../api/status-error.ts';
import { Problems } from '../../../api/validation/problems.ts';
import type { Column } from '../../resource.ts';
import type { Resource } from '../../resource.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep, specStrategy } from '../define.ts';
import { dropV1Annotations, fromV1, toV1 } from './hpa-convert.ts';
import { validateHpaSpec } from './hpa-rules.ts';

type Hpa = HorizontalPodAutoscaler;

const cpuTarget = 80;

const defaultRules: Readonly<Record<'scaleUp' | 'scaleDown', Frozen<HPAScalingRules>>> = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ],
  },
  scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
};

function applyDefaults(obj: Hpa): void {
  dropV1Annotations(obj);
  const spec = (obj.spec ??= {} as Hpa['spec']);
  spec.minReplicas ??= 1;
  if (!spec.metrics?.length)
    spec.metrics = [
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpuTarget } } },
    ];
  if (spec.behavior === undefined) return;
  for (const direction of ['scaleUp', 'scaleDown'] as const)
    spec.behavior[direction] = {
      ...structuredClone(defaultRules[direction] as HPAScalingRules),
      ...spec.behavior[direction],
    };
}

function errorsOfStatus({ status }: Frozen<Hpa>): Problems {
  const problems = new Problems();
  problems.notNegative('status.currentReplicas', status?.currentReplicas);
  problems.notNegative('status.desiredReplicas', status?.desiredReplicas);
  return problems;
}

function validate(obj: Frozen<Hpa>, prev?: Frozen<Hpa>): Problems {
  const problems = new Problems();
  validateHpaSpec(problems, obj.spec, prev?.spec);
  return problems;
}

/** "cpu: 12%/80%", with what is not known yet said so. */
function metricText(metric: Frozen<MetricSpec>, now: Frozen<MetricStatus> | undefined): string {
  const unknown = '<unknown>';
  const amount = (
    current: { averageValue?: string; value?: string } | undefined,
    target: { averageValue?: string; value?: string } | undefined,
  ): string =>
    target?.averageValue !== undefined
      ? `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`
      : `${current?.value ?? unknown}/${target?.value ?? unknown}`;
  switch (metric.type) {
    case 'Pods':
      return `${now?.pods?.current?.averageValue ?? unknown}/${metric.pods?.target?.averageValue ?? unknown}`;
    case 'Object':
      return amount(now?.object?.current, metric.object?.target);
    case 'External':
      return amount(now?.external?.current, metric.external?.target);
    case 'Resource':
    case 'ContainerResource': {
      const [source, current] =
        metric.type === 'Resource'
          ? [metric.resource, now?.resource?.current]
          : [metric.containerResource, now?.containerResource?.current];
      const name = source?.name ?? '';
      if (source?.target?.averageValue !== undefined)
        return `${name}: ${current?.averageValue ?? unknown}/${source.target.averageValue}`;
      const utilization = current?.averageUtilization;
      const shown = utilization === undefined ? unknown : `${utilization}%`;
      const target = source?.target?.averageUtilization;
      return `${name}: ${shown}/${target === undefined ? '<auto>' : `${target}%`}`;
    }
    default:
      return unknown;
  }
}

const maxShown = 2;

function targetsText({ spec, status }: Frozen<Hpa>): string {
  const metrics = spec.metrics ?? [];
  if (metrics.length === 0) return '<none>';
  const texts = metrics.slice(0, maxShown).map((metric, at) => metricText(metric, status?.currentMetrics?.[at]));
  const more = metrics.length - maxShown;
  return more > 0 ? `${texts.join(', ')} + ${more} more...` : texts.join(', ');
}

const columns: readonly Column<Hpa>[] = [
  nameColumn,
  {
    name: 'Reference',
    type: 'string',
    cell: ({ spec }) => `${spec.scaleTargetRef?.kind ?? ''}/${spec.scaleTargetRef?.name ?? ''}`,
  },
  { name: 'Targets', type: 'string', cell: targetsText },
  { name: 'MinPods', type: 'string', cell: ({ spec }) => String(spec.minReplicas ?? '<unset>') },
  { name: 'MaxPods', type: 'string', cell: ({ spec }) => spec.maxReplicas },
  { name: 'Replicas', type: 'string', cell: ({ status }) => status?.currentReplicas ?? 0 },
  ageColumn,
];

/** What is declared of the greatest number comes last. */
const place = ({ field, reason, message }: FieldError): number =>
  Number(field === 'spec.maxReplicas' && (reason === 'FieldValueRequired' || message.endsWith(' 1')));

const strategy = specStrategy<Hpa>(() => ({ desiredReplicas: 0 }) as Hpa['status']);

export const horizontalPodAutoscaler = defineResource<Hpa>(horizontalPodAutoscalers, {
  sibling: siblingOf,
  shortNames: ['hpa'],
  categories: ['all'],
  ...strategy,
  applyDefaults,
  validate: (obj) => validate(obj).list,
  place,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validate(next, prev).list,
  columns,
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate: (next) => errorsOfStatus(next).list,
    },
  },
});

type HpaV1 = v1.HorizontalPodAutoscaler;

/** For claims of fields in the other version. The versions are objects of one kind to the generic server. */
function siblingOf(apiVersion: string): Resource | undefined {
  if (apiVersion === 'autoscaling/v1') return horizontalPodAutoscalerV1 as unknown as Resource;
  return apiVersion === 'autoscaling/v2' ? (horizontalPodAutoscaler as unknown as Resource) : undefined;
}

/** Rules of v2 over objects of v1: converted there, and back where they change something. */
function throughV2(obj: HpaV1, change: (converted: Hpa) => void): void {
  const converted = fromV1(obj as Frozen<HpaV1>);
  change(converted);
  Object.assign(obj, toV1(converted as Frozen<Hpa>));
}

export const horizontalPodAutoscalerV1 = defineResource<HpaV1>(autoscalingV1HorizontalPodAutoscalers, {
  sibling: siblingOf,
  shortNames: ['hpa'],
  categories: ['all'],
  applyDefaults(obj) {
    const spec = (obj.spec ??= {} as HpaV1['spec']);
    spec.minReplicas ??= 1;
  },
  prepareForCreate: (obj, context) =>
    throughV2(obj, (hpa) => {
      applyDefaults(hpa);
      strategy.prepareForCreate?.(hpa, context);
    }),
  prepareForUpdate: (next, prev, context) =>
    throughV2(next, (hpa) => {
      applyDefaults(hpa);
      strategy.prepareForUpdate?.(hpa, fromV1(prev) as Frozen<Hpa>, context);
    }),
  validate: (obj) => validate(fromV1(obj) as Frozen<Hpa>).list,
  place,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validate(fromV1(next) as Frozen<Hpa>, fromV1(prev) as Frozen<Hpa>).list,
  columns: columns.map((column) => ({
    ...column,
    cell: (obj: Frozen<HpaV1>, nowMs: number) => column.cell(fromV1(obj) as Frozen<Hpa>, nowMs),
  })),
  convert: {
    toStorage(obj) {
      const converted = fromV1(obj);
      applyDefaults(converted);
      return converted;
    },
    fromStorage: (obj) => toV1(obj as unknown as Frozen<Hpa>),
  },
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate: (next) => errorsOfStatus(fromV1(next) as Frozen<Hpa>).list,
    },
  },
});

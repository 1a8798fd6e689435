// Owns the plugins for pods that are off by default: images always pulled, node selectors and tolerations of namespaces, spreading by node only.
import type { Pod, PodSpec, Toleration } from '../../api/generated/core.v1.ts';
import { qosClassOf } from '../../api/judge/pod-qos.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { same } from '../verbs/equal.ts';
import type { Parts } from '../parts.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { podOf } from './pods.ts';
import { covers, mergeTolerations } from './tolerations.ts';

const pods = { group: '', plural: 'pods' };

function annotationOf(parts: Parts, namespace: string, key: string): string | undefined {
  return parts.catalog.cache('', 'namespaces').get(namespace)?.object.metadata.annotations?.[key];
}

/** Images are pulled with the pod's own rights each time, so that nobody uses what another may pull. */
export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  admit(request) {
    const { spec } = podOf(request) ?? {};
    const before = (request.oldObject as Frozen<KubeObject & Pod> | undefined)?.spec;
    for (const container of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
      const old = [...(before?.initContainers ?? []), ...(before?.containers ?? [])].find(
        ({ name }) => name === container.name,
      );
      if (old === undefined || old.image !== container.image) container.imagePullPolicy = 'Always';
    }
    if (request.operation === 'CREATE')
      for (const { image } of (spec?.volumes ?? []) as ImageVolumes)
        if (image !== undefined && image.reference) image.pullPolicy = 'Always';
  },
  /** A webhook that comes after may have changed it back. */
  validate(request) {
    const { spec } = podOf(request) ?? {};
    if (spec === undefined || request.operation !== 'CREATE') return;
    const pulled = (policy: string | undefined): boolean => policy === 'Always';
    const wrong =
      [...(spec.initContainers ?? []), ...(spec.containers ?? [])].find(
        ({ imagePullPolicy }) => !pulled(imagePullPolicy),
      ) ?? ((spec.volumes ?? []) as ImageVolumes).find(({ image }) => image?.reference && !pulled(image.pullPolicy));
    if (wrong !== undefined)
      throw forbidden(pods, request.name, `${wrong.name}: unsupported pull policy: supported values: "Always"`);
  },
};

type ImageVolumes = { readonly name: string; image?: { reference?: string; pullPolicy?: string } }[];

export const limitPodHardAntiAffinityTopology: AdmissionPlugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  validate(request) {
    const terms = podOf(request)?.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const { topologyKey } of terms)
      if (topologyKey !== 'kubernetes.io/hostname')
        throw forbidden(
          pods,
          request.name,
          `affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution has topologyKey ${topologyKey} but only kubernetes.io/hostname is allowed`,
        );
  },
};

export const extendedResourceToleration: AdmissionPlugin = {
  name: 'ExtendedResourceToleration',
  admit(request) {
    const { spec } = podOf(request) ?? {};
    if (spec === undefined) return;
    const names = new Set(
      [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
        .flatMap(({ resources }) => Object.keys(resources?.requests ?? {}))
        .filter((name) => name.includes('/') && !name.split('/')[0]!.endsWith('kubernetes.io')),
    );
    for (const key of [...names].sort())
      addToleration(spec as { tolerations?: Toleration[] }, { key, operator: 'Exists', effect: 'NoSchedule' });
  },
};

function addToleration(spec: { tolerations?: Toleration[] }, wanted: Toleration): void {
  if (spec.tolerations?.some((known) => same(known, wanted)) !== true)
    spec.tolerations = [...(spec.tolerations ?? []), wanted];
}

/** "a=b,c=d" of the annotation scheduler.alpha.kubernetes.io/node-selector, or of the cluster's default. */
export function podNodeSelector(clusterDefault: string, whitelists: Readonly<Record<string, string>>): AdmissionPlugin {
  const parse = (text: string): Record<string, string> =>
    Object.fromEntries(
      text
        .split(',')
        .map((part) => part.trim().split('='))
        .filter(([key]) => key !== '')
        .map(([key, value]) => [key!, value ?? '']),
    );
  const wantedFor = (parts: Parts, namespace: string): Record<string, string> =>
    parse(annotationOf(parts, namespace, 'scheduler.alpha.kubernetes.io/node-selector') ?? clusterDefault);

  function conflictOf(request: AdmissionRequest, parts: Parts): void {
    const spec = podOf(request)?.spec;
    if (spec === undefined) return;
    const wanted = wantedFor(parts, request.namespace);
    for (const [key, value] of Object.entries(wanted))
      if (spec.nodeSelector?.[key] !== undefined && spec.nodeSelector[key] !== value)
        throw forbidden(pods, request.name, 'pod node label selector conflicts with its namespace node label selector');
  }

  return {
    name: 'PodNodeSelector',
    admit(request, parts) {
      const spec = podOf(request)?.spec;
      if (spec === undefined || request.operation !== 'CREATE') return;
      conflictOf(request, parts);
      const wanted = wantedFor(parts, request.namespace);
      if (Object.keys(wanted).length > 0) spec.nodeSelector = { ...spec.nodeSelector, ...wanted };
    },
    validate(request, parts) {
      if (request.operation !== 'CREATE') return;
      conflictOf(request, parts);
      const list = whitelists[request.namespace];
      if (list === undefined) return;
      const allowed = parse(list);
      for (const [key, value] of Object.entries(podOf(request)?.spec?.nodeSelector ?? {}))
        if (allowed[key] !== value)
          throw forbidden(pods, request.name, 'pod node label selector labels conflict with its namespace whitelist');
    },
  };
}

const memoryPressure: Toleration = {
  key: 'node.kubernetes.io/memory-pressure',
  operator: 'Exists',
  effect: 'NoSchedule',
};

/** Tolerations of the annotations scheduler.alpha.kubernetes.io/{defaultTolerations,tolerationsWhitelist} of the namespace, else of the cluster. */
export function podTolerationRestriction(config: Readonly<Record<string, unknown>> | undefined): AdmissionPlugin {
  const listOf = (field: string): Toleration[] => {
    const value = config?.[field] ?? [];
    if (!Array.isArray(value)) throw new Error(`PodTolerationRestriction: ${field} must be a list of tolerations`);
    return value as Toleration[];
  };
  const cluster = { defaults: listOf('default'), whitelist: listOf('whitelist') };
  return {
    name: 'PodTolerationRestriction',
    admit(request, parts) {
      const spec = podOf(request)?.spec as (PodSpec & { tolerations?: Toleration[] }) | undefined;
      if (spec === undefined) return;
      let all = spec.tolerations ?? [];
      if (request.operation === 'CREATE')
        all = mergeTolerations(all, tolerationsOf(request, parts, 'defaultTolerations') ?? cluster.defaults);
      // Who asks for something may stay where memory runs short: others are put out first.
      if (qosClassOf(spec as Frozen<PodSpec>) !== 'BestEffort') all = mergeTolerations(all, [memoryPressure]);
      if (all.length > 0) spec.tolerations = all;
    },
    validate(request, parts) {
      const spec = podOf(request)?.spec;
      if (spec === undefined) return;
      const own = tolerationsOf(request, parts, 'tolerationsWhitelist');
      const list = own ?? cluster.whitelist;
      if (list.length === 0) return;
      for (const toleration of spec.tolerations ?? [])
        if (!list.some((known) => covers(known, toleration)))
          throw forbidden(
            pods,
            request.name,
            `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${own === undefined ? 'cluster' : 'namespace'} whitelist`,
          );
    },
  };
}

function tolerationsOf(request: AdmissionRequest, parts: Parts, which: string): Toleration[] | undefined {
  const text = annotationOf(parts, request.namespace, `scheduler.alpha.kubernetes.io/${which}`);
  if (text === undefined || text === '') return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed)) return parsed as Toleration[];
  } catch {
    // Told below: an annotation that nobody can read must not open the namespace.
  }
  throw forbidden(pods, request.name, `the namespace's annotation ${which} is no list of tolerations`);
}

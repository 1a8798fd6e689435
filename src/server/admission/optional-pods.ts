// Owns the plugins for pods that are off by default: images always pulled, node selectors and tolerations of namespaces, spreading by node only.
import type { Pod, Toleration } from '../../api/generated/core.v1.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { same } from '../verbs/equal.ts';
import type { Parts } from '../parts.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { podOf } from './pods.ts';

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
  },
};

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
    if (spec === undefined || request.operation !== 'CREATE') return;
    const names = new Set(
      [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
        .flatMap(({ resources }) => Object.keys(resources?.requests ?? {}))
        .filter((name) => name.includes('/') && !name.split('/')[0]!.endsWith('kubernetes.io')),
    );
    for (const key of [...names].sort())
      addToleration(spec as { tolerations?: Toleration[] }, { key, operator: 'Exists' });
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

/** Tolerations of the annotations scheduler.alpha.kubernetes.io/{defaultTolerations,tolerationsWhitelist} of the namespace. */
export const podTolerationRestriction: AdmissionPlugin = {
  name: 'PodTolerationRestriction',
  admit(request, parts) {
    const spec = podOf(request)?.spec;
    if (spec === undefined || request.operation !== 'CREATE') return;
    for (const toleration of tolerationsOf(request, parts, 'defaultTolerations') ?? [])
      addToleration(spec as { tolerations?: Toleration[] }, toleration);
  },
  validate(request, parts) {
    const spec = podOf(request)?.spec;
    const list = spec === undefined ? undefined : tolerationsOf(request, parts, 'tolerationsWhitelist');
    if (list === undefined || list.length === 0) return;
    for (const toleration of spec!.tolerations ?? [])
      if (!list.some((known) => covers(known, toleration)))
        throw forbidden(
          pods,
          request.name,
          'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
        );
  },
};

function covers(wide: Toleration, narrow: Toleration): boolean {
  if (wide.key && wide.key !== narrow.key) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.operator === 'Exists') return true;
  return narrow.operator !== 'Exists' && (wide.value ?? '') === (narrow.value ?? '');
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

// Owns the identity of stateful pods: ordinal, name, host name, claims. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { StatefulSet } from '../../api/generated/apps.v1.ts';
import type { PersistentVolumeClaim, Pod, PodTemplateSpec } from '../../api/generated/core.v1.ts';
import type { OwnerReference } from '../../api/generated/meta.v1.ts';
import { pods, statefulSets } from '../../api/generated/resources.ts';
import { controllerReference } from '../framework/owners.ts';
import { type NewPod, podFromTemplate } from '../framework/pod-control.ts';
import { revisionHashLabel } from '../framework/revisions.ts';

/** -1 for pods that are not named after the set. */
export function ordinalOf(set: Frozen<StatefulSet>, pod: Frozen<Pod>): number {
  const prefix = `${set.metadata.name}-`;
  const rest = pod.metadata.name.slice(prefix.length);
  return pod.metadata.name.startsWith(prefix) && /^(0|[1-9]\d{0,9})$/.test(rest) ? Number(rest) : -1;
}

export function claimName(set: Frozen<StatefulSet>, template: string, ordinal: number): string {
  return `${template}-${set.metadata.name}-${ordinal}`;
}

export function statefulPod(
  set: Frozen<StatefulSet>,
  template: Frozen<PodTemplateSpec>,
  revisionName: string,
  ordinal: number,
): NewPod {
  const pod = podFromTemplate(statefulSets, set, template);
  const name = `${set.metadata.name}-${ordinal}`;
  const { generateName: _generated, ...metadata } = pod.metadata;
  const claims = (set.spec.volumeClaimTemplates ?? []).map(({ metadata: { name: template } }) => ({
    name: template,
    persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
  }));
  const given = (pod.spec.volumes ?? []).filter((volume) => !claims.some((claim) => claim.name === volume.name));
  return {
    ...pod,
    metadata: {
      ...metadata,
      name,
      labels: {
        ...metadata.labels,
        'statefulset.kubernetes.io/pod-name': name,
        'apps.kubernetes.io/pod-index': String(ordinal),
        [revisionHashLabel]: revisionName,
      },
    },
    spec: {
      ...pod.spec,
      hostname: name,
      ...(set.spec.serviceName && { subdomain: set.spec.serviceName }),
      ...(claims.length + given.length > 0 && { volumes: [...claims, ...given] }),
    },
  };
}

type NewClaim = Pick<PersistentVolumeClaim, 'spec'> & {
  metadata: Partial<PersistentVolumeClaim['metadata']> & { name: string };
};

export function claimsOf(set: Frozen<StatefulSet>, ordinal: number): NewClaim[] {
  return (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    metadata: {
      name: claimName(set, template.metadata.name, ordinal),
      namespace: set.metadata.namespace ?? '',
      labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
      ...(template.metadata.annotations && { annotations: { ...template.metadata.annotations } }),
    },
    spec: template.spec as PersistentVolumeClaim['spec'],
  }));
}

/** The owners that a claim should have by the retention policy (KEP-1847). `pod` is given for pods that scaling takes away. */
export function claimOwners(
  set: Frozen<StatefulSet>,
  claim: Frozen<PersistentVolumeClaim>,
  condemned: Frozen<Pod> | undefined,
): Frozen<OwnerReference>[] {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const kept = (claim.metadata.ownerReferences ?? []).filter(
    ({ uid, kind }) => uid !== set.metadata.uid && kind !== 'Pod',
  );
  if (condemned && whenScaled === 'Delete') return [...kept, controllerReference(pods, condemned)];
  if (whenDeleted === 'Delete') return [...kept, controllerReference(statefulSets, set)];
  return kept;
}

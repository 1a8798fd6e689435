// Owns how a deployment's replica sets are told apart and numbered: template equality, hash, revision annotations. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Deployment, ReplicaSet } from '../../api/generated/apps.v1.ts';
import { deployments } from '../../api/generated/resources.ts';
import { isEqual, shortHash } from '../framework/equality.ts';
import { controllerReference } from '../framework/owners.ts';

export const annotation = {
  revision: 'deployment.kubernetes.io/revision',
  history: 'deployment.kubernetes.io/revision-history',
  desired: 'deployment.kubernetes.io/desired-replicas',
  max: 'deployment.kubernetes.io/max-replicas',
} as const;

const templateHash = 'pod-template-hash';

/** A deployment's annotations are copied to its replica sets, but not these. */
const notCopied: ReadonlySet<string> = new Set([
  ...Object.values(annotation),
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
]);

type Annotations = Record<string, string>;

export function revisionOf(obj: { readonly metadata: { readonly annotations?: Readonly<Annotations> } }): number {
  const text = obj.metadata.annotations?.[annotation.revision];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : 0;
}

export function hasSameTemplate(deployment: Frozen<Deployment>, set: Frozen<ReplicaSet>): boolean {
  const { template } = deployment.spec;
  const { metadata = {}, spec } = set.spec.template ?? {};
  const { [templateHash]: _hash, ...labels } = (metadata as { labels?: Annotations }).labels ?? {};
  const { [templateHash]: _ours, ...wanted } = template.metadata?.labels ?? {};
  return (
    isEqual(wanted, labels) &&
    isEqual(template.metadata?.annotations ?? {}, (metadata as { annotations?: Annotations }).annotations ?? {}) &&
    isEqual(template.spec, spec)
  );
}

/** A new set for the deployment's template; the name follows from the template, so that creating it twice is noticed. */
export function newReplicaSet(
  deployment: Frozen<Deployment>,
  replicas: number,
  maxReplicas: number,
  revision: number,
): Omit<ReplicaSet, 'metadata' | 'status'> & { metadata: Partial<ReplicaSet['metadata']> & { name: string } } {
  const { template, selector, minReadySeconds } = deployment.spec;
  const hash = shortHash(template, deployment.status?.collisionCount);
  const labels = { ...template.metadata?.labels, [templateHash]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? '',
      labels: { ...labels },
      annotations: {
        ...copied(deployment),
        [annotation.revision]: String(revision),
        ...sizeAnnotations(deployment, maxReplicas),
      },
      ownerReferences: [controllerReference(deployments, deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [templateHash]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    } as ReplicaSet['spec'],
  };
}

export function sizeAnnotations(deployment: Frozen<Deployment>, maxReplicas: number): Annotations {
  return {
    [annotation.desired]: String(deployment.spec.replicas ?? 1),
    [annotation.max]: String(maxReplicas),
  };
}

/** The annotations of an existing new set: the deployment's, and the newest revision with those that it had before. */
export function updatedAnnotations(
  deployment: Frozen<Deployment>,
  set: Frozen<ReplicaSet>,
  revision: number,
): Annotations {
  const result: Annotations = { ...set.metadata.annotations, ...copied(deployment) };
  const before = revisionOf(set);
  if (before >= revision) return result;
  result[annotation.revision] = String(revision);
  if (before === 0) return result;
  const history = (result[annotation.history] ?? '').split(',').filter((one) => one !== '');
  if (!history.includes(String(before))) history.push(String(before));
  result[annotation.history] = history.join(',');
  return result;
}

function copied(deployment: Frozen<Deployment>): Annotations {
  const all = Object.entries(deployment.metadata.annotations ?? {});
  return Object.fromEntries(all.filter(([key]) => !notCopied.has(key)));
}

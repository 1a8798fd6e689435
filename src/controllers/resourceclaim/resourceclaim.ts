// Owns the ResourceClaims of pods: made from templates, reserved for pods that got a node by hand, given back at the end (KEP-3063, KEP-4381).
import { type Frozen, keyOf, keyText, type KubeObject, type ObjectKey } from '../../api/meta.ts';
import type { Pod, PodResourceClaim } from '../../api/generated/core.v1.ts';
import type { ResourceClaim } from '../../api/generated/resource.v1.ts';
import { pods, resourceClaims, resourceClaimTemplates } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, reading, watching } from '../framework/controller.ts';
import { controllerReference, isControlledBy } from '../framework/owners.ts';
import { isDone, mostConsumers, planClaim, podClaimAnnotation, podOf, protectionFinalizer } from './plan.ts';

const claimIndex = 'claim';
const templateIndex = 'template';
const ownerIndex = 'owner';
/** Keys of claims, in a queue whose other keys are pods. */
const claimPrefix = 'claim:';

export function resourceClaimController(context: ControllerContext): Controller {
  const podCache = context.informers.informer(pods);
  const claims = context.informers.informer(resourceClaims);
  const templates = context.informers.informer(resourceClaimTemplates);
  const writer = context.informers.writer(resourceClaims);
  const podWriter = context.informers.writer(pods);
  const recorder = context.events.recorder('resource_claim');
  podCache.addIndex(claimIndex, (pod) => claimNames(pod).map((name) => `${pod.metadata.namespace}/${name}`));
  podCache.addIndex(templateIndex, (pod) =>
    (pod.spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) =>
      name ? [`${pod.metadata.namespace}/${name}`] : [],
    ),
  );
  claims.addIndex(ownerIndex, (claim) => [podOf(claim)?.uid ?? '']);

  const claimKey = ({ metadata }: Frozen<ResourceClaim>): ObjectKey => ({
    namespace: metadata.namespace ?? '',
    name: claimPrefix + metadata.name,
  });

  function* onPod(pod: Frozen<Pod>): Generator<ObjectKey> {
    if (!pod.spec.resourceClaims?.length && !pod.status?.extendedResourceClaimStatus) return;
    yield keyOf(pod);
    for (const name of claimNames(pod)) yield { namespace: pod.metadata.namespace ?? '', name: claimPrefix + name };
    for (const claim of claims.indexed(ownerIndex, pod.metadata.uid)) yield claimKey(claim);
  }

  function* onClaim(claim: Frozen<ResourceClaim>): Generator<ObjectKey> {
    yield claimKey(claim);
    for (const pod of podCache.indexed(claimIndex, keyText(keyOf(claim)))) yield keyOf(pod);
  }

  /** The pod of that uid; the server is asked before one counts as gone, since nothing brings its devices back. */
  async function podIsGone(namespace: string, name: string, uid: string, signal: AbortSignal): Promise<boolean> {
    const known = podCache.get({ namespace, name });
    if (known?.metadata.uid === uid) return isDone(known);
    try {
      const live = await context.client.resource(pods).get({ namespace, name }, { signal });
      return live.metadata.uid !== uid || isDone(live);
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  async function syncClaim(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const claim = claims.get(key);
    if (!claim) return;
    const { namespace } = key;
    const gone = new Set<string>();
    for (const { name, uid, resource, apiGroup = '' } of claim.status?.reservedFor ?? [])
      if (resource === 'pods' && apiGroup === '' && (await podIsGone(namespace, name, uid, signal))) gone.add(uid);
    const owner = podOf(claim);
    const ownerIsDone = owner !== undefined && (await podIsGone(namespace, owner.name, owner.uid, signal));
    const plan = planClaim(claim, (uid) => gone.has(uid), ownerIsDone);
    try {
      let now = claim;
      if (plan.status) now = await writer.updateStatus({ ...claim, status: plan.status } as ResourceClaim, { signal });
      if (plan.dropFinalizer) {
        const finalizers = now.metadata.finalizers?.filter((name) => name !== protectionFinalizer) ?? [];
        now = await writer.update({ ...now, metadata: { ...now.metadata, finalizers } } as ResourceClaim, { signal });
      }
      if (plan.remove) await writer.delete(key, { preconditions: { uid: claim.metadata.uid }, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function syncPod(pod: Frozen<Pod>, signal: AbortSignal): Promise<void> {
    const names = new Map<string, string>();
    for (const wanted of pod.spec.resourceClaims ?? []) {
      try {
        const name = wanted.resourceClaimName ?? (await claimFor(pod, wanted, signal));
        if (name !== undefined) names.set(wanted.name, name);
      } catch (error) {
        recorder.event(
          pod,
          'Warning',
          'FailedResourceClaimCreation',
          `PodResourceClaim ${wanted.name}: ${(error as Error).message}`,
        );
        throw error;
      }
    }
    await noteClaims(pod, names, signal);
    if (pod.spec.nodeName) for (const name of names.values()) await reserve(pod, name, signal);
  }

  /** The claim from the pod's template: the one that is there already, or a new one. */
  async function claimFor(
    pod: Frozen<Pod>,
    { name, resourceClaimTemplateName = '' }: Frozen<PodResourceClaim>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { namespace = '', uid } = pod.metadata;
    const isItsOwn = (claim: Frozen<ResourceClaim> | undefined) =>
      claim !== undefined && isControlledBy(claim as Frozen<KubeObject>, pod);
    const noted = pod.status?.resourceClaimStatuses?.find((status) => status.name === name);
    if (noted) {
      // Noted without a name: none is needed.
      if (noted.resourceClaimName === undefined) return undefined;
      const known = claims.get({ namespace, name: noted.resourceClaimName });
      if (isItsOwn(known)) return noted.resourceClaimName;
      if (known) throw new Error(`ResourceClaim ${noted.resourceClaimName} was not created for this pod`);
    }
    const made = claims
      .indexed(ownerIndex, uid)
      .find(({ metadata }) => metadata.annotations?.[podClaimAnnotation] === name);
    if (made) return made.metadata.name;
    const template = templates.get({ namespace, name: resourceClaimTemplateName });
    if (!template) throw new Error(`resource claim template "${resourceClaimTemplateName}" not found`);
    const { labels, annotations } = template.spec.metadata ?? {};
    const { blockOwnerDeletion: _, ...owner } = controllerReference(pods, pod);
    const claim = await writer.create(
      {
        metadata: {
          namespace,
          generateName: `${pod.metadata.name}-${name}-`,
          ...(labels && { labels }),
          annotations: { ...annotations, [podClaimAnnotation]: name },
          ownerReferences: [owner],
        },
        spec: template.spec.spec,
      } as never,
      { signal },
    );
    return claim.metadata.name;
  }

  async function noteClaims(pod: Frozen<Pod>, names: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
    const fromTemplates = (pod.spec.resourceClaims ?? []).filter(
      ({ name, resourceClaimTemplateName }) => resourceClaimTemplateName && names.has(name),
    );
    const wanted = fromTemplates.map(({ name }) => ({ name, resourceClaimName: names.get(name)! }));
    const known = new Map(pod.status?.resourceClaimStatuses?.map((one) => [one.name, one.resourceClaimName]));
    if (wanted.every(({ name, resourceClaimName }) => known.get(name) === resourceClaimName)) return;
    const { name, namespace, uid } = pod.metadata;
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, uid },
      status: { resourceClaimStatuses: wanted },
    };
    await podWriter.patch(
      keyOf(pod),
      { type: 'apply', body },
      { subresource: 'status', fieldManager: 'ResourceClaimController', force: true, signal },
    );
  }

  /** The scheduler reserves for those that it places; pods with a node from elsewhere are reserved for here. */
  async function reserve(pod: Frozen<Pod>, name: string, signal: AbortSignal): Promise<void> {
    const claim = claims.get({ namespace: pod.metadata.namespace ?? '', name });
    const reserved = claim?.status?.reservedFor ?? [];
    const { uid } = pod.metadata;
    if (!claim?.status?.allocation || reserved.some((one) => one.uid === uid) || isTerminating(claim)) return;
    if (reserved.length >= mostConsumers) throw new Error(`ResourceClaim ${name} is in use by too many pods`);
    const reservedFor = [...reserved, { resource: 'pods', name: pod.metadata.name, uid }];
    const next = { ...claim, status: { ...claim.status, reservedFor } };
    await writer.updateStatus(next as ResourceClaim, { signal });
  }

  return {
    name: 'resourceclaim-controller',
    watches: [
      watching(podCache, onPod),
      watching(claims, onClaim),
      watching(templates, (template) =>
        podCache.indexed(templateIndex, keyText(keyOf(template))).map((pod) => keyOf(pod)),
      ),
      reading(templates),
    ],
    async reconcile(key, signal) {
      try {
        if (key.name.startsWith(claimPrefix)) {
          await syncClaim({ ...key, name: key.name.slice(claimPrefix.length) }, signal);
        } else {
          const pod = podCache.get(key);
          if (pod && !isTerminating(pod) && !isDone(pod)) await syncPod(pod, signal);
        }
        return undefined;
      } catch (error) {
        // Somebody else wrote first: the newer version wakes this key again.
        if (isConflict(error)) return { afterMs: 100 };
        throw error;
      }
    },
  };
}

/** Names of the claims that a pod uses, those made from templates once they are noted. */
export function claimNames(pod: Frozen<Pod>): string[] {
  const noted = new Map(pod.status?.resourceClaimStatuses?.map((one) => [one.name, one.resourceClaimName]));
  const named = (pod.spec.resourceClaims ?? []).map(
    ({ name, resourceClaimName }) => resourceClaimName ?? noted.get(name),
  );
  return [...named, pod.status?.extendedResourceClaimStatus?.resourceClaimName].filter((name) => name !== undefined);
}

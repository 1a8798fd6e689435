// Owns VolumeBinding: finds or orders volumes for claims that wait for their first consumer, and keeps pods to where their volumes are.
import type { Clock } from '../../base/clock.ts';
import { deferred } from '../../base/task-group.ts';
import { labelPredicate } from '../../api/selector.ts';
import { thaw } from '../../api/meta.ts';
import type { PersistentVolume, PersistentVolumeClaim, TopologySelectorTerm } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { ResourceClient } from '../../client/client.ts';
import { refusal, type Refusal, type RefusedBy, type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import type { NodeInfo } from '../node-info.ts';
import { nodeSelectorMatcher } from '../node-selector.ts';
import type { PodInfo } from '../pod-info.ts';
import { whole } from '../resources.ts';
import { type Claim, claimClass, isBound, usesClaims, type Volume, type Volumes } from '../volumes.ts';

export interface VolumeBindingArgs {
  /** How long a pod waits for its volumes after the decision; default 600. */
  readonly bindTimeoutSeconds?: number;
}

export interface VolumeBindingDeps {
  readonly volumes: Volumes;
  readonly clock: Clock;
  readonly claimClient: ResourceClient<PersistentVolumeClaim>;
  readonly volumeClient: ResourceClient<PersistentVolume>;
}

const refusedConflict = unresolvable("node(s) didn't match PersistentVolume's node affinity");
const refusedBind = unresolvable("node(s) didn't find available persistent volumes to bind");
const refusedSpace = unresolvable('node(s) did not have enough free storage');
const refusedMissing = unresolvable('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');
const refusedImmediate = unresolvable('pod has unbound immediate PersistentVolumeClaims');

const selectedNode = 'volume.kubernetes.io/selected-node';
const boundByController = 'pv.kubernetes.io/bound-by-controller';
const noProvisioner = 'kubernetes.io/no-provisioner';

interface State {
  readonly bound: readonly Claim[];
  readonly waiting: readonly Claim[];
}

interface Plan {
  readonly bind: readonly { readonly claim: Claim; readonly volume: Volume }[];
  readonly provision: readonly Claim[];
}

const keyOf = ({ metadata }: Claim): string => `${metadata.namespace}/${metadata.name}`;

export function volumeBinding(deps: VolumeBindingDeps, args: VolumeBindingArgs = {}): SchedulerPlugin<State> {
  const { volumes } = deps;
  /** Volumes that were chosen for a claim but do not say so yet, by volume name. */
  const promised = new Map<string, string>();
  const plans = new Map<string, Plan>();
  const planFor = (state: State, node: NodeInfo): Plan | RefusedBy => planNode(state, node, volumes, promised);
  return {
    name: 'VolumeBinding',
    wakesOn: [
      { on: 'PersistentVolumeClaim' },
      { on: 'PersistentVolume' },
      { on: 'StorageClass' },
      { on: 'CSINode' },
      { on: 'CSIDriver' },
      { on: 'CSIStorageCapacity' },
      { on: 'NodeAdd' },
      { on: 'NodeLabel' },
    ],
    preFilter(pod) {
      if (!usesClaims(pod)) return { skip: true };
      const found = volumes.claims(pod);
      if ('refused' in found) return found;
      const bound = found.claims.filter(isBound);
      const waiting = found.claims.filter((claim) => !isBound(claim));
      const delayed = (claim: Claim) =>
        (claim.spec.volumeName ?? '') === '' &&
        volumes.class(claimClass(claim))?.volumeBindingMode === 'WaitForFirstConsumer';
      if (!waiting.every(delayed)) return { refused: refusedImmediate };
      return { state: { bound, waiting } };
    },
    filter(_pod, node, state) {
      const plan = planFor(state, node);
      return 'reasons' in plan ? plan : undefined;
    },
    reserve(pod, node, state) {
      if (state === undefined || state.waiting.length === 0) return undefined;
      const plan = planFor(state, node);
      if ('reasons' in plan) return plan;
      plans.set(pod.uid, plan);
      for (const { claim, volume } of plan.bind) promised.set(volume.metadata.name, keyOf(claim));
      return undefined;
    },
    unreserve(pod) {
      for (const { volume } of plans.get(pod.uid)?.bind ?? []) promised.delete(volume.metadata.name);
      plans.delete(pod.uid);
    },
    preBindNeeded: (pod) => plans.has(pod.uid),
    async preBind(pod, nodeName, signal) {
      const plan = plans.get(pod.uid);
      if (plan === undefined) return undefined;
      await Promise.all([
        ...plan.bind.map(({ claim, volume }) => claimVolume(claim, volume, deps, signal)),
        ...plan.provision.map((claim) => selectNode(claim, nodeName, deps, signal)),
      ]);
      const claims = [...plan.bind.map(({ claim }) => claim), ...plan.provision];
      return waitUntilBound(pod, claims, nodeName, deps, args.bindTimeoutSeconds ?? 600, signal);
    },
    postBind(pod) {
      for (const { volume } of plans.get(pod.uid)?.bind ?? []) promised.delete(volume.metadata.name);
      plans.delete(pod.uid);
    },
  };
}

function fits(volume: Volume, node: NodeInfo): boolean {
  const required = volume.spec.nodeAffinity?.required;
  return required === undefined || nodeSelectorMatcher(required)(node);
}

function planNode(
  { bound, waiting }: State,
  node: NodeInfo,
  volumes: Volumes,
  promised: ReadonlyMap<string, string>,
): Plan | RefusedBy {
  for (const claim of bound) {
    const volume = volumes.volume(claim.spec.volumeName!);
    if (volume === undefined) return refusedMissing;
    if (!fits(volume, node)) return refusedConflict;
  }
  const bind: { claim: Claim; volume: Volume }[] = [];
  const provision: Claim[] = [];
  const taken = new Set<string>();
  // The smallest claim first, so that it does not take what a bigger one needs.
  const ordered = waiting.toSorted((a, b) => requestOf(a) - requestOf(b));
  for (const claim of ordered) {
    const chosen = claim.metadata.annotations?.[selectedNode];
    if (chosen !== undefined && chosen !== node.name) return refusedBind;
    const volume = chosen === undefined ? findVolume(claim, node, volumes, promised, taken) : undefined;
    if (volume !== undefined) {
      taken.add(volume.metadata.name);
      bind.push({ claim, volume });
      continue;
    }
    const why = cannotProvision(claim, node, volumes);
    if (why !== undefined) return why;
    provision.push(claim);
  }
  return { bind, provision };
}

const requestOf = (claim: Claim): number => whole(claim.spec.resources?.requests?.['storage'] ?? '0');
const capacityOf = (volume: Volume): number => whole(volume.spec.capacity?.['storage'] ?? '0');

/** A volume that the claim names already, else the smallest that is big enough and free. */
function findVolume(
  claim: Claim,
  node: NodeInfo,
  volumes: Volumes,
  promised: ReadonlyMap<string, string>,
  taken: ReadonlySet<string>,
): Volume | undefined {
  const selector = claim.spec.selector && labelPredicate(claim.spec.selector);
  const size = requestOf(claim);
  let best: Volume | undefined;
  for (const volume of volumes.volumesOf(claimClass(claim))) {
    const { spec, metadata, status } = volume;
    const { name } = metadata;
    if (taken.has(name) || (promised.get(name) ?? keyOf(claim)) !== keyOf(claim)) continue;
    if (metadata.deletionTimestamp !== undefined || capacityOf(volume) < size || !fits(volume, node)) continue;
    if ((spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem')) continue;
    if ((spec.volumeAttributesClassName ?? '') !== (claim.spec.volumeAttributesClassName ?? '')) continue;
    if (!(claim.spec.accessModes ?? []).every((mode) => spec.accessModes?.includes(mode))) continue;
    const reference = spec.claimRef;
    if (reference !== undefined) {
      const mine =
        reference.namespace === claim.metadata.namespace &&
        reference.name === claim.metadata.name &&
        (!reference.uid || reference.uid === claim.metadata.uid);
      if (mine) return volume;
      continue;
    }
    if (status?.phase !== undefined && status.phase !== 'Available') continue;
    if (selector !== undefined && !selector(metadata.labels)) continue;
    if (best === undefined || capacityOf(volume) < capacityOf(best)) best = volume;
  }
  return best;
}

function cannotProvision(claim: Claim, node: NodeInfo, volumes: Volumes): RefusedBy | undefined {
  const storageClass = volumes.class(claimClass(claim));
  if (storageClass === undefined || storageClass.provisioner === '' || storageClass.provisioner === noProvisioner)
    return refusedBind;
  if (!inTopology(node, storageClass.allowedTopologies ?? [])) return refusedBind;
  if (volumes.driver(storageClass.provisioner)?.spec.storageCapacity !== true) return undefined;
  const size = requestOf(claim);
  const enough = volumes.capacities(storageClass.metadata.name).some((capacity) => {
    const limit = whole(capacity.maximumVolumeSize ?? capacity.capacity ?? '0');
    return limit >= size && capacity.nodeTopology !== undefined && labelPredicate(capacity.nodeTopology)(node.labels);
  });
  return enough ? undefined : refusedSpace;
}

function inTopology({ labels }: NodeInfo, terms: readonly Frozen<TopologySelectorTerm>[]): boolean {
  if (terms.length === 0) return true;
  return terms.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => labels[key] !== undefined && values.includes(labels[key])),
  );
}

/** Writes the claim into the volume; the volume controller does the rest. */
async function claimVolume(
  claim: Claim,
  volume: Volume,
  { volumeClient }: VolumeBindingDeps,
  signal: AbortSignal,
): Promise<void> {
  const next = thaw<PersistentVolume>(volume);
  const given = next.spec.claimRef !== undefined;
  next.spec.claimRef = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace: claim.metadata.namespace ?? '',
    name: claim.metadata.name,
    uid: claim.metadata.uid,
    resourceVersion: claim.metadata.resourceVersion,
  };
  // A volume that its owner reserved for the claim stays reserved when they part.
  if (!given) next.metadata.annotations = { ...next.metadata.annotations, [boundByController]: 'yes' };
  await volumeClient.update(next, { fieldManager: 'kube-scheduler', signal });
}

async function selectNode(
  claim: Claim,
  nodeName: string,
  { claimClient }: VolumeBindingDeps,
  signal: AbortSignal,
): Promise<void> {
  if (claim.metadata.annotations?.[selectedNode] === nodeName) return;
  const next = thaw<PersistentVolumeClaim>(claim);
  next.metadata.annotations = { ...next.metadata.annotations, [selectedNode]: nodeName };
  await claimClient.update(next, { fieldManager: 'kube-scheduler', signal });
}

/** Ends well when all are bound; with a refusal when time is up, or when a provisioner gave the node up. */
async function waitUntilBound(
  pod: PodInfo,
  claims: readonly Claim[],
  nodeName: string,
  { volumes, clock }: VolumeBindingDeps,
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<Refusal> {
  const { promise, resolve, reject } = deferred<Refusal>();
  const provisioned = new Set(
    claims.filter(({ metadata }) => metadata.annotations?.[selectedNode] === nodeName).map(keyOf),
  );
  const check = () => {
    const now = claims.map(({ metadata }) => volumes.claim(metadata.namespace ?? '', metadata.name));
    if (now.some((claim) => claim === undefined)) {
      resolve(refusal(`a claim of pod "${pod.name}" was deleted`));
      return;
    }
    if (now.every((claim) => isBound(claim!))) resolve(undefined);
    for (const claim of now) {
      const chosen = claim!.metadata.annotations?.[selectedNode];
      if (chosen === nodeName) provisioned.add(keyOf(claim!));
      else if (provisioned.has(keyOf(claim!)) && !isBound(claim!))
        resolve(refusal('provisioning failed: the node is no longer selected'));
    }
  };
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) throw signal.reason as Error;
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = clock.after(timeoutSeconds * 1000, () => resolve(refusal('binding volumes: timed out')));
  const mine = new Set(claims.map(({ metadata }) => metadata.uid));
  const stop = volumes.onClaim(({ metadata }) => {
    if (mine.has(metadata.uid)) check();
  });
  check();
  try {
    return await promise;
  } finally {
    stop();
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

// Owns turning what informers tell into the scheduler's cache, queue and wake-ups. Synchronous.
import type { Frozen } from '../api/meta.ts';
import type { Node, Pod } from '../api/generated/core.v1.ts';
import type { Informer } from '../client/informer.ts';
import type { SchedulerCache } from './cache.ts';
import type { EventName } from './framework/cluster-event.ts';
import type { Profile } from './framework/profile.ts';
import type { Nominator } from './nominator.ts';
import { PodInfo } from './pod-info.ts';
import type { SchedulingQueue } from './queue.ts';

export interface IntakeDeps {
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Told of pods that are gone, whatever state they were in. */
  readonly gone: (uid: string) => void;
}

const ended = (pod: Frozen<Pod>): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
const nodeOf = (pod: Frozen<Pod>): string => pod.spec.nodeName ?? '';

/** Returns how to stop listening. */
export function listen(deps: IntakeDeps, nodes: Informer<Node>, pods: Informer<Pod>): () => void {
  const stops = [nodes.on(nodeHandler(deps)), pods.on(podHandler(deps))];
  return () => {
    for (const stop of stops) stop();
  };
}

function nodeHandler({ cache, queue }: IntakeDeps) {
  return {
    added(node: Frozen<Node>) {
      cache.setNode(node);
      queue.happened({ name: 'NodeAdd', node });
    },
    updated(node: Frozen<Node>, nodeBefore: Frozen<Node>) {
      // Most updates are heartbeats, which change nothing that placing looks at.
      const changed = nodeChanges(node, nodeBefore);
      const heartbeat = changed.length === 0 && same(node.status?.images, nodeBefore.status?.images);
      if (!heartbeat) cache.setNode(node);
      for (const name of changed) queue.happened({ name, node, nodeBefore });
    },
    deleted(node: Frozen<Node>) {
      cache.removeNode(node.metadata.name);
    },
  };
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function nodeChanges(node: Frozen<Node>, before: Frozen<Node>): EventName[] {
  const changes: EventName[] = [];
  if (!same(node.status?.allocatable, before.status?.allocatable)) changes.push('NodeAllocatable');
  if (!same(node.metadata.labels, before.metadata.labels)) changes.push('NodeLabel');
  if (!same(node.spec.taints, before.spec.taints) || node.spec.unschedulable !== before.spec.unschedulable)
    changes.push('NodeTaint');
  if (!same(node.metadata.annotations, before.metadata.annotations)) changes.push('NodeAnnotation');
  const states = (of: Frozen<Node>) => (of.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`);
  if (!same(states(node), states(before))) changes.push('NodeCondition');
  return changes;
}

function podHandler(deps: IntakeDeps) {
  const { cache, queue, nominator, profiles } = deps;
  const remove = (pod: Frozen<Pod>) => {
    const uid = pod.metadata.uid;
    const promised = nominator.nodeOf(uid) !== undefined;
    nominator.remove(uid);
    queue.remove(uid);
    deps.gone(uid);
    const info = nodeOf(pod) === '' ? undefined : cache.removePod(uid);
    if (info !== undefined) queue.happened({ name: 'AssignedPodDelete', pod: info });
    else if (promised) queue.happened({ name: 'AssignedPodDelete', pod: new PodInfo(pod) });
  };
  const assigned = (pod: Frozen<Pod>, before: Frozen<Pod> | undefined) => {
    const uid = pod.metadata.uid;
    const known = cache.podOf(uid);
    const wasThere = before !== undefined && nodeOf(before) !== '';
    // A status update changes nothing that counts, but for resizes and the start of termination.
    if (known !== undefined && wasThere && !placingChanged(pod, before)) return;
    nominator.remove(uid);
    queue.remove(uid);
    const info = new PodInfo(pod);
    cache.setPod(info, nodeOf(pod));
    if (!wasThere) {
      queue.happened({ name: 'AssignedPodAdd', pod: info });
      return;
    }
    if (!same(pod.metadata.labels, before.metadata.labels))
      queue.happened({ name: 'AssignedPodLabel', pod: info, podBefore: before });
    if (known !== undefined && shrank(known, info))
      queue.happened({ name: 'AssignedPodScaleDown', pod: info, podBefore: before });
    if (info.terminating && known?.terminating === false)
      queue.happened({ name: 'AssignedPodLabel', pod: info, podBefore: before });
  };
  const waiting = (pod: Frozen<Pod>, before: Frozen<Pod> | undefined) => {
    const profile = profiles.get(pod.spec.schedulerName ?? 'default-scheduler');
    if (profile === undefined || cache.isAssumed(pod.metadata.uid)) return;
    const nominated = pod.status?.nominatedNodeName ?? '';
    const nominatedBefore = before?.status?.nominatedNodeName ?? '';
    if (nominated !== nominatedBefore) nominator.nominate(new PodInfo(pod), nominated);
    if (before === undefined || !queue.has(pod.metadata.uid)) queue.add(pod, profile);
    else queue.update(pod, before);
  };
  const place = (pod: Frozen<Pod>, before?: Frozen<Pod>) => {
    if (ended(pod)) remove(pod);
    else if (nodeOf(pod) !== '') assigned(pod, before);
    else waiting(pod, before);
  };
  return { added: place, updated: place, deleted: remove };
}

function placingChanged(pod: Frozen<Pod>, before: Frozen<Pod>): boolean {
  if (pod.metadata.deletionTimestamp !== before.metadata.deletionTimestamp) return true;
  if (!same(pod.metadata.labels, before.metadata.labels) || !same(pod.spec, before.spec)) return true;
  const held = (of: Frozen<Pod>) =>
    [...(of.status?.containerStatuses ?? []), ...(of.status?.initContainerStatuses ?? [])].map((status) => [
      status.resources?.requests,
      status.allocatedResources,
    ]);
  const resize = (of: Frozen<Pod>) => of.status?.conditions?.find(({ type }) => type === 'PodResizePending')?.reason;
  return resize(pod) !== resize(before) || !same(held(pod), held(before));
}

function shrank(before: PodInfo, after: PodInfo): boolean {
  const less = (name: string) => after.requests.get(name) < before.requests.get(name);
  return (
    less('cpu') ||
    less('memory') ||
    less('ephemeral-storage') ||
    [...(before.requests.scalars?.keys() ?? [])].some(less)
  );
}

// Owns deleting pods from nodes whose NoExecute taints they do not, or no longer, tolerate.
import { toleratedSeconds } from '../../api/judge/taints.ts';
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import { nodes, pods } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { type Again, type Controller, type ControllerContext, watching } from '../framework/controller.ts';
import { disruptionPatch, endPod } from '../framework/disruption-target.ts';
import { isEqual } from '../framework/equality.ts';

const nodeIndex = 'node';
const why = { reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' };

export function taintEvictionController(context: ControllerContext): Controller {
  const { clock } = context;
  const podCache = context.informers.informer(pods);
  const nodeCache = context.informers.informer(nodes);
  const client = context.informers.writer(pods);
  const recorder = context.events.recorder('taint-eviction-controller');
  /** Pod's uid → since when it is only tolerated for a time. */
  const startedMs = new Map<string, number>();
  podCache.addIndex(nodeIndex, (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []));

  function cancel(pod: Frozen<Pod>): void {
    if (startedMs.delete(pod.metadata.uid))
      recorder.event(
        pod,
        'Normal',
        'TaintManagerEviction',
        `Cancelling deletion of Pod ${pod.metadata.namespace}/${pod.metadata.name}`,
      );
  }

  function* onNode(node: Frozen<Node>, previous?: Frozen<Node>): Generator<ObjectKey> {
    if (previous ? isEqual(executing(previous), executing(node)) : executing(node).length === 0) return;
    for (const pod of podCache.indexed(nodeIndex, node.metadata.name)) yield keyOf(pod);
  }

  function* onPod(pod: Frozen<Pod>, previous?: Frozen<Pod>): Generator<ObjectKey> {
    if (previous && pod.spec === previous.spec) return;
    if (isTerminating(pod) || podCache.get(keyOf(pod)) === undefined) startedMs.delete(pod.metadata.uid);
    else if (pod.spec.nodeName) yield keyOf(pod);
  }

  return {
    name: 'taint-eviction-controller',
    workers: 8,
    watches: [watching(nodeCache, onNode), watching(podCache, onPod)],
    async reconcile(key, signal): Promise<Again | undefined> {
      const pod = podCache.get(key);
      if (!pod || isTerminating(pod) || !pod.spec.nodeName) return undefined;
      const node = nodeCache.get({ namespace: '', name: pod.spec.nodeName });
      const taints = node ? executing(node) : [];
      const seconds = toleratedSeconds(taints, pod.spec.tolerations) ?? 0;
      if (seconds === Number.POSITIVE_INFINITY) {
        cancel(pod);
        return undefined;
      }
      const started = startedMs.get(pod.metadata.uid) ?? clock.monotonic();
      startedMs.set(pod.metadata.uid, started);
      const leftMs = started + seconds * 1000 - clock.monotonic();
      if (leftMs > 0) return { afterMs: leftMs };
      startedMs.delete(pod.metadata.uid);
      recorder.event(
        pod,
        'Normal',
        'TaintManagerEviction',
        `Marking for deletion Pod ${pod.metadata.namespace}/${pod.metadata.name}`,
      );
      await endPod(client, pod, disruptionPatch(pod, why, undefined, clock.now()), undefined, signal);
      return undefined;
    },
  };
}

function executing(node: Frozen<Node>) {
  return (node.spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
}

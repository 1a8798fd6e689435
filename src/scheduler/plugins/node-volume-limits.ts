// Owns NodeVolumeLimits: a CSI driver attaches only so many volumes to a node.
import { refusal, type SchedulerPlugin } from '../framework/plugin.ts';
import type { PodInfo } from '../pod-info.ts';
import { usesClaims, type Volumes } from '../volumes.ts';
import { claimOf } from '../node-info.ts';

const refused = refusal('node(s) exceed max volume count');

/** By driver, the handles of volumes; a claim that has no volume yet stands for one. */
type Attached = Map<string, Set<string>>;

export function nodeVolumeLimits(volumes: Volumes): SchedulerPlugin<Attached> {
  const collect = (pod: PodInfo, into: Attached) => {
    for (const volume of pod.pod.spec.volumes ?? []) {
      const key = claimOf(pod, volume);
      if (key === undefined) continue;
      const claim = volumes.claim(pod.namespace, key.slice(pod.namespace.length + 1));
      if (claim === undefined) continue;
      const bound = claim.spec.volumeName ? volumes.volume(claim.spec.volumeName) : undefined;
      const csi = bound?.spec.csi;
      const driver =
        csi?.driver ??
        (bound === undefined ? volumes.class(claim.spec.storageClassName ?? '')?.provisioner : undefined);
      if (driver === undefined) continue;
      let handles = into.get(driver);
      if (handles === undefined) into.set(driver, (handles = new Set()));
      handles.add(csi?.volumeHandle ?? key);
    }
  };
  return {
    name: 'NodeVolumeLimits',
    wakesOn: [{ on: 'CSINode' }, { on: 'AssignedPodDelete' }, { on: 'PersistentVolumeClaim' }, { on: 'NodeAdd' }],
    preFilter(pod) {
      if (!usesClaims(pod)) return { skip: true };
      const state: Attached = new Map();
      collect(pod, state);
      return state.size === 0 ? { skip: true } : { state };
    },
    filter(_pod, node, wanted) {
      const drivers = volumes.csiNode(node.name)?.spec.drivers ?? [];
      const limits = new Map(drivers.map(({ name, allocatable }) => [name, allocatable?.count]));
      let present: Attached | undefined;
      for (const [driver, handles] of wanted) {
        const limit = limits.get(driver);
        if (limit === undefined) continue;
        if (present === undefined) {
          present = new Map();
          for (const other of node.pods.values()) if (usesClaims(other)) collect(other, present);
        }
        const held = present.get(driver) ?? new Set();
        let fresh = 0;
        for (const handle of handles) if (!held.has(handle)) fresh++;
        if (fresh > 0 && held.size + fresh > limit) return refused;
      }
      return undefined;
    },
  };
}

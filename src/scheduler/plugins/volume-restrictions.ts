// Owns VolumeRestrictions: ReadWriteOncePod claims have one pod at a time; some disks cannot be mounted twice on a node.
import type { Frozen } from '../../api/meta.ts';
import type { Volume as PodVolume } from '../../api/generated/core.v1.ts';
import { refusal, type SchedulerPlugin } from '../framework/plugin.ts';
import { claimOf } from '../node-info.ts';
import type { PodInfo } from '../pod-info.ts';
import { usesClaims, type Volumes } from '../volumes.ts';

const refusedOnce = refusal(
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
);
const refusedDisk = refusal('node(s) had no available disk');

interface State {
  readonly exclusive: ReadonlySet<string>;
  /** Uses of these claims by other pods, anywhere. */
  users: number;
  readonly disks: readonly Disk[];
}

interface Disk {
  readonly id: string;
  readonly readOnly: boolean;
}

/** Disks that only read-only users may share. */
function diskOf({ gcePersistentDisk, awsElasticBlockStore, iscsi, rbd }: Frozen<PodVolume>): Disk[] {
  if (gcePersistentDisk)
    return [{ id: `gce/${gcePersistentDisk.pdName}`, readOnly: gcePersistentDisk.readOnly === true }];
  if (awsElasticBlockStore) return [{ id: `aws/${awsElasticBlockStore.volumeID}`, readOnly: false }];
  if (iscsi) return [{ id: `iscsi/${iscsi.iqn}`, readOnly: iscsi.readOnly === true }];
  if (rbd)
    return [
      { id: `rbd/${[...rbd.monitors].toSorted().join()}/${rbd.pool}/${rbd.image}`, readOnly: rbd.readOnly === true },
    ];
  return [];
}

const disksOf = ({ pod }: PodInfo): Disk[] => (pod.spec.volumes ?? []).flatMap(diskOf);

export function volumeRestrictions(volumes: Volumes): SchedulerPlugin<State> {
  const uses = (state: State, other: PodInfo): number =>
    (other.pod.spec.volumes ?? []).filter((volume) => state.exclusive.has(claimOf(other, volume) ?? '')).length;
  return {
    name: 'VolumeRestrictions',
    wakesOn: [{ on: 'AssignedPodDelete' }, { on: 'NodeAdd' }, { on: 'PersistentVolumeClaim' }, { on: 'PodChanged' }],
    preFilter(pod, all) {
      const disks = disksOf(pod);
      if (!usesClaims(pod))
        return disks.length === 0 ? { skip: true } : { state: { exclusive: new Set(), users: 0, disks } };
      const found = volumes.claims(pod);
      if ('refused' in found) return found;
      const exclusive = new Set(
        found.claims
          .filter(({ spec }) => spec.accessModes?.includes('ReadWriteOncePod'))
          .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
      );
      if (exclusive.size === 0 && disks.length === 0) return { skip: true };
      let users = 0;
      if (exclusive.size > 0)
        for (const node of all.nodes) for (const claim of exclusive) users += node.claims.get(claim) ?? 0;
      return { state: { exclusive, users, disks } };
    },
    filter(_pod, node, { users, disks }) {
      if (users > 0) return refusedOnce;
      if (disks.length === 0) return undefined;
      for (const other of node.pods.values())
        for (const held of disksOf(other))
          if (disks.some(({ id, readOnly }) => id === held.id && !(readOnly && held.readOnly))) return refusedDisk;
      return undefined;
    },
    cloneState: (state) => ({ ...state }),
    addPod: (state, _pod, other) => {
      state.users += uses(state, other);
    },
    removePod: (state, _pod, other) => {
      state.users -= uses(state, other);
    },
  };
}

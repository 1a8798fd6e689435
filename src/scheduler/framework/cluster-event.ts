// Owns the vocabulary of what happens in the cluster and may make a refused pod schedulable (queueing hints, KEP-4247).
import type { Frozen } from '../../api/meta.ts';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import type { PodInfo } from '../pod-info.ts';

export type EventName =
  | 'NodeAdd'
  | 'NodeAllocatable'
  | 'NodeLabel'
  | 'NodeTaint'
  | 'NodeCondition'
  | 'NodeAnnotation'
  /** A pod that holds a node's room: bound by someone, changed in its labels, shrunk, or gone. */
  | 'AssignedPodAdd'
  | 'AssignedPodLabel'
  | 'AssignedPodScaleDown'
  | 'AssignedPodDelete'
  /** The waiting pod itself. */
  | 'PodChanged'
  | 'NamespaceLabel'
  | 'PersistentVolumeClaim'
  | 'PersistentVolume'
  | 'StorageClass'
  | 'CSINode'
  | 'CSIDriver'
  | 'CSIStorageCapacity'
  | 'VolumeAttachment'
  | 'ResourceClaim'
  | 'ResourceSlice'
  | 'DeviceClass'
  | 'Service';

/** Something that happened. `node` and `pod` are set for the events that are about them, with the state before it if there was one. */
export interface Happening {
  readonly name: EventName;
  readonly node?: Frozen<Node>;
  readonly nodeBefore?: Frozen<Node>;
  readonly pod?: PodInfo;
  readonly podBefore?: Frozen<Pod>;
  /** Any other object, for hints that want to look. */
  readonly object?: unknown;
}

/** What a plugin wants to hear. `helps` refines it for one waiting pod: false keeps the pod where it is. */
export interface ClusterEvent {
  readonly on: EventName;
  helps?(waiting: PodInfo, what: Happening): boolean;
}

export function wakes(...names: EventName[]): ClusterEvent[] {
  return names.map((on) => ({ on }));
}

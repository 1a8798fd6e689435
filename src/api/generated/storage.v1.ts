// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as api_resource from './api.resource.ts';
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';

export interface CSIDriver {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'CSIDriver';
  metadata: meta_v1.ObjectMeta;
  spec: CSIDriverSpec;
}

export interface CSIDriverList {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'CSIDriverList';
  metadata: meta_v1.ListMeta;
  items: CSIDriver[];
}

export interface CSIDriverSpec {
  attachRequired?: boolean;
  podInfoOnMount?: boolean;
  volumeLifecycleModes?: VolumeLifecycleMode[];
  storageCapacity?: boolean;
  fsGroupPolicy?: FSGroupPolicy;
  tokenRequests?: TokenRequest[];
  requiresRepublish?: boolean;
  seLinuxMount?: boolean;
  nodeAllocatableUpdatePeriodSeconds?: number;
  serviceAccountTokenInSecrets?: boolean;
  preventPodSchedulingIfMissing?: boolean;
}

export interface CSINode {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'CSINode';
  metadata: meta_v1.ObjectMeta;
  spec: CSINodeSpec;
  status: CSINodeStatus;
}

export interface CSINodeDriver {
  name: string;
  nodeID: string;
  topologyKeys: string[];
  allocatable?: VolumeNodeResources;
}

export interface CSINodeList {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'CSINodeList';
  metadata: meta_v1.ListMeta;
  items: CSINode[];
}

export interface CSINodeSpec {
  drivers: CSINodeDriver[];
}

export interface CSINodeStatus {
  storageHealth?: StorageHealth[];
}

export interface CSIStorageCapacity {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'CSIStorageCapacity';
  metadata: meta_v1.ObjectMeta;
  nodeTopology?: meta_v1.LabelSelector;
  storageClassName: string;
  capacity?: api_resource.Quantity;
  maximumVolumeSize?: api_resource.Quantity;
}

export interface CSIStorageCapacityList {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'CSIStorageCapacityList';
  metadata: meta_v1.ListMeta;
  items: CSIStorageCapacity[];
}

export type FSGroupPolicy = string;

export interface StorageClass {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'StorageClass';
  metadata: meta_v1.ObjectMeta;
  provisioner: string;
  parameters?: Record<string, string>;
  reclaimPolicy?: core_v1.PersistentVolumeReclaimPolicy;
  mountOptions?: string[];
  allowVolumeExpansion?: boolean;
  volumeBindingMode?: VolumeBindingMode;
  allowedTopologies?: core_v1.TopologySelectorTerm[];
}

export interface StorageClassList {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'StorageClassList';
  metadata: meta_v1.ListMeta;
  items: StorageClass[];
}

export interface StorageHealth {
  name: string;
  healthConditions?: StorageHealthCondition[];
}

export interface StorageHealthCondition {
  status: StorageHealthStatusType;
  reason: string;
  message?: string;
  accessMode?: core_v1.PersistentVolumeAccessMode;
  volumeMode?: core_v1.PersistentVolumeMode;
  lastTransitionTime?: meta_v1.Time;
}

export type StorageHealthStatusType = string;

export interface TokenRequest {
  audience: string;
  expirationSeconds?: number;
}

export interface VolumeAttachment {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'VolumeAttachment';
  metadata: meta_v1.ObjectMeta;
  spec: VolumeAttachmentSpec;
  status: VolumeAttachmentStatus;
}

export interface VolumeAttachmentList {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'VolumeAttachmentList';
  metadata: meta_v1.ListMeta;
  items: VolumeAttachment[];
}

export interface VolumeAttachmentSource {
  persistentVolumeName?: string;
  inlineVolumeSpec?: core_v1.PersistentVolumeSpec;
}

export interface VolumeAttachmentSpec {
  attacher: string;
  source: VolumeAttachmentSource;
  nodeName: string;
}

export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: Record<string, string>;
  attachError?: VolumeError;
  detachError?: VolumeError;
}

export interface VolumeAttributesClass {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'VolumeAttributesClass';
  metadata: meta_v1.ObjectMeta;
  driverName: string;
  parameters?: Record<string, string>;
}

export interface VolumeAttributesClassList {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'VolumeAttributesClassList';
  metadata: meta_v1.ListMeta;
  items: VolumeAttributesClass[];
}

export type VolumeBindingMode = string;

export interface VolumeError {
  time?: meta_v1.Time;
  message?: string;
  errorCode?: number;
}

export type VolumeLifecycleMode = string;

export interface VolumeNodeResources {
  count?: number;
}

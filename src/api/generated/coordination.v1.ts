// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export type CoordinatedLeaseStrategy = string;

export interface Lease {
  apiVersion: 'coordination.k8s.io/v1';
  kind: 'Lease';
  metadata: meta_v1.ObjectMeta;
  spec: LeaseSpec;
}

export interface LeaseList {
  apiVersion: 'coordination.k8s.io/v1';
  kind: 'LeaseList';
  metadata: meta_v1.ListMeta;
  items: Lease[];
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: meta_v1.MicroTime;
  renewTime?: meta_v1.MicroTime;
  leaseTransitions?: number;
  strategy?: CoordinatedLeaseStrategy;
  preferredHolder?: string;
}

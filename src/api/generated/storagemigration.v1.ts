// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export interface StorageVersionMigration {
  apiVersion: 'storagemigration.k8s.io/v1';
  kind: 'StorageVersionMigration';
  metadata: meta_v1.ObjectMeta;
  spec: StorageVersionMigrationSpec;
  status: StorageVersionMigrationStatus;
}

export interface StorageVersionMigrationList {
  apiVersion: 'storagemigration.k8s.io/v1';
  kind: 'StorageVersionMigrationList';
  metadata: meta_v1.ListMeta;
  items: StorageVersionMigration[];
}

export interface StorageVersionMigrationSpec {
  resource: meta_v1.GroupResource;
}

export interface StorageVersionMigrationStatus {
  conditions?: meta_v1.Condition[];
  resourceVersion?: string;
}

// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export interface AggregationRule {
  clusterRoleSelectors?: meta_v1.LabelSelector[];
}

export interface ClusterRole {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'ClusterRole';
  metadata: meta_v1.ObjectMeta;
  rules: PolicyRule[];
  aggregationRule?: AggregationRule;
}

export interface ClusterRoleBinding {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'ClusterRoleBinding';
  metadata: meta_v1.ObjectMeta;
  subjects?: Subject[];
  roleRef: RoleRef;
}

export interface ClusterRoleBindingList {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'ClusterRoleBindingList';
  metadata: meta_v1.ListMeta;
  items: ClusterRoleBinding[];
}

export interface ClusterRoleList {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'ClusterRoleList';
  metadata: meta_v1.ListMeta;
  items: ClusterRole[];
}

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface Role {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'Role';
  metadata: meta_v1.ObjectMeta;
  rules: PolicyRule[];
}

export interface RoleBinding {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'RoleBinding';
  metadata: meta_v1.ObjectMeta;
  subjects?: Subject[];
  roleRef: RoleRef;
}

export interface RoleBindingList {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'RoleBindingList';
  metadata: meta_v1.ListMeta;
  items: RoleBinding[];
}

export interface RoleList {
  apiVersion: 'rbac.authorization.k8s.io/v1';
  kind: 'RoleList';
  metadata: meta_v1.ListMeta;
  items: Role[];
}

export interface RoleRef {
  apiGroup: string;
  kind: string;
  name: string;
}

export interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}

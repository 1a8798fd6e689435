// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export interface APIService {
  apiVersion: 'apiregistration.k8s.io/v1';
  kind: 'APIService';
  metadata: meta_v1.ObjectMeta;
  spec: APIServiceSpec;
  status: APIServiceStatus;
}

export interface APIServiceCondition {
  type: APIServiceConditionType;
  status: ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
}

export type APIServiceConditionType = string;

export interface APIServiceList {
  apiVersion: 'apiregistration.k8s.io/v1';
  kind: 'APIServiceList';
  metadata: meta_v1.ListMeta;
  items: APIService[];
}

export interface APIServiceSpec {
  service?: ServiceReference;
  group?: string;
  version?: string;
  insecureSkipTLSVerify?: boolean;
  caBundle?: string;
  groupPriorityMinimum: number;
  versionPriority: number;
}

export interface APIServiceStatus {
  conditions?: APIServiceCondition[];
}

export type ConditionStatus = string;

export interface ServiceReference {
  namespace?: string;
  name?: string;
  port?: number;
}

// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as authentication_v1 from './authentication.v1.ts';
import type * as meta_v1 from './meta.v1.ts';
import type * as runtime from './runtime.ts';
import type * as types from './types.ts';

export interface AuthenticationMetadata {
  impersonationConstraint?: string;
}

export interface Event {
  apiVersion: 'audit.k8s.io/v1';
  kind: 'Event';
  level: Level;
  auditID: types.UID;
  stage: Stage;
  requestURI: string;
  verb: string;
  user: authentication_v1.UserInfo;
  impersonatedUser?: authentication_v1.UserInfo;
  authenticationMetadata?: AuthenticationMetadata;
  sourceIPs?: string[];
  userAgent?: string;
  objectRef?: ObjectReference;
  responseStatus?: meta_v1.Status;
  requestObject?: runtime.Unknown;
  responseObject?: runtime.Unknown;
  requestReceivedTimestamp: meta_v1.MicroTime;
  stageTimestamp: meta_v1.MicroTime;
  annotations?: Record<string, string>;
}

export interface EventList {
  apiVersion: 'audit.k8s.io/v1';
  kind: 'EventList';
  metadata: meta_v1.ListMeta;
  items: Event[];
}

export interface GroupResources {
  group?: string;
  resources?: string[];
  resourceNames?: string[];
}

export type Level = string;

export interface ObjectReference {
  resource?: string;
  namespace?: string;
  name?: string;
  uid?: types.UID;
  apiGroup?: string;
  apiVersion?: string;
  resourceVersion?: string;
  subresource?: string;
}

export interface Policy {
  apiVersion: 'audit.k8s.io/v1';
  kind: 'Policy';
  metadata: meta_v1.ObjectMeta;
  rules: PolicyRule[];
  omitStages?: Stage[];
  omitManagedFields?: boolean;
}

export interface PolicyList {
  apiVersion: 'audit.k8s.io/v1';
  kind: 'PolicyList';
  metadata: meta_v1.ListMeta;
  items: Policy[];
}

export interface PolicyRule {
  level: Level;
  users?: string[];
  userGroups?: string[];
  verbs?: string[];
  resources?: GroupResources[];
  namespaces?: string[];
  nonResourceURLs?: string[];
  omitStages?: Stage[];
  omitManagedFields?: boolean;
}

export type Stage = string;

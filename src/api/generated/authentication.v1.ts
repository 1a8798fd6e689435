// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';
import type * as types from './types.ts';

export type AttestationValue = string[];

export interface BoundObjectReference {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: types.UID;
}

export type ExtraValue = string[];

export interface SelfSubjectReview {
  apiVersion: 'authentication.k8s.io/v1';
  kind: 'SelfSubjectReview';
  metadata: meta_v1.ObjectMeta;
  status: SelfSubjectReviewStatus;
}

export interface SelfSubjectReviewStatus {
  userInfo?: UserInfo;
}

export interface TokenRequest {
  apiVersion: 'authentication.k8s.io/v1';
  kind: 'TokenRequest';
  metadata: meta_v1.ObjectMeta;
  spec: TokenRequestSpec;
  status: TokenRequestStatus;
}

export interface TokenRequestSpec {
  audiences: string[];
  expirationSeconds: number;
  boundObjectRef: BoundObjectReference;
  attestations?: Record<string, AttestationValue>;
}

export interface TokenRequestStatus {
  token: string;
  expirationTimestamp: meta_v1.Time;
}

export interface TokenReview {
  apiVersion: 'authentication.k8s.io/v1';
  kind: 'TokenReview';
  metadata: meta_v1.ObjectMeta;
  spec: TokenReviewSpec;
  status: TokenReviewStatus;
}

export interface TokenReviewSpec {
  token?: string;
  audiences?: string[];
}

export interface TokenReviewStatus {
  authenticated?: boolean;
  user?: UserInfo;
  audiences?: string[];
  error?: string;
}

export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, ExtraValue>;
}

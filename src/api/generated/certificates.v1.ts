// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';
import type * as types from './types.ts';

export interface CertificateSigningRequest {
  apiVersion: 'certificates.k8s.io/v1';
  kind: 'CertificateSigningRequest';
  metadata: meta_v1.ObjectMeta;
  spec: CertificateSigningRequestSpec;
  status: CertificateSigningRequestStatus;
}

export interface CertificateSigningRequestCondition {
  type: RequestConditionType;
  status: core_v1.ConditionStatus;
  reason?: string;
  message?: string;
  lastUpdateTime?: meta_v1.Time;
  lastTransitionTime?: meta_v1.Time;
}

export interface CertificateSigningRequestList {
  apiVersion: 'certificates.k8s.io/v1';
  kind: 'CertificateSigningRequestList';
  metadata: meta_v1.ListMeta;
  items: CertificateSigningRequest[];
}

export interface CertificateSigningRequestSpec {
  request: string;
  signerName: string;
  expirationSeconds?: number;
  usages?: KeyUsage[];
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, ExtraValue>;
}

export interface CertificateSigningRequestStatus {
  conditions?: CertificateSigningRequestCondition[];
  certificate?: string;
}

export interface ClusterTrustBundle {
  apiVersion: 'certificates.k8s.io/v1';
  kind: 'ClusterTrustBundle';
  metadata: meta_v1.ObjectMeta;
  spec: ClusterTrustBundleSpec;
}

export interface ClusterTrustBundleList {
  apiVersion: 'certificates.k8s.io/v1';
  kind: 'ClusterTrustBundleList';
  metadata: meta_v1.ListMeta;
  items: ClusterTrustBundle[];
}

export interface ClusterTrustBundleSpec {
  signerName?: string;
  trustBundle: string;
}

export type ExtraValue = string[];

export type KeyUsage = string;

export interface PodCertificateRequest {
  apiVersion: 'certificates.k8s.io/v1';
  kind: 'PodCertificateRequest';
  metadata: meta_v1.ObjectMeta;
  spec: PodCertificateRequestSpec;
  status: PodCertificateRequestStatus;
}

export interface PodCertificateRequestList {
  apiVersion: 'certificates.k8s.io/v1';
  kind: 'PodCertificateRequestList';
  metadata: meta_v1.ListMeta;
  items: PodCertificateRequest[];
}

export interface PodCertificateRequestSpec {
  signerName: string;
  podName: string;
  podUID: types.UID;
  serviceAccountName: string;
  serviceAccountUID: types.UID;
  nodeName: types.NodeName;
  nodeUID: types.UID;
  maxExpirationSeconds?: number;
  stubPKCS10Request: string;
  unverifiedUserAnnotations?: Record<string, string>;
}

export interface PodCertificateRequestStatus {
  conditions?: meta_v1.Condition[];
  certificateChain?: string;
  notBefore?: meta_v1.Time;
  beginRefreshAt?: meta_v1.Time;
  notAfter?: meta_v1.Time;
}

export type RequestConditionType = string;

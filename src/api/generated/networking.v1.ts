// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';
import type * as util_intstr from './util.intstr.ts';

export interface HTTPIngressPath {
  path?: string;
  pathType: PathType;
  backend: IngressBackend;
}

export interface HTTPIngressRuleValue {
  paths: HTTPIngressPath[];
}

export interface IPAddress {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'IPAddress';
  metadata: meta_v1.ObjectMeta;
  spec: IPAddressSpec;
}

export interface IPAddressList {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'IPAddressList';
  metadata: meta_v1.ListMeta;
  items: IPAddress[];
}

export interface IPAddressSpec {
  parentRef?: ParentReference;
}

export interface IPBlock {
  cidr: string;
  except?: string[];
}

export interface Ingress {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'Ingress';
  metadata: meta_v1.ObjectMeta;
  spec: IngressSpec;
  status: IngressStatus;
}

export interface IngressBackend {
  service?: IngressServiceBackend;
  resource?: core_v1.TypedLocalObjectReference;
}

export interface IngressClass {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'IngressClass';
  metadata: meta_v1.ObjectMeta;
  spec: IngressClassSpec;
}

export interface IngressClassList {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'IngressClassList';
  metadata: meta_v1.ListMeta;
  items: IngressClass[];
}

export interface IngressClassParametersReference {
  apiGroup?: string;
  kind: string;
  name: string;
  scope: string;
  namespace?: string;
}

export interface IngressClassSpec {
  controller?: string;
  parameters?: IngressClassParametersReference;
}

export interface IngressList {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'IngressList';
  metadata: meta_v1.ListMeta;
  items: Ingress[];
}

export interface IngressLoadBalancerIngress {
  ip?: string;
  hostname?: string;
  ports?: IngressPortStatus[];
}

export interface IngressLoadBalancerStatus {
  ingress?: IngressLoadBalancerIngress[];
}

export interface IngressPortStatus {
  port: number;
  protocol: core_v1.Protocol;
  error?: string;
}

export interface IngressRule {
  host?: string;
  http?: HTTPIngressRuleValue;
}

export interface IngressRuleValue {
  http?: HTTPIngressRuleValue;
}

export interface IngressServiceBackend {
  name: string;
  port?: ServiceBackendPort;
}

export interface IngressSpec {
  ingressClassName?: string;
  defaultBackend?: IngressBackend;
  tls?: IngressTLS[];
  rules?: IngressRule[];
}

export interface IngressStatus {
  loadBalancer?: IngressLoadBalancerStatus;
}

export interface IngressTLS {
  hosts?: string[];
  secretName?: string;
}

export interface NetworkPolicy {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'NetworkPolicy';
  metadata: meta_v1.ObjectMeta;
  spec: NetworkPolicySpec;
}

export interface NetworkPolicyEgressRule {
  ports?: NetworkPolicyPort[];
  to?: NetworkPolicyPeer[];
}

export interface NetworkPolicyIngressRule {
  ports?: NetworkPolicyPort[];
  from?: NetworkPolicyPeer[];
}

export interface NetworkPolicyList {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'NetworkPolicyList';
  metadata: meta_v1.ListMeta;
  items: NetworkPolicy[];
}

export interface NetworkPolicyPeer {
  podSelector?: meta_v1.LabelSelector;
  namespaceSelector?: meta_v1.LabelSelector;
  ipBlock?: IPBlock;
}

export interface NetworkPolicyPort {
  protocol?: core_v1.Protocol;
  port?: util_intstr.IntOrString;
  endPort?: number;
}

export interface NetworkPolicySpec {
  podSelector: meta_v1.LabelSelector;
  ingress?: NetworkPolicyIngressRule[];
  egress?: NetworkPolicyEgressRule[];
  policyTypes?: PolicyType[];
}

export interface ParentReference {
  group?: string;
  resource?: string;
  namespace?: string;
  name?: string;
}

export type PathType = string;

export type PolicyType = string;

export interface ServiceBackendPort {
  name?: string;
  number?: number;
}

export interface ServiceCIDR {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'ServiceCIDR';
  metadata: meta_v1.ObjectMeta;
  spec: ServiceCIDRSpec;
  status: ServiceCIDRStatus;
}

export interface ServiceCIDRList {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'ServiceCIDRList';
  metadata: meta_v1.ListMeta;
  items: ServiceCIDR[];
}

export interface ServiceCIDRSpec {
  cidrs?: string[];
}

export interface ServiceCIDRStatus {
  conditions?: meta_v1.Condition[];
}

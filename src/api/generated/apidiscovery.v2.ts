// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';

export interface APIGroupDiscovery {
  apiVersion: 'apidiscovery.k8s.io/v2';
  kind: 'APIGroupDiscovery';
  metadata: meta_v1.ObjectMeta;
  versions?: APIVersionDiscovery[];
}

export interface APIGroupDiscoveryList {
  apiVersion: 'apidiscovery.k8s.io/v2';
  kind: 'APIGroupDiscoveryList';
  metadata: meta_v1.ListMeta;
  items: APIGroupDiscovery[];
}

export interface APIResourceDiscovery {
  resource: string;
  responseKind?: meta_v1.GroupVersionKind;
  scope: ResourceScope;
  singularResource: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  subresources?: APISubresourceDiscovery[];
}

export interface APISubresourceDiscovery {
  subresource: string;
  responseKind?: meta_v1.GroupVersionKind;
  acceptedTypes?: meta_v1.GroupVersionKind[];
  verbs: string[];
}

export interface APIVersionDiscovery {
  version: string;
  resources?: APIResourceDiscovery[];
  freshness?: DiscoveryFreshness;
}

export type DiscoveryFreshness = string;

export type ResourceScope = string;

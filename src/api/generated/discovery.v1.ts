// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as core_v1 from './core.v1.ts';
import type * as meta_v1 from './meta.v1.ts';

export type AddressType = string;

export interface Endpoint {
  addresses: string[];
  conditions?: EndpointConditions;
  hostname?: string;
  targetRef?: core_v1.ObjectReference;
  deprecatedTopology?: Record<string, string>;
  nodeName?: string;
  zone?: string;
  hints?: EndpointHints;
}

export interface EndpointConditions {
  ready?: boolean;
  serving?: boolean;
  terminating?: boolean;
}

export interface EndpointHints {
  forZones?: ForZone[];
  forNodes?: ForNode[];
}

export interface EndpointPort {
  name?: string;
  protocol?: core_v1.Protocol;
  port?: number;
  appProtocol?: string;
}

export interface EndpointSlice {
  apiVersion: 'discovery.k8s.io/v1';
  kind: 'EndpointSlice';
  metadata: meta_v1.ObjectMeta;
  addressType: AddressType;
  endpoints: Endpoint[];
  ports: EndpointPort[];
}

export interface EndpointSliceList {
  apiVersion: 'discovery.k8s.io/v1';
  kind: 'EndpointSliceList';
  metadata: meta_v1.ListMeta;
  items: EndpointSlice[];
}

export interface ForNode {
  name: string;
}

export interface ForZone {
  name: string;
}

// What a Website is: the types of its definition in manifests/crd.yaml.
import { customKind, type KubeObject } from 'k8ts';

export interface Website extends KubeObject {
  readonly kind: 'Website';
  spec: {
    /** Under which it is served; only one Website of the cluster can have it. */
    host: string;
    /** The page. */
    html: string;
    /** Default 1. */
    replicas?: number;
    /** Default nginx:1.29. */
    image?: string;
  };
  status?: WebsiteStatus;
}

export interface WebsiteStatus {
  observedGeneration?: number;
  readyReplicas?: number;
  conditions?: {
    type: 'Ready' | 'HostClaimed';
    status: 'True' | 'False';
    reason: string;
    message: string;
    lastTransitionTime: string;
    observedGeneration?: number;
  }[];
}

export const websites = customKind<Website>({
  group: 'example.k8ts.dev',
  version: 'v1',
  kind: 'Website',
  plural: 'websites',
  namespaced: true,
});

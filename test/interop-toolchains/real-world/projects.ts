// Owns the list of projects whose definitions are installed: where they are published, and which of their files are what.
import type { Module } from './archive.ts';

export interface Project extends Module {
  readonly name: string;
  readonly definitions: RegExp;
  /** Objects that the project itself holds to be valid. */
  readonly samples?: RegExp;
  /** Objects that the project itself holds to be invalid. */
  readonly invalid?: RegExp;
}

export const projects: readonly Project[] = [
  {
    name: 'cert-manager',
    path: 'github.com/cert-manager/cert-manager',
    version: 'v1.21.2',
    definitions: /^deploy\/crds\//,
    samples: /^test\/fixtures\//,
  },
  {
    name: 'Argo CD',
    path: 'github.com/argoproj/argo-cd/v3',
    version: 'v3.6.1',
    definitions: /^manifests\/crds\//,
    samples: /^docs\/operator-manual\/(application|project)/,
  },
  {
    name: 'External Secrets',
    path: 'github.com/external-secrets/external-secrets',
    version: 'v0.16.2',
    definitions: /^config\/crds\/bases\//,
  },
  {
    name: 'Argo Rollouts',
    path: 'github.com/argoproj/argo-rollouts',
    version: 'v1.10.2',
    definitions: /^manifests\/crds\//,
    samples: /^(examples|docs)\//,
  },
  {
    name: 'Prometheus operator',
    path: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    definitions: /^example\/prometheus-operator-crd\//,
    samples: /^example\/(user-guides\/(alerting|getting-started)|rbac|additional-scrape-configs|storage)\//,
  },
  {
    name: 'Gateway API',
    path: 'sigs.k8s.io/gateway-api',
    version: 'v1.6.3',
    definitions: /^config\/crd\/experimental\//,
    samples: /^examples\/(standard|experimental)\//,
    invalid: /^hack\/invalid-examples\//,
  },
  {
    name: 'Kueue',
    path: 'sigs.k8s.io/kueue',
    version: 'v0.17.0',
    definitions: /^config\/components\/crd\/bases\//,
    samples: /^(site\/static\/examples|test\/performance|examples)\//,
  },
  {
    name: 'Istio',
    path: 'istio.io/api',
    version: 'v1.32.0',
    definitions: /^kubernetes\/customresourcedefinitions/,
  },
  {
    name: 'Knative Serving',
    path: 'knative.dev/serving',
    version: 'v0.51.0',
    definitions: /^config\/core\/300-resources\//,
    samples: /^test\/test_images\//,
  },
  {
    name: 'Flux, sources',
    path: 'github.com/fluxcd/source-controller',
    version: 'v1.10.1',
    definitions: /^config\/crd\/bases\//,
    samples: /^config\/(samples|testdata)\//,
  },
  {
    name: 'Flux, Kustomizations',
    path: 'github.com/fluxcd/kustomize-controller',
    version: 'v1.10.1',
    definitions: /^config\/crd\/bases\//,
    samples: /^config\/(samples|testdata)\//,
  },
  {
    name: 'KEDA',
    path: 'github.com/kedacore/keda/v2',
    version: 'v2.21.0',
    definitions: /^config\/crd\/bases\//,
  },
  {
    name: 'Cluster API',
    path: 'sigs.k8s.io/cluster-api',
    version: 'v1.14.2',
    definitions: /^([a-z]+\/){1,3}config\/crd\/bases\//,
  },
  {
    name: 'Karpenter',
    path: 'sigs.k8s.io/karpenter',
    version: 'v1.15.0',
    definitions: /^pkg\/apis\/crds\//,
  },
  {
    name: 'Volume snapshots',
    path: 'github.com/kubernetes-csi/external-snapshotter/client/v8',
    version: 'v8.7.0',
    definitions: /^config\/crd\//,
  },
  {
    name: 'Kyverno',
    path: 'github.com/kyverno/kyverno',
    version: 'v1.19.1',
    definitions: /^config\/crds\//,
    samples: /^test\/cli\/test\//,
  },
  {
    name: 'Contour',
    path: 'github.com/projectcontour/contour',
    version: 'v1.33.8',
    definitions: /^examples\/contour\/01-crds/,
    samples: /^(examples\/example-workload\/httpproxy\/0[12]|site\/content\/examples\/)/,
  },
  {
    name: 'KubeRay',
    path: 'github.com/ray-project/kuberay/ray-operator',
    version: 'v1.5.0',
    definitions: /^config\/crd\/bases\//,
    samples: /^config\/samples\//,
  },
  {
    name: 'MetalLB',
    path: 'go.universe.tf/metallb',
    version: 'v0.16.2',
    definitions: /^config\/crd\/bases\//,
    samples: /^configsamples\/(ipaddresspool|l2advertisement)/,
  },
];

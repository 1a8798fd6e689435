// Owns which ServiceAccount of kube-system each controller acts as: those that the bootstrap policy binds roles to.

const accounts: Readonly<Record<string, string>> = {
  'bootstrap-signer-controller': 'bootstrap-signer',
  'certificatesigningrequest-approving-controller': 'certificate-controller',
  'certificatesigningrequest-cleaner-controller': 'certificate-controller',
  'certificatesigningrequest-signing-controller': 'certificate-controller',
  'clusterrole-aggregation-controller': 'clusterrole-aggregation-controller',
  'cronjob-controller': 'cronjob-controller',
  'daemonset-controller': 'daemon-set-controller',
  'disruption-controller': 'disruption-controller',
  'endpoints-controller': 'endpoint-controller',
  'endpointslice-controller': 'endpointslice-controller',
  'endpointslice-mirroring-controller': 'endpointslicemirroring-controller',
  'ephemeral-volume-controller': 'ephemeral-volume-controller',
  'garbage-collector-controller': 'generic-garbage-collector',
  'horizontal-pod-autoscaler-controller': 'horizontal-pod-autoscaler',
  'kube-apiserver-serving-clustertrustbundle-publisher-controller':
    'kube-apiserver-serving-clustertrustbundle-publisher',
  'legacy-serviceaccount-token-cleaner-controller': 'legacy-service-account-token-cleaner',
  'node-ipam-controller': 'node-controller',
  'node-lifecycle-controller': 'node-controller',
  'persistentvolume-attach-detach-controller': 'attachdetach-controller',
  'persistentvolume-binder-controller': 'persistent-volume-binder',
  'persistentvolume-expander-controller': 'expand-controller',
  'persistentvolume-protection-controller': 'pv-protection-controller',
  'persistentvolumeclaim-protection-controller': 'pvc-protection-controller',
  'pod-garbage-collector-controller': 'pod-garbage-collector',
  'replicationcontroller-controller': 'replication-controller',
  'resourceclaim-controller': 'resource-claim-controller',
  'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
  'serviceaccount-controller': 'service-account-controller',
  'service-cidr-controller': 'service-cidrs-controller',
  'service-lb-controller': 'service-controller',
  'taint-eviction-controller': 'node-controller',
  'token-cleaner-controller': 'token-cleaner',
  'ttl-after-finished-controller': 'ttl-after-finished-controller',
};

/** Makes the tokens that accounts act with, so it must act as the controller manager itself. */
const actsAsManager: ReadonlySet<string> = new Set(['serviceaccount-token-controller']);

/** Upstream's name of the account; most are the controller's own. Undefined: the controller manager itself. */
export function serviceAccountOf(controller: string): string | undefined {
  return actsAsManager.has(controller) ? undefined : (accounts[controller] ?? controller);
}

// Owns the list of all controllers: what kube-controller-manager runs, in the order in which they start.
import type { Controller, ControllerContext } from '../framework/controller.ts';
import type { Selectable } from '../framework/selection.ts';
import { endpointsController } from '../endpoints/endpoints.ts';
import { endpointSliceController } from '../endpoints/endpointslice.ts';
import { garbageCollector } from '../garbage-collector/garbage-collector.ts';
import { ttlAfterFinishedController } from '../job/ttl-after-finished.ts';
import { jobController } from '../job/job.ts';
import { namespaceController } from '../namespace/namespace.ts';
import { rootCaPublisher, serviceAccountController } from '../serviceaccount/serviceaccount.ts';
import { certificateApprover, certificateCleaner, certificateSigner } from '../certificates/certificates.ts';
import { nodeIpamController, ttlController } from '../node/node-ipam.ts';
import { nodeLifecycleController } from '../node/node-lifecycle.ts';
import { taintEvictionController } from '../node/taint-eviction.ts';
import { podGarbageCollector } from '../pod-gc/pod-gc.ts';
import { daemonSetController } from '../daemonset/daemonset.ts';
import { clusterRoleAggregationController } from '../clusterrole-aggregation/clusterrole-aggregation.ts';
import { statefulSetController } from '../statefulset/statefulset.ts';
import { disruptionController } from '../disruption/disruption.ts';
import { resourceQuotaController } from '../resourcequota/resourcequota.ts';
import { serviceAccountTokenController } from '../serviceaccount/token-secrets.ts';
import { claimProtectionController, volumeProtectionController } from '../volume/protection.ts';
import { cronJobController } from '../cronjob/cronjob.ts';
import { endpointSliceMirroringController } from '../endpoints/mirroring.ts';
import { volumeBinderController } from '../volume/binder.ts';
import { bootstrapSigner, tokenCleaner } from '../bootstrap/tokens.ts';
import { ephemeralVolumeController } from '../volume/ephemeral.ts';
import { deploymentController } from '../deployment/deployment.ts';
import { replicaSetController, replicationControllerController } from '../replicaset/replicaset.ts';
import { apiServerBundlePublisher } from '../trust-bundle/api-server-bundle.ts';
import { serviceCidrController } from '../service-cidr/service-cidr.ts';
import { storageMigrationController } from '../storage-migration/storage-migration.ts';
import { attachDetachController } from '../volume/attach-detach.ts';
import { admissionPolicyStatusController } from '../admission-policy/status.ts';
import { autoscalerController } from '../autoscaler/autoscaler.ts';
import { deviceTaintEvictionController } from '../node/device-taint-eviction.ts';
import { resourceClaimController } from '../resourceclaim/resourceclaim.ts';
import { attributesClassProtectionController } from '../volume/attributes-class-protection.ts';
import type { ControllerManagerOptions } from './options.ts';

export interface ControllerEntry extends Selectable {
  /** Undefined: the options give nothing to do (no signer, no CIDR). */
  make(context: ControllerContext, options: ControllerManagerOptions): Controller | undefined;
}

export const controllers: readonly ControllerEntry[] = [
  { name: 'namespace-controller', make: namespaceController },
  { name: 'serviceaccount-controller', make: serviceAccountController },
  {
    name: 'root-ca-certificate-publisher-controller',
    make: (context, { rootCaPem }) => (rootCaPem ? rootCaPublisher(context, rootCaPem) : undefined),
  },
  { name: 'deployment-controller', make: deploymentController },
  { name: 'replicaset-controller', make: replicaSetController },
  { name: 'replicationcontroller-controller', make: replicationControllerController },
  { name: 'daemonset-controller', make: daemonSetController },
  { name: 'statefulset-controller', make: statefulSetController },
  { name: 'clusterrole-aggregation-controller', make: clusterRoleAggregationController },
  { name: 'disruption-controller', make: disruptionController },
  { name: 'resourcequota-controller', make: resourceQuotaController },
  {
    name: 'serviceaccount-token-controller',
    make: (context, { rootCaPem, signServiceAccountToken: sign }) =>
      sign ? serviceAccountTokenController(context, { rootCaPem, sign }) : undefined,
  },
  { name: 'persistentvolumeclaim-protection-controller', make: claimProtectionController },
  { name: 'ephemeral-volume-controller', make: ephemeralVolumeController },
  { name: 'bootstrap-signer-controller', offByDefault: true, make: bootstrapSigner },
  { name: 'token-cleaner-controller', offByDefault: true, make: tokenCleaner },
  { name: 'persistentvolume-binder-controller', make: volumeBinderController },
  { name: 'persistentvolume-protection-controller', make: volumeProtectionController },
  { name: 'cronjob-controller', make: cronJobController },
  { name: 'job-controller', make: jobController },
  { name: 'ttl-after-finished-controller', make: ttlAfterFinishedController },
  { name: 'endpoints-controller', make: endpointsController },
  { name: 'endpointslice-controller', make: endpointSliceController },
  { name: 'endpointslice-mirroring-controller', make: endpointSliceMirroringController },
  { name: 'garbage-collector-controller', make: garbageCollector },
  {
    name: 'node-ipam-controller',
    make: (context, { clusterCidrs, nodeCidrMaskSizes: { ipv4 = 24, ipv6 = 64 } = {} }) =>
      clusterCidrs?.length ? nodeIpamController(context, { clusterCidrs, maskSizes: { ipv4, ipv6 } }) : undefined,
  },
  {
    name: 'node-lifecycle-controller',
    make: (context, { nodeMonitorPeriodMs = 5000, nodeMonitorGracePeriodMs = 50_000 }) =>
      nodeLifecycleController(context, { periodMs: nodeMonitorPeriodMs, graceMs: nodeMonitorGracePeriodMs }),
  },
  { name: 'taint-eviction-controller', make: taintEvictionController },
  { name: 'ttl-controller', make: ttlController },
  { name: 'service-cidr-controller', make: serviceCidrController },
  { name: 'storage-version-migrator-controller', make: storageMigrationController },
  { name: 'persistentvolume-attach-detach-controller', make: attachDetachController },
  {
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    make: (context, { rootCaPem }) => (rootCaPem ? apiServerBundlePublisher(context, rootCaPem) : undefined),
  },
  { name: 'device-taint-eviction-controller', make: deviceTaintEvictionController },
  { name: 'resourceclaim-controller', make: resourceClaimController },
  { name: 'validatingadmissionpolicy-status-controller', make: admissionPolicyStatusController },
  { name: 'volumeattributesclass-protection-controller', make: attributesClassProtectionController },
  {
    name: 'horizontal-pod-autoscaler-controller',
    make: (context, { horizontalPodAutoscaler }) => autoscalerController(context, horizontalPodAutoscaler),
  },
  {
    name: 'pod-garbage-collector-controller',
    make: (context, { terminatedPodThreshold = 12_500 }) => podGarbageCollector(context, terminatedPodThreshold),
  },
  {
    name: 'certificatesigningrequest-approving-controller',
    make: (context, { certificateAuthority: authority, approveKubeletServing = false }) =>
      authority ? certificateApprover(context, authority, approveKubeletServing) : undefined,
  },
  {
    name: 'certificatesigningrequest-signing-controller',
    make: (context, { certificateAuthority: authority, signingDurationMs = 365 * 86_400_000 }) =>
      authority ? certificateSigner(context, authority, signingDurationMs) : undefined,
  },
  { name: 'certificatesigningrequest-cleaner-controller', make: certificateCleaner },
];

// Owns which fields each endpoint of a kind resets and therefore never owns: what the strategies of the server put back.
import { differenceBeneath, type Fields, fieldsOfPaths } from './fields.ts';

/** Takes from a set what the endpoint resets, in the version in which the set is said. */
export type ResetFields = (fields: Fields, apiVersion: string) => Fields;

/** Resets these paths (dotted field names) and all beneath them. */
function resetting(...paths: string[]): ResetFields {
  const reset = fieldsOfPaths(paths.map((path) => path.split('.')));
  return (fields) => differenceBeneath(fields, reset);
}

const status = resetting('status');
const spec = resetting('spec');
const metadataAndSpec = resetting('metadata', 'spec');

/** Kinds whose main endpoint leaves status alone and whose status endpoint leaves spec alone. */
const withStatus: readonly string[] = [
  'v1/Namespace',
  'v1/Node',
  'v1/PersistentVolume',
  'v1/PersistentVolumeClaim',
  'v1/ReplicationController',
  'v1/ResourceQuota',
  'v1/Service',
  'apps/v1/DaemonSet',
  'apps/v1/ReplicaSet',
  'apps/v1/StatefulSet',
  'autoscaling/v1/HorizontalPodAutoscaler',
  'apiextensions.k8s.io/v1/CustomResourceDefinition',
  'autoscaling/v2/HorizontalPodAutoscaler',
  'batch/v1/CronJob',
  'batch/v1/Job',
  'networking.k8s.io/v1/Ingress',
  'policy/v1/PodDisruptionBudget',
];

/** Kinds whose status endpoint puts all metadata back as well. */
const withStatusAlone: readonly string[] = [
  'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy',
  'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy',
  'apiregistration.k8s.io/v1/APIService',
  'flowcontrol.apiserver.k8s.io/v1/FlowSchema',
  'flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration',
  'certificates.k8s.io/v1/PodCertificateRequest',
  'networking.k8s.io/v1/ServiceCIDR',
  'resource.k8s.io/v1/DeviceTaintRule',
  'resource.k8s.io/v1/ResourceClaim',
  'scheduling.k8s.io/v1alpha3/PodGroup',
  'storage.k8s.io/v1/CSINode',
  'storage.k8s.io/v1/VolumeAttachment',
  'storagemigration.k8s.io/v1/StorageVersionMigration',
];

const table: ReadonlyMap<string, ResetFields> = new Map([
  ...withStatus.flatMap((kind) => [[kind, status] as const, [`${kind}/status`, spec] as const]),
  ...withStatusAlone.flatMap((kind) => [[kind, status] as const, [`${kind}/status`, metadataAndSpec] as const]),
  ['v1/Namespace/finalize', status],
  ['v1/Pod', status],
  ['v1/Pod/status', resetting('spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences')],
  ['apps/v1/Deployment', status],
  ['apps/v1/Deployment/status', resetting('spec', 'metadata.labels')],
  ['certificates.k8s.io/v1/CertificateSigningRequest', resetting('spec', 'status')],
  ['certificates.k8s.io/v1/CertificateSigningRequest/status', resetting('spec', 'status.conditions')],
  ['certificates.k8s.io/v1/CertificateSigningRequest/approval', resetting('spec', 'status.certificate')],
  ['networking.k8s.io/v1/NetworkPolicy', status],
]);

/** For a built-in kind; `subresource` is empty for the object itself. Undefined when the endpoint resets nothing. */
export function resetFieldsOf(apiVersion: string, kind: string, subresource = ''): ResetFields | undefined {
  return table.get(subresource === '' ? `${apiVersion}/${kind}` : `${apiVersion}/${kind}/${subresource}`);
}

/** For a custom resource with a status subresource. */
export const customResetFields: Readonly<Record<'main' | 'status', ResetFields>> = {
  main: status,
  status: resetting('apiVersion', 'kind', 'metadata', 'spec'),
};

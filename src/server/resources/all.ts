// Owns the one list of kinds with rules of their own. Kinds that are not here are served by the generated schema alone.
import type { KubeObject } from '../../api/meta.ts';
import type { Resource } from '../resource.ts';
import { customResourceDefinition } from './apiextensions/custom-resource-definition.ts';
import { controllerRevision } from './apps/controller-revision.ts';
import { daemonSet } from './apps/daemon-set.ts';
import { deployment } from './apps/deployment.ts';
import { replicaSet } from './apps/replica-set.ts';
import { statefulSet } from './apps/stateful-set.ts';
import { horizontalPodAutoscaler, horizontalPodAutoscalerV1 } from './autoscaling/horizontal-pod-autoscaler.ts';
import { lease } from './coordination/lease.ts';
import { endpointSlice } from './discovery/endpoint-slice.ts';
import { event, eventsEvent } from './events/event.ts';
import { podDisruptionBudget } from './policy/pod-disruption-budget.ts';
import { cronJob } from './batch/cron-job.ts';
import { job } from './batch/job.ts';
import { componentStatus } from './core/component-status.ts';
import { configMap, secret } from './core/config-map.ts';
import { endpoints } from './core/endpoints.ts';
import { limitRange } from './core/limit-range.ts';
import { namespace } from './core/namespace.ts';
import { node } from './core/node.ts';
import { persistentVolume } from './core/persistent-volume.ts';
import { persistentVolumeClaim } from './core/persistent-volume-claim.ts';
import { podTemplate } from './core/pod-template.ts';
import { replicationController } from './core/replication-controller.ts';
import { resourceQuota } from './core/resource-quota.ts';
import { service } from './core/service.ts';
import { serviceAccount } from './core/service-account.ts';
import { pod } from './core/pod.ts';
import { ingress } from './networking/ingress.ts';
import { ingressClass } from './networking/ingress-class.ts';
import { ipAddress } from './networking/ip-address.ts';
import { networkPolicy } from './networking/network-policy.ts';
import { serviceCIDR } from './networking/service-cidr.ts';
import { clusterRole, role } from './rbac/role.ts';
import { clusterRoleBinding, roleBinding } from './rbac/role-binding.ts';
import { priorityClass } from './scheduling/priority-class.ts';
import { csiDriver } from './storage/csi-driver.ts';
import { csiNode } from './storage/csi-node.ts';
import { csiStorageCapacity } from './storage/csi-storage-capacity.ts';
import { storageClass } from './storage/storage-class.ts';
import { volumeAttachment } from './storage/volume-attachment.ts';
import { volumeAttributesClass } from './storage/volume-attributes-class.ts';
import { certificateSigningRequest } from './certificates/certificate-signing-request.ts';
import { clusterTrustBundle } from './certificates/cluster-trust-bundle.ts';
import { podCertificateRequest } from './certificates/pod-certificate-request.ts';
import { flowSchema } from './flowcontrol/flow-schema.ts';
import { priorityLevelConfiguration } from './flowcontrol/priority-level-configuration.ts';
import { runtimeClass } from './node/runtime-class.ts';
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from './admissionregistration/webhook-configuration.ts';
import { validatingAdmissionPolicy } from './admissionregistration/validating-admission-policy.ts';
import { mutatingAdmissionPolicy } from './admissionregistration/mutating-admission-policy.ts';
import {
  mutatingAdmissionPolicyBinding,
  validatingAdmissionPolicyBinding,
} from './admissionregistration/policy-binding.ts';
import { deviceClass } from './resource/device-class.ts';
import { deviceTaintRule } from './resource/device-taint-rule.ts';
import { resourceClaim, resourceClaimTemplate } from './resource/resource-claim.ts';
import { resourceSlice } from './resource/resource-slice.ts';
import { apiService } from './apiregistration/api-service.ts';
import { storageVersionMigration } from './storagemigration/storage-version-migration.ts';

/** The generic server hands each kind only objects of that kind, so that what a kind takes may be forgotten here. */
const erased = <T extends KubeObject>(resource: Resource<T>): Resource => resource as unknown as Resource;

export const resources: readonly Resource[] = [
  erased(pod),
  erased(componentStatus),
  erased(configMap),
  erased(secret),
  erased(endpoints),
  erased(limitRange),
  erased(namespace),
  erased(node),
  erased(persistentVolume),
  erased(persistentVolumeClaim),
  erased(podTemplate),
  erased(replicationController),
  erased(resourceQuota),
  erased(service),
  erased(serviceAccount),
  erased(customResourceDefinition),
  erased(deployment),
  erased(replicaSet),
  erased(statefulSet),
  erased(daemonSet),
  erased(controllerRevision),
  erased(job),
  erased(cronJob),
  erased(horizontalPodAutoscaler),
  erased(horizontalPodAutoscalerV1),
  erased(lease),
  erased(endpointSlice),
  erased(event),
  erased(eventsEvent),
  erased(podDisruptionBudget),
  erased(ingress),
  erased(ingressClass),
  erased(ipAddress),
  erased(networkPolicy),
  erased(serviceCIDR),
  erased(clusterRole),
  erased(role),
  erased(clusterRoleBinding),
  erased(roleBinding),
  erased(priorityClass),
  erased(csiDriver),
  erased(csiNode),
  erased(csiStorageCapacity),
  erased(storageClass),
  erased(volumeAttachment),
  erased(volumeAttributesClass),
  erased(certificateSigningRequest),
  erased(clusterTrustBundle),
  erased(podCertificateRequest),
  erased(flowSchema),
  erased(priorityLevelConfiguration),
  erased(runtimeClass),
  erased(mutatingWebhookConfiguration),
  erased(validatingWebhookConfiguration),
  erased(validatingAdmissionPolicy),
  erased(mutatingAdmissionPolicy),
  erased(mutatingAdmissionPolicyBinding),
  erased(validatingAdmissionPolicyBinding),
  erased(deviceClass),
  erased(deviceTaintRule),
  erased(resourceClaim),
  erased(resourceClaimTemplate),
  erased(resourceSlice),
  erased(apiService),
  erased(storageVersionMigration),
];

// Owns the list of served resources as typed references: what a client names a collection by.
import type { DiscoveredGroup, Facts } from './facts.ts';
import { header, moduleOf } from './types.ts';

export function generateResources(facts: Facts, groups: readonly DiscoveredGroup[]): string {
  const lines: string[] = [];
  const modules = new Set<string>();
  for (const { metadata, versions } of groups) {
    const group = metadata.name ?? '';
    for (const { version, resources } of versions) {
      for (const { resource, responseKind, scope } of resources) {
        const { kind } = responseKind;
        const type = facts.kinds[`${group === '' ? '' : `${group}/`}${version}/${kind}`];
        if (type === undefined) throw new Error(`facts/types.json lacks ${group}/${version} ${kind}`);
        const module = moduleOf(type);
        modules.add(module);
        const ref = JSON.stringify({ group, version, kind, plural: resource, namespaced: scope === 'Namespaced' });
        lines.push(
          `export const ${constantName(resource, module)}: ResourceRef<${module.replaceAll('.', '_')}.${kind}> = ${ref};`,
        );
      }
    }
  }
  const imports = [...modules]
    .toSorted()
    .map((module) => `import type * as ${module.replaceAll('.', '_')} from './${module}.ts';`);
  return `${header}import type { ResourceRef } from '../meta.ts';\n${imports.join('\n')}\n\n${lines.join('\n')}\n`;
}

/** Resources that two groups or versions serve get the older or rarer form's module in their name. */
function constantName(plural: string, module: string): string {
  if (plural === 'events' && module === 'events.v1') return 'eventsV1Events';
  if (plural === 'horizontalpodautoscalers' && module === 'autoscaling.v1')
    return 'autoscalingV1HorizontalPodAutoscalers';
  return camelPlurals[plural] ?? plural;
}

const camelPlurals: Readonly<Record<string, string>> = {
  apiservices: 'apiServices',
  certificatesigningrequests: 'certificateSigningRequests',
  clusterrolebindings: 'clusterRoleBindings',
  clusterroles: 'clusterRoles',
  clustertrustbundles: 'clusterTrustBundles',
  componentstatuses: 'componentStatuses',
  configmaps: 'configMaps',
  controllerrevisions: 'controllerRevisions',
  cronjobs: 'cronJobs',
  csidrivers: 'csiDrivers',
  csinodes: 'csiNodes',
  csistoragecapacities: 'csiStorageCapacities',
  customresourcedefinitions: 'customResourceDefinitions',
  daemonsets: 'daemonSets',
  deviceclasses: 'deviceClasses',
  devicetaintrules: 'deviceTaintRules',
  endpointslices: 'endpointSlices',
  flowschemas: 'flowSchemas',
  horizontalpodautoscalers: 'horizontalPodAutoscalers',
  ingressclasses: 'ingressClasses',
  ipaddresses: 'ipAddresses',
  limitranges: 'limitRanges',
  localsubjectaccessreviews: 'localSubjectAccessReviews',
  mutatingadmissionpolicies: 'mutatingAdmissionPolicies',
  mutatingadmissionpolicybindings: 'mutatingAdmissionPolicyBindings',
  mutatingwebhookconfigurations: 'mutatingWebhookConfigurations',
  networkpolicies: 'networkPolicies',
  persistentvolumeclaims: 'persistentVolumeClaims',
  persistentvolumes: 'persistentVolumes',
  podcertificaterequests: 'podCertificateRequests',
  poddisruptionbudgets: 'podDisruptionBudgets',
  podtemplates: 'podTemplates',
  priorityclasses: 'priorityClasses',
  prioritylevelconfigurations: 'priorityLevelConfigurations',
  replicasets: 'replicaSets',
  replicationcontrollers: 'replicationControllers',
  resourceclaims: 'resourceClaims',
  resourceclaimtemplates: 'resourceClaimTemplates',
  resourcequotas: 'resourceQuotas',
  resourceslices: 'resourceSlices',
  rolebindings: 'roleBindings',
  runtimeclasses: 'runtimeClasses',
  selfsubjectaccessreviews: 'selfSubjectAccessReviews',
  selfsubjectreviews: 'selfSubjectReviews',
  selfsubjectrulesreviews: 'selfSubjectRulesReviews',
  serviceaccounts: 'serviceAccounts',
  servicecidrs: 'serviceCIDRs',
  statefulsets: 'statefulSets',
  storageclasses: 'storageClasses',
  storageversionmigrations: 'storageVersionMigrations',
  subjectaccessreviews: 'subjectAccessReviews',
  tokenreviews: 'tokenReviews',
  validatingadmissionpolicies: 'validatingAdmissionPolicies',
  validatingadmissionpolicybindings: 'validatingAdmissionPolicyBindings',
  validatingwebhookconfigurations: 'validatingWebhookConfigurations',
  volumeattachments: 'volumeAttachments',
  volumeattributesclasses: 'volumeAttributesClasses',
};

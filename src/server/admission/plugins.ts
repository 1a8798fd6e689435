// Owns the order of the admission plugins and which are on by default: one visible list, as --enable-admission-plugins names them.
import type { AdmissionPlugin } from './admission.ts';
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from './certificates.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { limitRanger } from './limit-ranger.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeRestriction } from './node-restriction.ts';
import {
  defaultIngressClass,
  defaultStorageClass,
  persistentVolumeClaimResize,
  storageObjectInUseProtection,
  taintNodesByCondition,
} from './nodes-and-storage.ts';
import {
  alwaysAdmit,
  alwaysDenyAdmission,
  denyServiceExternalIPs,
  eventLimits,
  eventRateLimit,
  namespaceAutoProvision,
  namespaceExists,
  ownerReferencesPermissionEnforcement,
} from './optional-others.ts';
import { imagePolicyWebhook } from './image-policy.ts';
import {
  alwaysPullImages,
  extendedResourceToleration,
  limitPodHardAntiAffinityTopology,
  podNodeSelector,
  podTolerationRestriction,
} from './optional-pods.ts';
import { podSecurityMetrics } from '../metrics/pod-security.ts';
import { checkMetrics, conditionMetrics } from '../metrics/policies.ts';
import { mutatingAdmissionPolicy } from './policy/mutating.ts';
import { validatingAdmissionPolicy } from './policy/validating.ts';
import { podSecurityConfig } from './pod-security/config.ts';
import { podSecurity } from './pod-security/pod-security.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';
import { priority } from './priority.ts';
import type { PluginDeps, PluginEntry } from './registry.ts';
import { resourceQuota } from './resource-quota.ts';
import { runtimeClass } from './runtime-class.ts';
import { mutatingWebhooks, validatingWebhooks } from './webhook/webhooks.ts';
import { serviceAccount } from './service-account.ts';

const on = (plugin: AdmissionPlugin): PluginEntry => ({ name: plugin.name, byDefault: true, make: () => plugin });
const off = (plugin: AdmissionPlugin): PluginEntry => ({ name: plugin.name, byDefault: false, make: () => plugin });

/** In the order in which they run. */
export const pluginEntries: readonly PluginEntry[] = [
  off(alwaysAdmit),
  off(namespaceAutoProvision),
  on(namespaceLifecycle),
  off(namespaceExists),
  off(limitPodHardAntiAffinityTopology),
  on(limitRanger),
  on(serviceAccount),
  off(nodeRestriction),
  on(taintNodesByCondition),
  off(alwaysPullImages),
  {
    name: 'ImagePolicyWebhook',
    byDefault: false,
    make(deps) {
      if (deps.imagePolicy === undefined)
        throw new Error('ImagePolicyWebhook needs its part of --admission-control-config-file');
      return imagePolicyWebhook(deps.imagePolicy, deps);
    },
  },
  {
    name: 'PodSecurity',
    byDefault: true,
    make: ({ config, metrics }) =>
      podSecurity(podSecurityConfig(config('PodSecurity')), metrics && podSecurityMetrics(metrics)),
  },
  {
    name: 'PodNodeSelector',
    byDefault: false,
    make: ({ config }) => {
      const given = (config('PodNodeSelector')?.['podNodeSelectorPluginConfig'] ?? {}) as Record<string, string>;
      return podNodeSelector(given['clusterDefaultNodeSelector'] ?? '', given);
    },
  },
  on(priority),
  {
    name: 'DefaultTolerationSeconds',
    byDefault: true,
    make: ({ tolerationSeconds }) => defaultTolerationSeconds(tolerationSeconds),
  },
  {
    name: 'PodTolerationRestriction',
    byDefault: false,
    make: ({ config }) => podTolerationRestriction(config('PodTolerationRestriction')),
  },
  {
    name: 'EventRateLimit',
    byDefault: false,
    make: ({ config }) => eventRateLimit(eventLimits(config('EventRateLimit'))),
  },
  off(extendedResourceToleration),
  on(podTopologyLabels),
  on(defaultStorageClass),
  on(storageObjectInUseProtection),
  {
    name: 'OwnerReferencesPermissionEnforcement',
    byDefault: false,
    make: ({ authorizers }) => ownerReferencesPermissionEnforcement(authorizers),
  },
  on(persistentVolumeClaimResize),
  on(runtimeClass),
  { name: 'CertificateApproval', byDefault: true, make: ({ authorizers }) => certificateApproval(authorizers) },
  { name: 'CertificateSigning', byDefault: true, make: ({ authorizers }) => certificateSigning(authorizers) },
  {
    name: 'ClusterTrustBundleAttest',
    byDefault: true,
    make: ({ authorizers }) => clusterTrustBundleAttest(authorizers),
  },
  on(certificateSubjectRestriction),
  on(defaultIngressClass),
  off(denyServiceExternalIPs),
  {
    name: 'MutatingAdmissionPolicy',
    byDefault: true,
    make: ({ authorizers, metrics, clock }) =>
      mutatingAdmissionPolicy(
        authorizers,
        metrics && checkMetrics(metrics, clock, 'mutating'),
        metrics && conditionMetrics(metrics, clock, 'policy', 'validate'),
      ),
  },
  { name: 'MutatingAdmissionWebhook', byDefault: true, make: mutatingWebhooks },
  {
    name: 'ValidatingAdmissionPolicy',
    byDefault: true,
    make: ({ authorizers, metrics, clock }) =>
      validatingAdmissionPolicy(
        authorizers,
        metrics && checkMetrics(metrics, clock, 'validating'),
        metrics && conditionMetrics(metrics, clock, 'policy', 'validate'),
      ),
  },
  { name: 'ValidatingAdmissionWebhook', byDefault: true, make: validatingWebhooks },
  { name: 'ResourceQuota', byDefault: true, make: ({ config }) => resourceQuota(config('ResourceQuota')) },
  off(alwaysDenyAdmission),
];

/** Throws for a name that is none of them. */
export function admissionPlugins(
  deps: PluginDeps,
  enable: readonly string[] = [],
  disable: readonly string[] = [],
): AdmissionPlugin[] {
  for (const name of [...enable, ...disable])
    if (!pluginEntries.some((entry) => entry.name === name)) throw new Error(`there is no admission plugin "${name}"`);
  return pluginEntries
    .filter(({ name, byDefault }) => enable.includes(name) || (byDefault && !disable.includes(name)))
    .map((entry) => entry.make(deps));
}

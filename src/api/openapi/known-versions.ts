// Owns the list of group versions that upstream's server knows, served or not: a kind of all of them (DeleteOptions) is told with each. No other logic.

/** Versions by group, in order. */
const known: Readonly<Record<string, string>> = {
  '': 'v1',
  'admission.k8s.io': 'v1 v1beta1',
  'admissionregistration.k8s.io': 'v1 v1alpha1 v1beta1',
  'apiextensions.k8s.io': 'v1 v1beta1',
  'apiregistration.k8s.io': 'v1 v1beta1',
  apps: 'v1 v1beta1 v1beta2',
  'authentication.k8s.io': 'v1 v1alpha1 v1beta1',
  'authorization.k8s.io': 'v1 v1beta1',
  autoscaling: 'v1 v2',
  batch: 'v1 v1beta1',
  'certificates.k8s.io': 'v1 v1alpha1 v1beta1',
  'coordination.k8s.io': 'v1 v1alpha2 v1beta1',
  'discovery.k8s.io': 'v1 v1beta1',
  'events.k8s.io': 'v1 v1beta1',
  extensions: 'v1beta1',
  'flowcontrol.apiserver.k8s.io': 'v1 v1beta1 v1beta2 v1beta3',
  'imagepolicy.k8s.io': 'v1alpha1',
  'internal.apiserver.k8s.io': 'v1alpha1',
  'lifecycle.k8s.io': 'v1alpha1',
  'networking.k8s.io': 'v1 v1beta1',
  'node.k8s.io': 'v1 v1alpha1 v1beta1',
  policy: 'v1 v1beta1',
  'rbac.authorization.k8s.io': 'v1 v1alpha1 v1beta1',
  'resource.k8s.io': 'v1 v1alpha3 v1beta1 v1beta2',
  'scheduling.k8s.io': 'v1 v1alpha3 v1beta1',
  'storage.k8s.io': 'v1 v1alpha1 v1beta1',
  'storagemigration.k8s.io': 'v1 v1beta1',
};

const knownVersions: readonly { readonly group: string; readonly version: string }[] = Object.entries(known).flatMap(
  ([group, versions]) => versions.split(' ').map((version) => ({ group, version })),
);

const metaV1 = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const everywhere: ReadonlyMap<string, string> = new Map(
  ['DeleteOptions', 'WatchEvent'].map((kind) => [metaV1 + kind, kind]),
);

/** What the servers within the server are there for is not known to the one of custom kinds. */
const ownOfServers: ReadonlySet<string> = new Set([
  'admission.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'imagepolicy.k8s.io',
]);

/** These kinds are there in every group version: a document that is of no one group version tells so. */
export function inEvery<T extends object>(name: string, schema: T, ofCustom = false): T {
  const kind = everywhere.get(name);
  if (kind === undefined) return schema;
  const versions = ofCustom ? knownVersions.filter(({ group }) => !ownOfServers.has(group)) : knownVersions;
  const all = versions.map(({ group, version }) => ({ group, kind, version }));
  return { ...schema, 'x-kubernetes-group-version-kind': all };
}

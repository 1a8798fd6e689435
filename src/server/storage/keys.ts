// Owns where objects live in the store: the same keys as kube-apiserver's, so that its data and ours are interchangeable.

export const registryRoot = '/registry/';

/** Collections whose place is not their plural, for reasons of age. */
const special: Readonly<Record<string, string>> = {
  '/replicationcontrollers': 'controllers',
  '/endpoints': 'services/endpoints',
  '/nodes': 'minions',
  '/services': 'services/specs',
  'networking.k8s.io/ingresses': 'ingress',
};

/** Built-in groups that keep their group in the key, as custom resources do. */
const groupInKey: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io']);

/** "/registry/pods/". */
export function collectionPrefix(group: string, plural: string, custom: boolean): string {
  if (custom || groupInKey.has(group)) return `${registryRoot}${group}/${plural}/`;
  return `${registryRoot}${special[`${group}/${plural}`] ?? plural}/`;
}

/** Two groups may serve one collection (events): the group under whose kind it is stored. */
export function storageGroup(group: string, plural: string): string {
  return group === 'events.k8s.io' && plural === 'events' ? '' : group;
}

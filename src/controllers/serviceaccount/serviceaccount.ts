// Owns what every active namespace must have: the "default" ServiceAccount and the ConfigMap with the cluster's CA.
import type { Frozen, KubeObject, ObjectKey } from '../../api/meta.ts';
import type { ConfigMap, Namespace } from '../../api/generated/core.v1.ts';
import { configMaps, namespaces, serviceAccounts } from '../../api/generated/resources.ts';
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import type { Informer } from '../../client/informer.ts';
import { type Controller, type ControllerContext, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';

export function serviceAccountController(context: ControllerContext): Controller {
  const spaces = context.informers.informer(namespaces);
  const accounts = context.informers.informer(serviceAccounts);
  const writer = context.informers.writer(serviceAccounts);
  return {
    name: 'serviceaccount-controller',
    watches: [eachNamespace(spaces), namespaceOf(accounts, 'default')],
    async reconcile({ name: namespace }, signal) {
      if (!isActive(spaces.get({ namespace: '', name: namespace }))) return undefined;
      if (accounts.get({ namespace, name: 'default' })) return undefined;
      await writer.create({ metadata: { name: 'default', namespace } }, { signal }).catch(ignoreRaces);
      return undefined;
    },
  };
}

const rootCaName = 'kube-root-ca.crt';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

export function rootCaPublisher(context: ControllerContext, rootCaPem: string): Controller {
  const spaces = context.informers.informer(namespaces);
  const maps = context.informers.informer(configMaps);
  const writer = context.informers.writer(configMaps);
  const data = { 'ca.crt': rootCaPem };
  const annotations = { 'kubernetes.io/description': description };
  return {
    name: 'root-ca-certificate-publisher-controller',
    watches: [eachNamespace(spaces), namespaceOf(maps, rootCaName)],
    async reconcile({ name: namespace }, signal) {
      if (!isActive(spaces.get({ namespace: '', name: namespace }))) return undefined;
      const current = maps.get({ namespace, name: rootCaName });
      if (!current) {
        const map: Pick<ConfigMap, 'data'> & {
          metadata: { name: string; namespace: string; annotations: typeof annotations };
        } = {
          metadata: { name: rootCaName, namespace, annotations },
          data,
        };
        await writer.create(map, { signal }).catch(ignoreRaces);
      } else if (!isEqual(current.data, data) || !current.metadata.annotations?.['kubernetes.io/description']) {
        const metadata = { ...current.metadata, annotations: { ...current.metadata.annotations, ...annotations } };
        await writer.update({ ...current, metadata, data }, { signal }).catch(ignoreRaces);
      }
      return undefined;
    },
  };
}

const asKey = (name: string): ObjectKey => ({ namespace: '', name });

function eachNamespace(spaces: Informer<Namespace>) {
  return watching(spaces, (space) => [asKey(space.metadata.name)]);
}

/** Wakes the namespace of the named object. */
function namespaceOf<T extends KubeObject>(informer: Informer<T>, name: string) {
  return watching(informer, (obj) => {
    const { metadata } = obj as unknown as Frozen<KubeObject>;
    return metadata.name === name ? [asKey(metadata.namespace ?? '')] : [];
  });
}

function isActive(namespace: Frozen<Namespace> | undefined): boolean {
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

/** Someone else made it, it went away with its namespace, or the namespace is going: the next event tells. */
function ignoreRaces(error: unknown): void {
  if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error;
}

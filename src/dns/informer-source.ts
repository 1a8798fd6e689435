// Owns reading the zone's objects out of informers, by name and by address.
import { endpointSlices, namespaces, services } from '../api/generated/resources.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import type { ZoneSource } from './zone.ts';

const byService = 'dnsService';
const byAddress = 'dnsAddress';

/** Resolves when all names are known. */
export function informerSource(
  informers: InformerFactory,
): ZoneSource & { whenSynced(signal: AbortSignal): Promise<void>; readonly synced: boolean } {
  const serviceInformer = informers.informer(services);
  const sliceInformer = informers.informer(endpointSlices);
  const namespaceInformer = informers.informer(namespaces);
  serviceInformer.addIndex(
    byAddress,
    ({ spec }) => spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP]),
  );
  sliceInformer.addIndex(byService, ({ metadata }) => {
    const name = metadata.labels?.['kubernetes.io/service-name'];
    return name === undefined ? [] : [`${metadata.namespace}/${name}`];
  });
  sliceInformer.addIndex(byAddress, ({ endpoints }) => [
    ...new Set((endpoints ?? []).flatMap(({ addresses }) => addresses)),
  ]);
  const all = [serviceInformer, sliceInformer, namespaceInformer];
  return {
    service: (namespace, name) => serviceInformer.get({ namespace, name }),
    slices: (namespace, name) => sliceInformer.indexed(byService, `${namespace}/${name}`),
    hasNamespace: (name) => namespaceInformer.get({ namespace: '', name }) !== undefined,
    servicesByIP: (ip) => serviceInformer.indexed(byAddress, ip),
    slicesByIP: (ip) => sliceInformer.indexed(byAddress, ip),
    async whenSynced(signal) {
      await Promise.all(all.map((informer) => informer.whenSynced(signal)));
    },
    get synced() {
      return all.every(({ synced }) => synced);
    },
  };
}

// Owns PodTopologyLabels: a pod gets its node's zone and region as labels when it is bound, or made for a node.
import type { KubeObject } from '../../api/meta.ts';
import type { Parts } from '../parts.ts';
import type { AdmissionPlugin } from './admission.ts';
import { podOf } from './pods.ts';

const keys: readonly string[] = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

/** The labels of a node that its pods carry; of `kubernetes.io` only these two. */
export function topologyLabels(parts: Parts, nodeName: string): Record<string, string> {
  const labels = parts.catalog.cache('', 'nodes').get(nodeName)?.object.metadata.labels ?? {};
  return Object.fromEntries(keys.filter((key) => labels[key] !== undefined).map((key) => [key, labels[key]!]));
}

export const podTopologyLabels: AdmissionPlugin = {
  name: 'PodTopologyLabels',
  admit(request, parts) {
    const { served, subresource, operation, object } = request;
    if (operation !== 'CREATE' || object === undefined) return;
    if (served.resource.group === '' && served.resource.plural === 'pods' && subresource === 'binding') {
      const { target } = object as unknown as { target?: { kind?: string; name?: string } };
      if (target?.name === undefined || (target.kind !== undefined && target.kind !== '' && target.kind !== 'Node'))
        return;
      putLabels(object, topologyLabels(parts, target.name));
      return;
    }
    const nodeName = podOf(request)?.spec?.nodeName;
    if (nodeName) putLabels(object, topologyLabels(parts, nodeName));
  },
};

function putLabels(object: KubeObject, labels: Record<string, string>): void {
  if (Object.keys(labels).length > 0) object.metadata.labels = { ...object.metadata.labels, ...labels };
}

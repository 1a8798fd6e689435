// Owns the check of a resize against the pod's node: what the node could never hold, or cannot do, is refused at once.
import type { Node, Pod, PodSpec } from '../../api/generated/core.v1.ts';
import { podRequests } from '../../api/judge/pod-resources.ts';
import { compareQuantities, formatQuantity, parseQuantity } from '../../api/quantity.ts';
import { forbidden, statusError } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { AdmissionPlugin } from './admission.ts';

const pods = { group: '', plural: 'pods' };

/** Upstream's registry does this for every pods/resize; it is no plugin that can be left out. */
export const podResizeCheck: AdmissionPlugin = {
  name: 'PodResizeCheck',
  validate(request, parts) {
    const { served, subresource, operation, name } = request;
    if (served.resource.group !== '' || served.resource.plural !== 'pods') return;
    if (subresource !== 'resize' || operation !== 'UPDATE') return;
    const pod = request.object as Frozen<KubeObject & Pod>;
    const nodeName = pod.spec?.nodeName;
    if (!nodeName) return;
    const node = parts.catalog.cache('', 'nodes').get(nodeName)?.object as Frozen<KubeObject & Node> | undefined;
    if (node === undefined) throw forbidden(pods, name, `node "${nodeName}" not found`);
    const refuse = (reason: string, message: string): Error =>
      statusError('Forbidden', `pods "${name}" is forbidden: ${message}`, {
        name,
        kind: 'pods',
        causes: [{ reason, message }],
      });
    if (node.metadata.labels?.['kubernetes.io/os'] === 'windows')
      throw refuse('UnsupportedPlatform', 'in-place resize is not supported on windows nodes');
    const requests = podRequests(pod.spec as Frozen<PodSpec>);
    for (const resource of ['cpu', 'memory']) {
      const wanted = requests.get(resource);
      const allocatable = node.status?.allocatable?.[resource];
      if (wanted === undefined || allocatable === undefined) continue;
      if (compareQuantities(wanted, parseQuantity(allocatable)) > 0)
        throw refuse(
          'NodeCapacity',
          `the node has ${allocatable} of ${resource}, the pod would need ${formatQuantity(wanted)}`,
        );
    }
  },
};

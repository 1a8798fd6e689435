// Owns NamespaceLifecycle: nothing is made in a namespace that is missing or going; the system's namespaces stay.
import { forbidden, notFound, statusError } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Namespace } from '../../api/generated/core.v1.ts';
import type { AdmissionPlugin } from './admission.ts';

const immortal: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);
const namespaces = { group: '', plural: 'namespaces' };

export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  admit({ operation, served, namespace, name }, parts) {
    const { group, plural } = served.resource;
    if (group === '' && plural === 'namespaces') {
      if (operation === 'DELETE' && immortal.has(name))
        throw forbidden(namespaces, name, 'this namespace may not be deleted');
      return;
    }
    if (namespace === '' || operation === 'DELETE' || group === 'authorization.k8s.io') return;
    const entry = parts.catalog.cache('', 'namespaces').get(namespace);
    if (entry === undefined) throw notFound(namespaces, namespace);
    if (operation !== 'CREATE') return;
    const { metadata, status } = entry.object as Frozen<KubeObject & Namespace>;
    if (metadata.deletionTimestamp === undefined && status?.phase !== 'Terminating') return;
    const full = group === '' ? plural : `${plural}.${group}`;
    throw statusError(
      'Forbidden',
      `${full} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
      {
        ...(name !== '' && { name }),
        ...(group !== '' && { group }),
        kind: plural,
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    );
  },
};

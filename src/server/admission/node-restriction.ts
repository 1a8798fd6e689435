// Owns NodeRestriction: a node changes only its own object, lease, volumes and pods, and never labels or taints that others trust.
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import type { CertificateSigningRequest } from '../../api/generated/certificates.v1.ts';
import { InvalidRequest, parseRequest } from '../../base/x509.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { same } from '../verbs/equal.ts';
import type { Parts } from '../parts.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { mirrorAnnotation } from './pods.ts';

type Refuse = (why: string) => Error;
type PodObject = Frozen<KubeObject & Pod>;

const prefix = 'system:node:';
const kubeletLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.kubernetes.io/region',
  'failure-domain.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);

/** Labels of Kubernetes' own names that kubelets do not set; those of node-restriction.kubernetes.io are for administrators. */
function isForbiddenLabel(key: string): boolean {
  if (!key.includes('/') || kubeletLabels.has(key)) return false;
  const domain = key.split('/')[0]!;
  const below = (parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
  if (below('kubelet.kubernetes.io') || below('node.kubernetes.io')) return false;
  return below('kubernetes.io') || below('k8s.io');
}

function changedLabels(next: Frozen<KubeObject>, prev: Frozen<KubeObject> | undefined): string[] {
  const [after, before] = [next.metadata.labels ?? {}, prev?.metadata.labels ?? {}];
  return [...new Set([...Object.keys(after), ...Object.keys(before)])]
    .filter((key) => after[key] !== before[key])
    .sort();
}

function admitNode(node: string, request: AdmissionRequest, refuse: Refuse): void {
  const { operation, name } = request;
  if (name !== node) throw refuse(`node "${node}" is not allowed to modify node "${name}"`);
  if (operation === 'DELETE') return;
  const next = request.object as Frozen<KubeObject & Node>;
  const prev = request.oldObject as Frozen<KubeObject & Node> | undefined;
  if (next.spec?.configSource !== undefined && !same(next.spec.configSource, prev?.spec?.configSource))
    throw refuse(`node "${node}" is not allowed to set its configSource`);
  const labels = changedLabels(next, prev).filter(isForbiddenLabel);
  if (labels.length > 0) throw refuse(`is not allowed to modify labels: ${labels.join(', ')}`);
  if (operation !== 'UPDATE') return;
  if (request.subresource === '' && !same(next.spec?.taints ?? [], prev?.spec?.taints ?? []))
    throw refuse(`node "${node}" is not allowed to modify taints`);
  if (!same(next.metadata.ownerReferences ?? [], prev?.metadata.ownerReferences ?? []))
    throw refuse(`node "${node}" is not allowed to modify ownerReferences`);
}

function createPod(node: string, request: AdmissionRequest, refuse: Refuse, parts: Parts): void {
  const { metadata, spec } = request.object as PodObject;
  if (metadata.annotations?.[mirrorAnnotation] === undefined)
    throw refuse(`pod does not have "${mirrorAnnotation}" annotation, node "${node}" can only create mirror pods`);
  if (spec?.nodeName !== node) throw refuse(`node "${node}" can only create pods with spec.nodeName set to itself`);
  const owners = metadata.ownerReferences ?? [];
  if (owners.length > 0) {
    const [owner] = owners;
    const own = parts.catalog.cache('', 'nodes').get(node)?.object;
    if (owners.length > 1 || owner!.apiVersion !== 'v1' || owner!.kind !== 'Node' || owner!.name !== node)
      throw refuse(`node "${node}" can only create pods with an owner reference set to itself`);
    if (own === undefined || owner!.uid !== own.metadata.uid)
      throw refuse('the owner reference has another UID than the node');
    if (owner!.controller !== true || owner!.blockOwnerDeletion === true)
      throw refuse('the owner reference must have controller set and not block deletion');
  }
  if (spec.serviceAccountName) throw refuse(`node "${node}" can not create pods that reference a service account`);
  for (const volume of spec.volumes ?? [])
    for (const kind of ['secret', 'configMap', 'persistentVolumeClaim'] as const)
      if (volume[kind] !== undefined) throw refuse(`node "${node}" can not create pods that reference ${kind}s`);
  if ((spec.resourceClaims ?? []).length > 0)
    throw refuse(`node "${node}" can not create pods that reference resource claims`);
}

function admitPod(node: string, request: AdmissionRequest, refuse: Refuse, parts: Parts): void {
  const { subresource, operation } = request;
  const existing = (): PodObject | undefined =>
    (request.oldObject ?? parts.catalog.cache('', 'pods').get(`${request.namespace}/${request.name}`)?.object) as
      | PodObject
      | undefined;
  if (subresource === '') {
    if (operation === 'CREATE') return createPod(node, request, refuse, parts);
    if (operation !== 'DELETE')
      throw refuse(`unexpected operation ${operation}, node "${node}" can only create and delete mirror pods`);
    if (existing()?.spec?.nodeName !== node)
      throw refuse(`node "${node}" can only delete pods with spec.nodeName set to itself`);
    return;
  }
  if (subresource === 'status') {
    const prev = existing();
    if (prev?.spec?.nodeName !== node)
      throw refuse(`node "${node}" can only update pod status for pods with spec.nodeName set to itself`);
    const next = request.object as PodObject;
    if (!same(next.metadata.labels ?? {}, prev.metadata.labels ?? {}))
      throw refuse(`node "${node}" cannot update labels through pod status`);
    if (!same(next.status?.resourceClaimStatuses ?? [], prev.status?.resourceClaimStatuses ?? []))
      throw refuse(`node "${node}" cannot update resource claim statuses`);
    return;
  }
  if (subresource === 'eviction') {
    if (existing()?.spec?.nodeName !== node)
      throw refuse(`node "${node}" can only evict pods with spec.nodeName set to itself`);
    return;
  }
  throw refuse(`unexpected pod subresource "${subresource}", only "status" and "eviction" are allowed`);
}

function admitToken(node: string, request: AdmissionRequest, refuse: Refuse, parts: Parts): void {
  const { spec } = request.object as unknown as {
    spec?: { boundObjectRef?: { kind?: string; name?: string; uid?: string } | null };
  };
  const reference = spec?.boundObjectRef;
  if (reference === undefined || reference === null)
    throw refuse(`node "${node}" requested a token not bound to a pod`);
  if (reference.kind !== 'Pod') throw refuse(`node requested a token bound to a ${reference.kind}, not a pod`);
  if (!reference.uid) throw refuse(`node "${node}" requested a token with a pod binding without a uid`);
  const pod = parts.catalog.cache('', 'pods').get(`${request.namespace}/${reference.name ?? ''}`)?.object as
    | PodObject
    | undefined;
  if (pod === undefined || pod.metadata.uid !== reference.uid)
    throw refuse('the pod that the token is bound to does not exist');
  if (pod.spec?.nodeName !== node)
    throw refuse(`node "${node}" requested a token bound to a pod scheduled on a different node`);
}

function admitRequest(node: string, request: AdmissionRequest, refuse: Refuse): void {
  const { spec } = request.object as Frozen<KubeObject & CertificateSigningRequest>;
  if (
    spec.signerName !== 'kubernetes.io/kubelet-serving' &&
    spec.signerName !== 'kubernetes.io/kube-apiserver-client-kubelet'
  )
    return;
  try {
    const { subject } = parseRequest(Buffer.from(spec.request, 'base64').toString('latin1'));
    if (subject.commonName !== prefix + node) throw refuse('can only create a node CSR with CN=system:node:<node>');
  } catch (error) {
    if (error instanceof InvalidRequest) throw refuse('unable to parse csr');
    throw error;
  }
}

const small: Readonly<Record<string, (node: string, request: AdmissionRequest, refuse: Refuse) => void>> = {
  'coordination.k8s.io/leases': (node, { namespace, name }, refuse) => {
    if (namespace !== 'kube-node-lease')
      throw refuse(`can only access leases in the "kube-node-lease" system namespace`);
    if (name !== node) throw refuse('can only access node lease with the same name as the requesting node');
  },
  'storage.k8s.io/csinodes': (node, { name }, refuse) => {
    if (name !== node) throw refuse('can only access CSINode with the same name as the requesting node');
  },
  'resource.k8s.io/resourceslices': (node, { object, oldObject, operation }, refuse) => {
    const nameOf = (value: unknown): string | undefined =>
      (value as { spec?: { nodeName?: string } } | undefined)?.spec?.nodeName;
    if (nameOf(operation === 'DELETE' ? oldObject : object) !== node)
      throw refuse('can only access ResourceSlice with the same NodeName as the requesting node');
  },
};

export const nodeRestriction: AdmissionPlugin = {
  name: 'NodeRestriction',
  admit(request, parts) {
    const { user, served, subresource, operation } = request;
    if (!user.groups.includes('system:nodes') || !user.name.startsWith(prefix)) return;
    const node = user.name.slice(prefix.length);
    const { group, plural } = served.resource;
    const refuse: Refuse = (why) => forbidden(served.resource, request.name, why);
    if (node === '') throw refuse('could not determine node identity from user');
    switch (`${group}/${plural}`) {
      case '/pods':
        return admitPod(node, request, refuse, parts);
      case '/nodes':
        return operation === 'CONNECT' ? undefined : admitNode(node, request, refuse);
      case '/persistentvolumeclaims':
        if (subresource !== 'status') throw refuse(`may only update PVC status`);
        return;
      case '/serviceaccounts':
        if (operation === 'CREATE' && subresource === 'token') return admitToken(node, request, refuse, parts);
        return;
      case 'certificates.k8s.io/certificatesigningrequests':
        if (operation === 'CREATE' && subresource === '') return admitRequest(node, request, refuse);
        return;
      default:
        return small[`${group}/${plural}`]?.(node, request, refuse);
    }
  },
};

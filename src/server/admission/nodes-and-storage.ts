// Owns the small plugins for nodes, volumes and ingresses: taints of new nodes, protecting finalizers, default classes.
import type { Ingress, IngressClass } from '../../api/generated/networking.v1.ts';
import type { Node, PersistentVolumeClaim } from '../../api/generated/core.v1.ts';
import type { StorageClass } from '../../api/generated/storage.v1.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Parts } from '../parts.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';

function creates({ operation, served, subresource }: AdmissionRequest, group: string, plural: string): boolean {
  return (
    operation === 'CREATE' && subresource === '' && served.resource.group === group && served.resource.plural === plural
  );
}

/** A new node takes no pods before it has said that it is ready. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  admit(request) {
    if (!creates(request, '', 'nodes')) return;
    const node = request.object as unknown as Node;
    const spec = (node.spec ??= {});
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    if (spec.taints?.some(({ key, effect }) => key === taint.key && effect === taint.effect) !== true)
      spec.taints = [...(spec.taints ?? []), taint];
  },
};

const protections: readonly (readonly [group: string, plural: string, finalizer: string])[] = [
  ['', 'persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['', 'persistentvolumes', 'kubernetes.io/pv-protection'],
  ['storage.k8s.io', 'volumeattributesclasses', 'kubernetes.io/vac-protection'],
];

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  admit(request) {
    for (const [group, plural, finalizer] of protections) {
      if (!creates(request, group, plural)) continue;
      const { metadata } = request.object!;
      if (metadata.finalizers?.includes(finalizer) !== true)
        metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
    }
  },
};

/** The newest of those marked as default; of equally old ones the first by name. */
function defaultOf<T extends KubeObject>(
  parts: Parts,
  group: string,
  plural: string,
  ...annotations: string[]
): Frozen<T> | undefined {
  let found: Frozen<T> | undefined;
  for (const { object } of parts.catalog.cache(group, plural).list({ type: 'all' })) {
    if (!annotations.some((annotation) => object.metadata.annotations?.[annotation] === 'true')) continue;
    if (found === undefined || (object.metadata.creationTimestamp ?? '') > (found.metadata.creationTimestamp ?? ''))
      found = object as Frozen<T>;
  }
  return found;
}

const betaAnnotation = 'volume.beta.kubernetes.io/storage-class';

export const defaultStorageClass: AdmissionPlugin = {
  name: 'DefaultStorageClass',
  admit(request, parts) {
    if (!creates(request, '', 'persistentvolumeclaims')) return;
    const claim = request.object as unknown as PersistentVolumeClaim & KubeObject;
    if (claim.spec === undefined || claim.spec.storageClassName !== undefined) return;
    if (claim.metadata.annotations?.[betaAnnotation] !== undefined) return;
    const found = defaultOf<StorageClass & KubeObject>(
      parts,
      'storage.k8s.io',
      'storageclasses',
      'storageclass.kubernetes.io/is-default-class',
      'storageclass.beta.kubernetes.io/is-default-class',
    );
    if (found !== undefined) claim.spec.storageClassName = found.metadata.name;
  },
};

export const defaultIngressClass: AdmissionPlugin = {
  name: 'DefaultIngressClass',
  admit(request, parts) {
    if (!creates(request, 'networking.k8s.io', 'ingresses')) return;
    const ingress = request.object as unknown as Ingress & KubeObject;
    if (ingress.spec?.ingressClassName !== undefined) return;
    if (ingress.metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined) return;
    const found = defaultOf<IngressClass & KubeObject>(
      parts,
      'networking.k8s.io',
      'ingressclasses',
      'ingressclass.kubernetes.io/is-default-class',
    );
    if (found === undefined) return;
    ingress.spec ??= {};
    ingress.spec.ingressClassName = found.metadata.name;
  },
};

/** Claims grow only where their class allows it. */
export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  validate({ operation, served, subresource, object, oldObject, name }, parts) {
    if (
      operation !== 'UPDATE' ||
      subresource !== '' ||
      served.resource.group !== '' ||
      served.resource.plural !== 'persistentvolumeclaims'
    )
      return;
    const next = object as unknown as PersistentVolumeClaim;
    const prev = oldObject as unknown as PersistentVolumeClaim;
    const wanted = next.spec?.resources?.requests?.['storage'];
    if (wanted === undefined || wanted === prev.spec?.resources?.requests?.['storage']) return;
    const refuse = (why: string) => forbidden({ group: '', plural: 'persistentvolumeclaims' }, name, why);
    if (prev.status?.phase !== 'Bound') throw refuse('Only bound persistent volume claims can be expanded');
    const className = prev.spec?.storageClassName ?? '';
    const entry = className === '' ? undefined : parts.catalog.cache('storage.k8s.io', 'storageclasses').get(className);
    if ((entry?.object as Frozen<StorageClass & KubeObject> | undefined)?.allowVolumeExpansion !== true)
      throw refuse(
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      );
  },
};

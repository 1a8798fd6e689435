// Owns what plugins for pods share: which requests are about a pod's own spec.
import type { Pod } from '../../api/generated/core.v1.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { AdmissionRequest } from './admission.ts';

export type PodObject = Pod & KubeObject;

/** The pod that is created or updated as a whole; undefined for anything else. */
export function podOf({ served, subresource, object, operation }: AdmissionRequest): PodObject | undefined {
  const { group, plural } = served.resource;
  if (group !== '' || plural !== 'pods' || subresource !== '' || (operation !== 'CREATE' && operation !== 'UPDATE'))
    return undefined;
  return object as unknown as PodObject | undefined;
}

export const mirrorAnnotation = 'kubernetes.io/config.mirror';

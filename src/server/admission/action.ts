// Owns the admission of subresources that act (token, eviction): they are creations, and plugins see them as such.
import type { KubeObject } from '../../api/meta.ts';
import type { Parts } from '../parts.ts';
import { type ApiRequest, warn } from '../request.ts';
import type { Served } from '../served/served.ts';
import type { AdmissionRequest } from './admission.ts';

/** `object` may be changed by plugins. Throws what a plugin refuses with. */
export async function admitAction(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  object: KubeObject,
  dryRun: boolean,
): Promise<void> {
  const admission: AdmissionRequest = {
    operation: 'CREATE',
    served,
    subresource: request.info.subresource,
    namespace: request.info.namespace,
    name: request.info.name,
    object,
    oldObject: undefined,
    user: request.user,
    dryRun,
    warn: (text) => warn(request, text),
    source: request,
  };
  await parts.admission.admit(admission, parts);
  await parts.admission.validate(admission, parts);
}

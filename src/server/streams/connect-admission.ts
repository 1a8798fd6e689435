// Owns what all connections (exec, attach, portforward, proxy) share: no dry run, and admission, whose plugins see CONNECT with the options
// as an object, as upstream's do. Decides nothing.
import type { KubeObject } from '../../api/meta.ts';
import { badRequest } from '../../api/status-error.ts';
import type { Action } from '../action.ts';
import type { AdmissionRequest } from '../admission/admission.ts';
import type { Parts } from '../parts.ts';
import { type ApiRequest, warn } from '../request.ts';
import type { Served } from '../served/served.ts';

const optionKinds: Readonly<Record<string, string>> = {
  'pods/exec': 'PodExecOptions',
  'pods/attach': 'PodAttachOptions',
  'pods/portforward': 'PodPortForwardOptions',
  'pods/proxy': 'PodProxyOptions',
  'services/proxy': 'ServiceProxyOptions',
  'nodes/proxy': 'NodeProxyOptions',
};

/** A connection does what it does: whoever asks to only try it is refused. */
export function connection(resource: string, subresource: string, handle: Action['handle']): Action {
  return {
    group: '',
    resource,
    subresource,
    handle: (parts, request, served) => {
      if (request.query.has('dryRun')) throw badRequest('dryRun is not supported');
      return handle(parts, request, served);
    },
  };
}

/** Throws what a plugin refuses with. `options` are those of the request, by their names in the API. */
export async function admitConnect(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { namespace, name, resource, subresource } = request.info;
  const object = {
    apiVersion: 'v1',
    kind: optionKinds[`${resource}/${subresource}`] ?? '',
    metadata: {},
    ...options,
  } as unknown as KubeObject;
  const admission: AdmissionRequest = {
    operation: 'CONNECT',
    served,
    subresource,
    namespace,
    name,
    object,
    oldObject: undefined,
    user: request.user,
    dryRun: false,
    warn: (text) => warn(request, text),
    source: request,
  };
  await parts.admission.admit(admission, parts);
  await parts.admission.validate(admission, parts);
}

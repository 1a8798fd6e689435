// Owns the ConfigMap extension-apiserver-authentication, from which extension servers learn whom to trust.
import { thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import type { Transport } from '../../client/transport.ts';
import type { ApiServerOptions } from '../options.ts';
import { same } from '../verbs/equal.ts';

const collection = '/api/v1/namespaces/kube-system/configmaps';
const name = 'extension-apiserver-authentication';

function dataOf({ clientCa, requestHeader }: ApiServerOptions): Record<string, string> {
  return {
    ...(clientCa !== undefined && { 'client-ca-file': clientCa }),
    ...(requestHeader !== undefined && {
      'requestheader-allowed-names': JSON.stringify(requestHeader.allowedNames ?? []),
      'requestheader-client-ca-file': requestHeader.clientCa,
      'requestheader-extra-headers-prefix': JSON.stringify(requestHeader.extraHeaderPrefixes ?? ['X-Remote-Extra-']),
      'requestheader-group-headers': JSON.stringify(requestHeader.groupHeaders ?? ['X-Remote-Group']),
      'requestheader-username-headers': JSON.stringify(requestHeader.usernameHeaders ?? ['X-Remote-User']),
    }),
  };
}

/** Makes it, or brings it up to the options of this start. */
export async function authenticationConfig(options: ApiServerOptions, transport: Transport): Promise<void> {
  const data = dataOf(options);
  try {
    const present = (await transport.call({ method: 'GET', path: `${collection}/${name}` })) as Frozen<
      KubeObject & { data?: Record<string, string> }
    >;
    if (same(present.data ?? {}, data)) return;
    const next = { ...thaw(present), data };
    await transport.call({ method: 'PUT', path: `${collection}/${name}`, body: next });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const metadata = { name, namespace: 'kube-system' };
    await transport
      .call({ method: 'POST', path: collection, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } })
      .catch((refused: unknown) => {
        if (!isAlreadyExists(refused)) throw refused;
      });
  }
}

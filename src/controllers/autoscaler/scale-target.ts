// Owns finding and scaling what an autoscaler names: its resource by discovery, its scale subresource. Decides nothing.
import type { APIResourceList } from '../../api/generated/meta.v1.ts';
import type { Scale } from '../../api/generated/autoscaling.v1.ts';
import type { Client } from '../../client/client.ts';

export interface ScaleTarget {
  /** "/apis/apps/v1/namespaces/default/deployments/web/scale" */
  readonly path: string;
  readonly scale: Scale;
}

export interface Scales {
  /** Throws when the kind is not served, has no scale, or the object is not there. */
  get(
    namespace: string,
    ref: { apiVersion?: string; kind: string; name: string },
    signal: AbortSignal,
  ): Promise<ScaleTarget>;
  put(target: ScaleTarget, replicas: number, signal: AbortSignal): Promise<void>;
  /** "deployments.apps", "services" */
  resourceOf(apiVersion: string, kind: string, signal: AbortSignal): Promise<string>;
}

export function scales(client: Client): Scales {
  const folderOf = (apiVersion: string) => (apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`);

  async function pluralOf(apiVersion: string, kind: string, signal: AbortSignal): Promise<string> {
    const { resources } = (await client.raw('GET', folderOf(apiVersion), { signal })) as APIResourceList;
    const found = resources.find((one) => one.kind === kind && !one.name.includes('/'));
    if (found === undefined) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`);
    return found.name;
  }

  return {
    async get(namespace, { apiVersion = 'v1', kind, name }, signal) {
      const plural = await pluralOf(apiVersion, kind, signal);
      const at = `namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
      const path = `${folderOf(apiVersion)}/${at}/scale`;
      return { path, scale: (await client.raw('GET', path, { signal })) as Scale };
    },
    async put({ path, scale }, replicas, signal) {
      await client.raw('PUT', path, { body: { ...scale, spec: { ...scale.spec, replicas } }, signal });
    },
    async resourceOf(apiVersion, kind, signal) {
      const plural = await pluralOf(apiVersion, kind, signal);
      const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : undefined;
      return group === undefined ? plural : `${plural}.${group}`;
    },
  };
}

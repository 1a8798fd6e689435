// Owns where a webhook is reached: its URL, or an endpoint of its Service under the Service's own name.
import type { WebhookClientConfig } from '../../../api/generated/admissionregistration.v1.ts';
import type { Service } from '../../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../../api/generated/discovery.v1.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import type { Callee } from '../../callout.ts';
import { CalloutError } from '../../callout.ts';
import type { Parts } from '../../parts.ts';

/** Throws CalloutError when there is nowhere to go. */
export function calleeOf(config: Frozen<WebhookClientConfig>, parts: Pick<Parts, 'catalog' | 'random'>): Callee {
  const ca = config.caBundle
    ? { ca: Buffer.from(config.caBundle as unknown as string, 'base64').toString('latin1') }
    : {};
  if (config.url !== undefined && config.url !== '') return { url: urlOf(config.url), ...ca };
  const { service } = config;
  if (service === undefined) throw new CalloutError('neither url nor service');
  const { namespace, name, path = '' } = service;
  const port = service.port ?? 443;
  const url = urlOf(
    `https://${name}.${namespace}.svc:${port}${path.startsWith('/') || path === '' ? path : `/${path}`}`,
  );
  return { url, connectTo: endpointOf(parts, namespace, name, port), ...ca };
}

/** Its path as upstream's client asks for it: without doubled slashes (envtest writes them) and none at the end. */
function urlOf(text: string): URL {
  try {
    const url = new URL(text);
    url.pathname = url.pathname.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
    return url;
  } catch {
    throw new CalloutError(`${text} is no URL`);
  }
}

function endpointOf(
  parts: Pick<Parts, 'catalog' | 'random'>,
  namespace: string,
  name: string,
  port: number,
): { host: string; port: number } {
  const service = parts.catalog.cache('', 'services').get(`${namespace}/${name}`)?.object as
    | Frozen<KubeObject & Service>
    | undefined;
  if (service === undefined) throw new CalloutError(`service "${name}" not found`);
  const wanted = service.spec?.ports?.find((known) => known.port === port);
  if (wanted === undefined) throw new CalloutError(`no service port ${port} found for service "${name}"`);
  if (service.spec?.type === 'ExternalName') return { host: service.spec.externalName ?? '', port };
  for (const { object } of parts.catalog
    .cache('discovery.k8s.io', 'endpointslices')
    .list({ type: 'namespace', namespace })) {
    const slice = object as Frozen<KubeObject & EndpointSlice>;
    if (slice.metadata.labels?.['kubernetes.io/service-name'] !== name) continue;
    const target = slice.ports?.find((known) => (known.name ?? '') === (wanted.name ?? ''))?.port;
    const ready = (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    const host = ready[Math.min(ready.length - 1, Math.floor(parts.random.next() * ready.length))]?.addresses[0];
    if (target !== undefined && target !== null && host !== undefined) return { host, port: target };
  }
  const address = service.spec?.clusterIP;
  if (address !== undefined && address !== '' && address !== 'None') return { host: address, port };
  throw new CalloutError(`no endpoints available for service "${name}"`);
}

// Owns the paths of discovery: /api, /apis, /apis/G, /apis/G/V, in the form that the client asks for.
import { freeze } from '../../api/meta.ts';
import type { Counter } from '../../base/metrics.ts';
import {
  acceptHeader,
  formOr,
  mediaTypes,
  negotiate,
  parseAccept,
  plainOffer,
  wantsPretty,
  wideOffer,
} from '../http/form.ts';
import type { Offer } from '../http/form.ts';
import type { PathHandler } from '../paths.ts';
import { onlyGet } from '../paths.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Catalog } from '../served/served.ts';
import { noSuchResource } from '../verbs/dispatch.ts';
import { aggregatedDiscovery } from './aggregated.ts';
import type { Discoverable, Document } from './aggregated.ts';
import { apiVersions, groupList, groupOf, resourceList } from './legacy.ts';

/** `remade`: counts how often the one document for all was made anew. */
export function discoveryPaths(what: Discoverable, address: () => string, remade?: Counter): PathHandler {
  const { catalog, services } = what;
  const aggregated = aggregatedDiscovery(what, remade);
  return (request) => {
    const parts = request.info.path.replace(/\/+$/, '').split('/').slice(1);
    if (parts[0] === 'api') {
      if (parts.length === 1) return root(onlyGet(request), aggregated().core, () => apiVersions(address()));
      if (parts.length === 2) return version(request, catalog, '', parts[1]!);
    }
    if (parts[0] !== 'apis') return undefined;
    if (parts.length === 1) {
      const groups = (): object => groupList(services.listed());
      // With a slash behind it is another handler's, which knows the older form alone.
      return request.info.path.endsWith('/') ? told(request, groups()) : root(request, aggregated().groups, groups);
    }
    if (parts.length === 2) {
      const group = groupOf(services.listed(), parts[1]!);
      // The aggregator's own group is told of by the server within it.
      return parts[1] === 'apiregistration.k8s.io' ? found(onlyGet(request), group) : told(request, group);
    }
    if (parts.length === 3) return version(request, catalog, parts[1]!, parts[2]!);
    return undefined;
  };
}

/** Of a built-in group only GET is answered, and what it does not have is told; those of custom kinds are told whatever the method. */
function version(request: ApiRequest, catalog: Catalog, group: string, name: string): ApiAnswer | undefined {
  const any = catalog.all().find(({ resource }) => resource.group === group);
  const list = resourceList(catalog, group, name);
  if (any?.custom === true) return told(request, list);
  if (list !== undefined || any === undefined) return found(request, list, true);
  request.form = formOr(request, plainOffer);
  throw noSuchResource();
}

/** What tells of all groups and of custom kinds is told by a server of its own upstream, without a router. */
function told(request: ApiRequest, value: object | undefined): ApiAnswer | undefined {
  return found(request, value, false, wideOffer);
}

function root(request: ApiRequest, document: Document, legacy: () => object): ApiAnswer {
  for (const { type, parameters } of parseAccept(acceptHeader(request) ?? '')) {
    if (parameters.get('as') !== 'APIGroupDiscoveryList') {
      if (type === '*/*' || plainTypes.has(type)) break;
      continue;
    }
    // What peers of this server serve is what it serves: the profile "nopeer" changes nothing.
    const body =
      parameters.get('g') === 'apidiscovery.k8s.io' && parameters.get('v') === 'v2'
        ? encoded(document, type, wantsPretty(request) || parameters.get('pretty') === '1')
        : undefined;
    if (body === undefined) continue;
    const aggregatedType = `${type};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`;
    const headers = { ETag: document.tag, Vary: 'Accept', 'Cache-Control': 'public' };
    const seen = request.headers['if-none-match'];
    if (seen === document.tag) return { type: 'bytes', code: 304, contentType: aggregatedType, body: '', headers };
    return { type: 'bytes', code: 200, contentType: aggregatedType, body, headers };
  }
  return request.info.path === '/apis' ? told(request, legacy())! : found(request, legacy())!;
}

const plainTypes: ReadonlySet<string> = new Set(plainOffer.media.map((media) => mediaTypes[media]));

function encoded(document: Document, type: string, isPretty: boolean): string | Buffer | undefined {
  if (type === mediaTypes.json) return isPretty ? JSON.stringify(document.value, null, 2) : document.json;
  if (type === mediaTypes.yaml) return document.yaml();
  return type === mediaTypes.protobuf ? document.protobuf() : undefined;
}

function found(
  request: ApiRequest,
  value: object | undefined,
  isStrict = false,
  offer: Offer = plainOffer,
): ApiAnswer | undefined {
  if (value === undefined) return undefined;
  if (isStrict) onlyGet(request);
  request.form = negotiate(acceptHeader(request), wantsPretty(request), offer);
  return { type: 'object', code: 200, object: freeze(value) as object };
}

// Owns the paths of discovery: /api, /apis, /apis/G, /apis/G/V, in the form that the client asks for.
import { freeze } from '../../api/meta.ts';
import { acceptHeader, mediaTypes, negotiate, parseAccept, plainOffer, wantsPretty } from '../http/form.ts';
import type { PathHandler } from '../paths.ts';
import { onlyGet } from '../paths.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { aggregatedDiscovery } from './aggregated.ts';
import type { Discoverable, Document } from './aggregated.ts';
import { apiVersions, groupList, groupOf, resourceList } from './legacy.ts';

export function discoveryPaths(what: Discoverable, address: () => string): PathHandler {
  const { catalog, services } = what;
  const aggregated = aggregatedDiscovery(what);
  return (request) => {
    const parts = request.info.path.replace(/\/+$/, '').split('/').slice(1);
    if (parts[0] === 'api') {
      if (parts.length === 1) return root(onlyGet(request), aggregated().core, () => apiVersions(address()));
      if (parts.length === 2) return found(request, resourceList(catalog, '', parts[1]!), true);
    }
    if (parts[0] !== 'apis') return undefined;
    if (parts.length === 1) return root(request, aggregated().groups, () => groupList(services.listed()));
    if (parts.length === 2) return found(request, groupOf(services.listed(), parts[1]!));
    if (parts.length === 3) {
      const any = catalog.all().find(({ resource }) => resource.group === parts[1]);
      // Groups, and versions of custom kinds, are told whatever the method, as upstream does it.
      return found(request, resourceList(catalog, parts[1]!, parts[2]!), any?.custom !== true);
    }
    return undefined;
  };
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
        ? encoded(document, type)
        : undefined;
    if (body === undefined) continue;
    const aggregatedType = `${type};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`;
    const headers = { ETag: document.tag, Vary: 'Accept', 'Cache-Control': 'public' };
    const seen = request.headers['if-none-match'];
    if (seen === document.tag) return { type: 'bytes', code: 304, contentType: aggregatedType, body: '', headers };
    return { type: 'bytes', code: 200, contentType: aggregatedType, body, headers };
  }
  return found(request, legacy())!;
}

const plainTypes: ReadonlySet<string> = new Set(plainOffer.media.map((media) => mediaTypes[media]));

function encoded(document: Document, type: string): string | Buffer | undefined {
  if (type === mediaTypes.json) return document.json;
  if (type === mediaTypes.yaml) return document.yaml();
  return type === mediaTypes.protobuf ? document.protobuf() : undefined;
}

function found(request: ApiRequest, value: object | undefined, isStrict = false): ApiAnswer | undefined {
  if (value === undefined) return undefined;
  if (isStrict) onlyGet(request);
  request.form = negotiate(acceptHeader(request), wantsPretty(request), plainOffer);
  return { type: 'object', code: 200, object: freeze(value) as object };
}

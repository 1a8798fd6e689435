// Owns the choice of the answer's form before anything is done: what cannot be answered is refused first.
import { badRequest, statusError } from '../../api/status-error.ts';
import {
  acceptHeader,
  cborOffer,
  customOffer,
  formOr,
  mediaTypes,
  negotiate,
  noTransformation,
  objectOffer,
  wantsPretty,
  watchMedia,
} from '../http/form.ts';
import type { RequestInfo } from '../request-info.ts';
import type { ApiRequest } from '../request.ts';
import type { Catalog, Served } from '../served/served.ts';
import type { Stage } from '../pipeline.ts';
import { isTunnel } from './limit.ts';

const needsName: ReadonlySet<string> = new Set(['update', 'patch']);
const includes: ReadonlySet<string> = new Set(['', 'None', 'Metadata', 'Object']);

/** `cbor`: the feature gate CBORServingAndStorage, off by default as in 1.37. */
export function negotiateStage(catalog: Catalog, cbor = false): Stage {
  const offer = cbor ? cborOffer : objectOffer;
  const streams = cbor ? [...watchMedia, 'cbor' as const] : watchMedia;
  return {
    name: 'negotiate',
    run(request) {
      if (!request.info.isResource || request.peer.user !== undefined) return;
      // What answers there is no object, and not ours to choose the form of.
      // A log is text, but upstream negotiates the form of its refusals all the same.
      if (isTunnel(request) && request.info.subresource !== 'log') return;
      if (cbor) request.cbor = true;
      const { group, version, resource } = request.info;
      const served = catalog.find(group, version, resource);
      const isCustom = served?.custom === true;
      const wanted = acceptHeader(request);
      const pretty = wantsPretty(request);
      // What no route leads to is told in whatever form.
      if (served === undefined || !isRouted(served, request)) {
        request.form = formOr(request, offer);
        return;
      }
      // A refusal is no object of the kind: it can be told in any form.
      if (isCustom && wanted?.includes(mediaTypes.protobuf) === true) request.form = negotiate(wanted, pretty, offer);
      const form = negotiate(wanted, pretty, isCustom ? { ...customOffer, media: offer.media } : offer);
      if (form.as === 'Table' && !hasTable(served, request.info)) throw noTransformation(offer);
      const include = form.as === 'Table' ? request.query.get('includeObject') : null;
      if (include !== null && !includes.has(include))
        throw badRequest(`unrecognized includeObject value: ${JSON.stringify(include)}`);
      request.form = include === null ? form : { ...form, includeObject: include };
      // The refusal itself comes in the form asked for.
      if (request.info.verb === 'watch' && !streams.includes(form.media))
        throw statusError(
          'NotAcceptable',
          `only the following media types are accepted: ${streams.map((media) => (media === 'cbor' ? 'application/cbor-seq' : `${mediaTypes[media]};stream=watch`)).join(', ')}`,
        );
    },
  };
}

function isRouted(served: Served, { method, info }: ApiRequest): boolean {
  if (method === 'HEAD' || method === 'OPTIONS') return false;
  if (info.subresource !== '') return served.subresources.get(info.subresource)?.verbs.has(info.verb) === true;
  const isNamed = info.name !== '';
  return served.verbs.has(info.verb) && (info.verb === 'create' ? !isNamed : isNamed || !needsName.has(info.verb));
}

/** What is only asked, and what does something, has no rows. */
function hasTable(served: Served, { subresource }: RequestInfo): boolean {
  return subresource === ''
    ? served.verbs.has('get') || served.verbs.has('list')
    : served.subresources.get(subresource)?.hasTable === true;
}

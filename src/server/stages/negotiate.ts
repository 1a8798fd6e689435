// Owns the choice of the answer's form before anything is done: what cannot be answered is refused first.
import { isStatusError } from '../../api/status-error.ts';
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
} from '../http/form.ts';
import type { RequestInfo } from '../request-info.ts';
import { type ApiRequest, warn } from '../request.ts';
import { mayDo } from '../served/served.ts';
import type { Catalog, Served } from '../served/served.ts';
import type { Stage } from '../pipeline.ts';
import { isMisplaced } from '../verbs/dispatch.ts';
import { isPatchType } from '../verbs/patch.ts';
import { isTunnel } from './limit.ts';

const needsName: ReadonlySet<string> = new Set(['update', 'patch']);

/** `cbor`: the feature gate CBORServingAndStorage, off by default as in 1.37. */
export function negotiateStage(catalog: Catalog, cbor = false): Stage {
  const offer = cbor ? cborOffer : objectOffer;
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
      // What no route leads to, and a body that no route takes, is told of in whatever form.
      if (served === undefined || !isRouted(served, request)) {
        request.form = formOr(request, offer);
        return;
      }
      try {
        // A refusal is no object of the kind: it can be told in any form.
        if (isCustom && wanted?.includes(mediaTypes.protobuf) === true) request.form = negotiate(wanted, pretty, offer);
        const form = negotiate(wanted, pretty, isCustom ? { ...customOffer, media: offer.media } : offer);
        if (form.as === 'Table' && !hasTable(served, request.info)) throw noTransformation(offer);
        const include = form.as === 'Table' ? request.query.get('includeObject') : null;
        request.form = include === null ? form : { ...form, includeObject: include };
      } catch (error) {
        const { deprecated } = served.resource;
        // Who knows of the transformation has warned before; the router, who knows of types, has not.
        if (deprecated !== undefined && isStatusError(error, 'NotAcceptable') && error.status.details === undefined)
          warn(request, deprecated);
        throw error;
      }
    },
  };
}

function isRouted(served: Served, request: ApiRequest): boolean {
  const { method, info } = request;
  if (method === 'HEAD' || method === 'OPTIONS') return false;
  if (info.verb === 'patch' && !isPatchType(request, served.custom)) return false;
  if (info.subresource !== '') return served.subresources.get(info.subresource)?.verbs.has(info.verb) === true;
  const isNamed = info.name !== '';
  if (served.custom && isMisplaced(served, info)) return false;
  return mayDo(served, info.verb) && (info.verb === 'create' ? !isNamed : isNamed || !needsName.has(info.verb));
}

/** What is only asked, and what does something, has no rows. */
function hasTable(served: Served, { subresource }: RequestInfo): boolean {
  return subresource === ''
    ? served.verbs.has('get') || served.verbs.has('list')
    : served.subresources.get(subresource)?.hasTable === true;
}

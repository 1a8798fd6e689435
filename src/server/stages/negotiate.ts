// Owns the choice of the answer's form before anything is done: what cannot be answered is refused first.
import { badRequest, statusError } from '../../api/status-error.ts';
import {
  acceptHeader,
  cborOffer,
  customOffer,
  formOr,
  mediaTypes,
  negotiate,
  objectOffer,
  wantsPretty,
  watchMedia,
} from '../http/form.ts';
import type { Catalog } from '../served/served.ts';
import type { Stage } from '../pipeline.ts';
import { isTunnel } from './limit.ts';

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
      if (isTunnel(request)) return;
      if (cbor) request.cbor = true;
      const { group, version, resource } = request.info;
      const served = catalog.find(group, version, resource);
      const isCustom = served?.custom === true;
      const wanted = acceptHeader(request);
      const pretty = wantsPretty(request);
      // That there is no such resource is told in whatever form.
      if (served === undefined) {
        request.form = formOr(request, offer);
        return;
      }
      // A refusal is no object of the kind: it can be told in any form.
      if (isCustom && wanted?.includes(mediaTypes.protobuf) === true) request.form = negotiate(wanted, pretty, offer);
      const form = negotiate(wanted, pretty, isCustom ? { ...customOffer, media: offer.media } : offer);
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

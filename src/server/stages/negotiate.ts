// Owns the choice of the answer's form before anything is done: what cannot be answered is refused first.
import { badRequest, statusError } from '../../api/status-error.ts';
import { mediaTypes, negotiate, objectOffer, watchMedia } from '../http/form.ts';
import type { Stage } from '../pipeline.ts';
import { queryFlag } from '../request-info.ts';

const includes: ReadonlySet<string> = new Set(['', 'None', 'Metadata', 'Object']);

export function negotiateStage(): Stage {
  return {
    name: 'negotiate',
    run(request) {
      if (!request.info.isResource || request.peer.user !== undefined) return;
      const accept = request.headers['accept'];
      const pretty = request.query.has('pretty') && queryFlag(request.query.get('pretty'));
      const form = negotiate(Array.isArray(accept) ? accept.join(',') : accept, pretty, objectOffer);
      const include = form.as === 'Table' ? request.query.get('includeObject') : null;
      if (include !== null && !includes.has(include))
        throw badRequest(`unrecognized includeObject value: ${JSON.stringify(include)}`);
      request.form = include === null ? form : { ...form, includeObject: include };
      // The refusal itself comes in the form asked for.
      if (request.info.verb === 'watch' && !watchMedia.includes(form.media))
        throw statusError(
          'NotAcceptable',
          `only the following media types are accepted: ${watchMedia.map((media) => `${mediaTypes[media]};stream=watch`).join(', ')}`,
          {},
        );
    },
  };
}

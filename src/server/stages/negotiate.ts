// Owns the choice of the answer's form before anything is done: what cannot be answered is refused first.
import { negotiate, objectOffer, watchOffer } from '../http/form.ts';
import type { Stage } from '../pipeline.ts';
import { queryFlag } from '../request-info.ts';

export function negotiateStage(): Stage {
  return {
    name: 'negotiate',
    run(request) {
      if (!request.info.isResource || request.peer.user !== undefined) return;
      const accept = request.headers['accept'];
      const pretty = request.query.has('pretty') && queryFlag(request.query.get('pretty'));
      const form = negotiate(
        Array.isArray(accept) ? accept.join(',') : accept,
        pretty,
        request.info.verb === 'watch' ? watchOffer : objectOffer,
      );
      const include = form.as === 'Table' ? request.query.get('includeObject') : null;
      request.form = include === null ? form : { ...form, includeObject: include };
    },
  };
}

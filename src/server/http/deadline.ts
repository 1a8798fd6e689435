// Owns how long a request may take: what the client asks for, at most what the server allows. Watches and tunnels have no end.
import { badRequest, statusError } from '../../api/status-error.ts';
import { parseDuration } from '../../api/time.ts';
import type { Clock } from '../../base/clock.ts';
import { statusAnswer } from '../pipeline.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { isTunnel } from '../stages/limit.ts';

/** Milliseconds; undefined: as long as it likes. Throws BadRequest for a `timeout` that is no duration. */
export function timeLimit(request: ApiRequest, maxMs: number): number | undefined {
  const { info, query } = request;
  if (info.verb === 'watch' || isTunnel(request) || info.path.startsWith('/debug/pprof')) return undefined;
  const text = query.get('timeout') ?? '';
  if (text === '') return maxMs;
  const wanted = parseDuration(text);
  if (wanted === undefined)
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`);
  const wantedMs = Number(wanted) / 1e6;
  return wantedMs > 0 ? Math.min(wantedMs, maxMs) : maxMs;
}

/** The answer, or after `limitMs` another that says that it took too long; `expire` then ends what goes on. */
export function withinTime(
  answer: Promise<ApiAnswer>,
  limitMs: number,
  clock: Clock,
  expire: () => void,
): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => {
      resolve(
        statusAnswer(
          statusError('Timeout', 'Timeout: request did not complete within the allotted timeout', {}).status,
        ),
      );
      expire();
    });
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}

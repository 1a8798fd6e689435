// Owns how long a request may take: what the client asks for, at most what the server allows. Watches and tunnels have no end.
import { badRequest } from '../../api/status-error.ts';
import { parseDuration } from '../../api/time.ts';
import type { Clock } from '../../base/clock.ts';
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
    throw badRequest(`invalid timeout specified in the request URL - time: ${durationProblem(text)}`);
  const wantedMs = Number(wanted) / 1e6;
  return wantedMs > 0 ? Math.min(wantedMs, maxMs) : maxMs;
}

/** What Go says of what is no duration. */
function durationProblem(text: string): string {
  const quoted = JSON.stringify(text);
  let rest = text.replace(/^[-+]/, '');
  for (let found; (found = /^(?:\d+\.?\d*|\.\d+)/.exec(rest)) !== null; ) {
    rest = rest.slice(found[0].length);
    const unit = /^[^.\d]*/.exec(rest)![0];
    if (unit === '') return `missing unit in duration ${quoted}`;
    if (!units.has(unit)) return `unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    rest = rest.slice(unit.length);
  }
  return `invalid duration ${quoted}`;
}

const units: ReadonlySet<string> = new Set(['ns', 'us', '\u00b5s', '\u03bcs', 'ms', 's', 'm', 'h']);

/** Upstream answers from outside of all that knows of forms: text, and a Status that does not say what it is. */
export const lateAnswer: ApiAnswer = {
  type: 'bytes',
  code: 504,
  contentType: 'text/plain; charset=utf-8',
  body: `${JSON.stringify({
    metadata: {},
    status: 'Failure',
    message: 'Timeout: request did not complete within the allotted timeout',
    reason: 'Timeout',
    details: {},
    code: 504,
  })}\n`,
};

/** The answer, or after `limitMs` another that says that it took too long; `expire` then ends what goes on. */
export function withinTime(
  answer: Promise<ApiAnswer>,
  limitMs: number,
  clock: Clock,
  expire: () => void,
): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const startMs = clock.monotonic();
    const late = (): void => {
      resolve(lateAnswer);
      expire();
    };
    const timer = clock.after(limitMs, late);
    answer
      // Timers are coarse: a limit that is less than their unit is over before they tell.
      .then((found) => (limitMs < 1 && clock.monotonic() - startMs > limitMs ? late() : resolve(found)), reject)
      .finally(() => timer.cancel());
  });
}

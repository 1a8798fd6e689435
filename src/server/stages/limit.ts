// Owns the bound on requests under way: more than that are told to come back. Watches and requests of this process do not count.
import { statusError } from '../../api/status-error.ts';
import type { PathHandler } from '../paths.ts';
import type { Stage, Watcher } from '../pipeline.ts';
import type { ApiRequest } from '../request.ts';

export interface Limit {
  readonly stage: Stage;
  readonly watcher: Watcher;
  /** What it is doing now, for people. */
  readonly debug?: PathHandler;
}

function counts({ info, peer }: ApiRequest): boolean {
  // Long-running requests hold no worker; health checks must always get through.
  return peer.user === undefined && info.isResource && info.verb !== 'watch';
}

/** Members of system:masters always get through: they are who can help. */
export function limitStage(maxInflight: number): Limit {
  let underWay = 0;
  const counted = new WeakSet<ApiRequest>();
  return {
    stage: {
      name: 'limit',
      run(request) {
        if (!counts(request)) return;
        if (underWay >= maxInflight && !request.user.groups.includes('system:masters'))
          throw statusError('TooManyRequests', 'too many requests, please try again later', { retryAfterSeconds: 1 });
        underWay++;
        counted.add(request);
      },
    },
    watcher: {
      finished(request) {
        if (counted.delete(request)) underWay--;
      },
    },
  };
}

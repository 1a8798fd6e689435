// Owns the stage that finds out who asks. Anonymous is for requests without credentials, never for wrong ones.
import type { StatusError } from '../../api/status-error.ts';
import { statusError } from '../../api/status-error.ts';
import type { Authenticator } from '../authn/authenticator.ts';
import { anonymousUser, BadCredential } from '../authn/authenticator.ts';
import type { Anonymous } from '../authn/compose.ts';
import type { Stage } from '../pipeline.ts';
import type { ApiRequest, UserInfo } from '../request.ts';

export interface AuthenticateOptions {
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous;
}

export function unauthorized(): StatusError {
  return statusError('Unauthorized', 'Unauthorized');
}

export function authenticateStage({ authenticators, anonymous }: AuthenticateOptions): Stage {
  async function goOn(request: ApiRequest, from: number, first: Promise<UserInfo | undefined>): Promise<void> {
    let refused = false;
    for (let at = from, pending: Promise<UserInfo | undefined> | UserInfo | undefined = first; ; at++) {
      try {
        const user = await pending;
        if (user !== undefined) return accept(request, user);
      } catch (error) {
        if (!(error instanceof BadCredential)) throw error;
        refused = true;
      }
      if (at >= authenticators.length) break;
      pending = Promise.resolve().then(() => authenticators[at]!.authenticate(request));
    }
    conclude(request, refused);
  }

  function accept(request: ApiRequest, user: UserInfo): void {
    request.user = user;
  }

  function conclude(request: ApiRequest, refused: boolean): void {
    if (refused || !anonymous.allowedAt(request.info.path)) throw unauthorized();
    request.user = anonymousUser;
  }

  return {
    name: 'authenticate',
    run(request) {
      if (request.peer.user !== undefined) {
        request.user = request.peer.user;
        return undefined;
      }
      let refused = false;
      for (let at = 0; at < authenticators.length; at++) {
        try {
          const user = authenticators[at]!.authenticate(request);
          if (user instanceof Promise) return goOn(request, at + 1, user);
          if (user !== undefined) return accept(request, user);
        } catch (error) {
          if (!(error instanceof BadCredential)) throw error;
          refused = true;
        }
      }
      return conclude(request, refused);
    },
  };
}

// Owns the authenticator that asks another server who a bearer token is (TokenReview), with its answers remembered for a while.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Callee, Callout } from '../callout.ts';
import { CalloutError } from '../callout.ts';
import { authenticated } from './authenticator.ts';
import type { TokenAuthenticator, TokenResult } from './authenticator.ts';

export interface WebhookTokenOptions {
  readonly callee: Callee;
  readonly bearerToken?: string;
  /** --authentication-token-webhook-cache-ttl; default 2 minutes. */
  readonly ttlMs?: number;
}

const rememberLimit = 4096;
const timeoutMs = 10_000;

/** A TokenReview as another server answers it: nothing of it is taken for granted. */
export interface Review {
  readonly status?: {
    readonly authenticated?: unknown;
    readonly audiences?: unknown;
    readonly user?: {
      readonly username?: unknown;
      readonly uid?: unknown;
      readonly groups?: unknown;
      readonly extra?: unknown;
    };
  };
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

export function resultOf({ status }: Review, audiences: readonly string[]): TokenResult | undefined {
  if (status?.authenticated !== true || typeof status.user?.username !== 'string' || status.user.username === '')
    return undefined;
  const { username, uid, groups, extra } = status.user;
  const more = Object.entries((extra ?? {}) as Record<string, unknown>).map(
    ([key, values]) => [key, texts(values)] as const,
  );
  const user = authenticated({
    name: username,
    ...(typeof uid === 'string' && uid !== '' && { uid }),
    groups: texts(groups),
    ...(more.length > 0 && { extra: Object.fromEntries(more) }),
  });
  // A webhook that says nothing of audiences does not know them: its tokens are for this server.
  const said = texts(status.audiences);
  return { user, audiences: said.length > 0 ? said : audiences };
}

export function webhookTokens(
  options: WebhookTokenOptions,
  audiences: readonly string[],
  { callout, clock, log }: { readonly callout: Callout; readonly clock: Clock; readonly log: Logger },
): TokenAuthenticator {
  const known = new LRUCache<string, { readonly result: TokenResult | undefined; readonly untilMs: number }>({
    max: rememberLimit,
  });
  return {
    name: 'webhook',
    async authenticateToken(token) {
      const key = createHash('sha256').update(token).digest('base64');
      const found = known.get(key);
      if (found !== undefined && found.untilMs > clock.now()) return found.result;
      try {
        const { status, body } = await callout.call(options.callee, {
          method: 'POST',
          timeoutMs,
          ...(options.bearerToken !== undefined && { headers: { authorization: `Bearer ${options.bearerToken}` } }),
          body: JSON.stringify({
            apiVersion: 'authentication.k8s.io/v1',
            kind: 'TokenReview',
            spec: { token, audiences },
          }),
        });
        if (status < 200 || status > 299) throw new CalloutError(`status ${status}`);
        const result = resultOf((JSON.parse(body) ?? {}) as Review, audiences);
        known.set(key, { result, untilMs: clock.now() + (options.ttlMs ?? 120_000) });
        return result;
      } catch (error) {
        if (!(error instanceof CalloutError) && !(error instanceof SyntaxError)) throw error;
        log.warn('the authentication webhook gave no answer', { error: error.message });
        return undefined;
      }
    },
  };
}

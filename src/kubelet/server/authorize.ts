// Owns who may ask a kubelet what: tokens by TokenReview, rights by SubjectAccessReview, both remembered for a while.
import { LRUCache } from 'lru-cache';
import type { SubjectAccessReview } from '../../api/generated/authorization.v1.ts';
import type { TokenReview } from '../../api/generated/authentication.v1.ts';
import { subjectAccessReviews, tokenReviews } from '../../api/generated/resources.ts';
import { type New, thaw } from '../../api/meta.ts';
import { statusError } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import type { KubeletRequestInfo } from '../options.ts';

interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

const maxEntries = 1000;
const tokenTtlMs = 120_000;
const allowedTtlMs = 300_000;
const deniedTtlMs = 30_000;

/** Throws Unauthorized or Forbidden. */
export function kubeletAuthorizer(client: Client, nodeName: string): (request: KubeletRequestInfo) => Promise<void> {
  const tokens = new LRUCache<string, User>({ max: maxEntries, ttl: tokenTtlMs });
  const rights = new LRUCache<string, boolean>({ max: maxEntries });

  async function userOf(request: KubeletRequestInfo): Promise<User> {
    if (request.user) return request.user;
    if (request.bearerToken === undefined) return { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    const known = tokens.get(request.bearerToken);
    if (known) return known;
    const { status } = await client
      .resource(tokenReviews)
      .create({ metadata: {}, spec: { token: request.bearerToken } } as New<TokenReview>);
    if (!status.authenticated) throw statusError('Unauthorized', 'Unauthorized');
    const user = { name: status.user?.username ?? '', groups: [...(status.user?.groups ?? [])] };
    tokens.set(request.bearerToken, user);
    return user;
  }

  async function isAllowed(user: User, verb: string, subresource: string): Promise<boolean> {
    const key = JSON.stringify([user, verb, subresource]);
    const known = rights.get(key);
    if (known !== undefined) return known;
    const { status } = await client.resource(subjectAccessReviews).create({
      metadata: {},
      spec: {
        user: user.name,
        groups: [...user.groups],
        resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
      },
    } as New<SubjectAccessReview>);
    const allowed = thaw(status).allowed;
    rights.set(key, allowed, { ttl: allowed ? allowedTtlMs : deniedTtlMs });
    return allowed;
  }

  return async (request) => {
    const user = await userOf(request);
    // KEP-2862: the finer subresource suffices, and so does the older, coarser one.
    for (const subresource of new Set([request.subresource, 'proxy']))
      if (await isAllowed(user, request.verb, subresource)) return;
    throw statusError(
      'Forbidden',
      `Forbidden (user=${user.name}, verb=${request.verb}, resource=nodes, subresource(s)=[${[...new Set([request.subresource, 'proxy'])].join(' ')}])`,
    );
  };
}

// Owns the question whether a user may do something: attributes in, decision out; authorizers in order.
import type { RequestInfo } from '../request-info.ts';
import type { UserInfo } from '../request.ts';

export interface Attributes {
  readonly user: UserInfo;
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** For paths that are no resources. */
  readonly path: string;
}

export type Decision = 'allow' | 'deny' | 'no opinion';

export interface Authorizer {
  readonly name: string;
  decide(attributes: Attributes): Decision;
  /** Why not, when it has something to say. */
  reason?(attributes: Attributes): string;
}

export function attributesOf(user: UserInfo, info: RequestInfo): Attributes {
  return { user, ...info };
}

/** The first opinion counts; without any it is no. */
export function isAllowed(authorizers: readonly Authorizer[], attributes: Attributes): boolean {
  for (const authorizer of authorizers) {
    const decision = authorizer.decide(attributes);
    if (decision !== 'no opinion') return decision === 'allow';
  }
  return false;
}

export const alwaysAllow: Authorizer = { name: 'AlwaysAllow', decide: () => 'allow' };
export const alwaysDeny: Authorizer = { name: 'AlwaysDeny', decide: () => 'no opinion' };

/** Members of system:masters may do anything, whatever the other authorizers say (so that nobody can lock the admin out). */
export const privilegedGroup: Authorizer = {
  name: 'Masters',
  decide: ({ user }) => (user.groups.includes('system:masters') ? 'allow' : 'no opinion'),
};

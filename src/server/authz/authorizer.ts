// Owns the question whether a user may do something: attributes in, decision out; authorizers in order.
import type { FieldSelector } from '../../api/field-selector.ts';
import type { Selector } from '../../api/selector.ts';
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
  /** Of lists, watches and collections: what is asked for at most. Absent when it selects everything or cannot be read. */
  readonly fieldSelector?: FieldSelector;
  readonly labelSelector?: Selector;
}

export type Decision = 'allow' | 'deny' | 'no opinion';

export interface Authorizer {
  readonly name: string;
  /** Decides case by case for anybody: what it allows cannot be listed. */
  readonly hasNoRules?: boolean;
  decide(attributes: Attributes): Decision | Promise<Decision>;
  /** Why, when it has something to say of an opinion or of having none. */
  reason?(attributes: Attributes): string;
}

export function attributesOf(user: UserInfo, info: RequestInfo): Attributes {
  return { user, ...info };
}

/** The first opinion counts; without any it is no. A promise only when somebody far away is asked. */
export function allowed(authorizers: readonly Authorizer[], attributes: Attributes): boolean | Promise<boolean> {
  for (let at = 0; at < authorizers.length; at++) {
    const decision = authorizers[at]!.decide(attributes);
    // Those that come after, as they are now: the chain may be another one when the answer is there.
    if (decision instanceof Promise) return goOn(authorizers.slice(at + 1), attributes, decision);
    if (decision !== 'no opinion') return decision === 'allow';
  }
  return false;
}

async function goOn(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  first: Promise<Decision>,
): Promise<boolean> {
  const decision = await first;
  return decision === 'no opinion' ? allowed(authorizers, attributes) : decision === 'allow';
}

export const alwaysAllow: Authorizer = { name: 'AlwaysAllow', decide: () => 'allow' };
export const alwaysDeny: Authorizer = { name: 'AlwaysDeny', decide: () => 'no opinion' };

/** Members of system:masters may do anything, whatever the other authorizers say (so that nobody can lock the admin out). */
export const privilegedGroup: Authorizer = {
  name: 'Masters',
  decide: ({ user }) => (user.groups.includes('system:masters') ? 'allow' : 'no opinion'),
};

// Owns the stage that lets a user act as another, where the policy allows each part of that identity.
import { badRequest } from '../../api/status-error.ts';
import { decodeKey } from '../authn/front-proxy.ts';
import type { Attributes, Authorizer } from '../authz/authorizer.ts';
import { allowed, attributesOf } from '../authz/authorizer.ts';
import type { Stage } from '../pipeline.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import { noSniff, refusal } from './authorize.ts';

interface Wanted {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid: string | undefined;
  readonly extra: Readonly<Record<string, string[]>>;
  readonly account: { readonly namespace: string; readonly name: string } | undefined;
  readonly node: string | undefined;
  readonly nameOnly: boolean;
}

/** A way to impersonate (KEP-5284): what it needs to be allowed, and who the user then is. */
interface Mode {
  readonly name: string;
  isFor(wanted: Wanted, user: UserInfo): boolean;
  /** The verb on the identity; undefined parts are those of `check`. */
  readonly verb: string;
  /** The prefix of the verb that the request itself needs; absent for impersonation of old. */
  readonly on?: string;
  needs(wanted: Wanted): Partial<Attributes>[];
  become(wanted: Wanted): UserInfo;
}

const authentication = 'authentication.k8s.io';

function partsOf({ groups, uid, extra }: Wanted, coreGroup: string): Partial<Attributes>[] {
  return [
    ...groups.map((name) => ({ resource: 'groups', name, group: coreGroup })),
    ...(uid === undefined ? [] : [{ resource: 'uids', name: uid, group: authentication }]),
    ...Object.entries(extra).flatMap(([key, list]) =>
      list.map((name) => ({ resource: 'userextras', subresource: key, name, group: authentication })),
    ),
  ];
}

const asNode = ({ name }: Wanted): UserInfo => ({ name, groups: ['system:nodes', 'system:authenticated'] });

/** Tried in this order, but for the one that worked last for the same user. */
const modes: readonly Mode[] = [
  {
    name: 'associated-node',
    isFor: ({ node, nameOnly }, user) =>
      node !== undefined && nameOnly && user.extra?.['authentication.kubernetes.io/node-name']?.[0] === node,
    verb: 'impersonate:associated-node',
    on: 'impersonate-on:associated-node:',
    needs: () => [{ resource: 'nodes', name: '*', group: authentication }],
    become: asNode,
  },
  {
    name: 'arbitrary-node',
    isFor: ({ node, nameOnly }) => node !== undefined && nameOnly,
    verb: 'impersonate:arbitrary-node',
    on: 'impersonate-on:arbitrary-node:',
    needs: ({ node }) => [{ resource: 'nodes', name: node!, group: authentication }],
    become: asNode,
  },
  {
    name: 'serviceaccount',
    isFor: ({ account, nameOnly }) => account !== undefined && nameOnly,
    verb: 'impersonate:serviceaccount',
    on: 'impersonate-on:serviceaccount:',
    needs: ({ account }) => [{ resource: 'serviceaccounts', ...account!, group: authentication }],
    become: impersonated,
  },
  {
    name: 'user-info',
    isFor: ({ account, node }) => account === undefined && node === undefined,
    verb: 'impersonate:user-info',
    on: 'impersonate-on:user-info:',
    needs: (wanted) => [
      { resource: 'users', name: wanted.name, group: authentication },
      ...partsOf(wanted, authentication),
    ],
    become: impersonated,
  },
  {
    name: 'legacy',
    isFor: () => true,
    verb: 'impersonate',
    needs: (wanted) => [
      wanted.account === undefined
        ? { resource: 'users', name: wanted.name }
        : { resource: 'serviceaccounts', ...wanted.account },
      ...partsOf(wanted, ''),
    ],
    become: impersonated,
  },
];

const mastersGroup = 'system:masters';
const extraPrefix = 'impersonate-extra-';
const rememberLimit = 1024;

function values(request: ApiRequest, name: string): string[] {
  const value = request.headers[name];
  if (value === undefined) return [];
  return Array.isArray(value) ? value : value.split(',').map((text) => text.trim());
}

function isAsked(request: ApiRequest): boolean {
  for (const name in request.headers) if (name.startsWith('impersonate-')) return true;
  return false;
}

function wantedBy(request: ApiRequest): Wanted | undefined {
  const [name] = values(request, 'impersonate-user');
  const groups = values(request, 'impersonate-group');
  const [uid] = values(request, 'impersonate-uid');
  const extra: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const header of Object.keys(request.headers))
    if (header.startsWith(extraPrefix)) extra[decodeKey(header.slice(extraPrefix.length))] = values(request, header);
  const nameOnly = groups.length === 0 && uid === undefined && Object.keys(extra).length === 0;
  if (!name) {
    if (!nameOnly) throw badRequest('requested impersonation without impersonating a user');
    return undefined;
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const node = /^system:node:(.+)$/.exec(name)?.[1];
  return {
    name,
    groups,
    uid,
    extra,
    account: account === null ? undefined : { namespace: account[1]!, name: account[2]! },
    node,
    nameOnly,
  };
}

function impersonateStage(authorizers: readonly Authorizer[]): Stage {
  const lastMode = new Map<string, Mode>();

  /** What is missing; undefined when all is allowed. */
  async function missing(request: ApiRequest, wanted: Wanted, mode: Mode): Promise<Error | undefined> {
    const own = attributesOf(request.user, request.info);
    const checks: Attributes[] = [
      ...(mode.on === undefined ? [] : [{ ...own, verb: mode.on + own.verb }]),
      ...mode.needs(wanted).map((part) => ({ ...nothing, user: request.user, verb: mode.verb, ...part })),
    ];
    for (const check of checks) {
      // Nothing is refused to them: only the way of old makes somebody one of them, whatever else a rule allows.
      if (mode.on !== undefined && check.resource === 'groups' && check.name === mastersGroup)
        return refusal(check, `impersonating the ${mastersGroup} group is not allowed`);
      if (!(await allowed(authorizers, check))) return refusal(check, '');
    }
    return undefined;
  }

  return {
    name: 'impersonate',
    async run(request) {
      request.answerHeaders = noSniff;
      const wanted = wantedBy(request);
      if (wanted === undefined) {
        delete request.answerHeaders;
        return undefined;
      }
      const last = lastMode.get(request.user.name);
      const order = last === undefined ? modes : [last, ...modes.filter((mode) => mode !== last)];
      let first: Error | undefined;
      for (const mode of order) {
        if (!mode.isFor(wanted, request.user)) continue;
        const problem = await missing(request, wanted, mode);
        if (problem !== undefined) {
          first ??= problem;
          continue;
        }
        if (lastMode.size >= rememberLimit) lastMode.clear();
        lastMode.set(request.user.name, mode);
        request.impersonator = request.user;
        request.user = mode.become(wanted);
        delete request.answerHeaders;
        return undefined;
      }
      throw first ?? badRequest('nobody can be impersonated like this');
    },
  };
}

/** Most requests ask for nothing: they pay for no promise. */
export function impersonation(authorizers: readonly Authorizer[]): Stage {
  const stage = impersonateStage(authorizers);
  return {
    name: stage.name,
    run: (request) => (request.peer.user !== undefined || !isAsked(request) ? undefined : stage.run(request)),
  };
}

const nothing: Omit<Attributes, 'user' | 'verb'> = {
  isResource: true,
  group: '',
  version: 'v1',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  path: '',
};

function impersonated({ name, groups, uid, extra, account }: Wanted): UserInfo {
  const all = [...groups];
  if (groups.length === 0 && account !== undefined)
    all.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`);
  const last = name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';
  if (!all.includes(last) && !all.includes('system:unauthenticated')) all.push(last);
  return { name, ...(uid !== undefined && { uid }), groups: all, ...(Object.keys(extra).length > 0 && { extra }) };
}

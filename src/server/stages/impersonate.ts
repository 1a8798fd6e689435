// Owns the stage that lets a user act as another, where the policy allows each part of that identity.
import { badRequest } from '../../api/status-error.ts';
import { decodeKey } from '../authn/front-proxy.ts';
import type { Attributes, Authorizer } from '../authz/authorizer.ts';
import { isAllowed } from '../authz/authorizer.ts';
import type { Stage } from '../pipeline.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import { refusal } from './authorize.ts';

const extraPrefix = 'impersonate-extra-';

function values(request: ApiRequest, name: string): string[] {
  const value = request.headers[name];
  if (value === undefined) return [];
  return Array.isArray(value) ? value : value.split(',').map((text) => text.trim());
}

function isAsked(request: ApiRequest): boolean {
  for (const name in request.headers) if (name.startsWith('impersonate-')) return true;
  return false;
}

export function impersonateStage(authorizers: readonly Authorizer[]): Stage {
  return {
    name: 'impersonate',
    run(request) {
      if (request.peer.user !== undefined || !isAsked(request)) return;
      const [name] = values(request, 'impersonate-user');
      const groups = values(request, 'impersonate-group');
      const [uid] = values(request, 'impersonate-uid');
      const extra: Record<string, string[]> = {};
      for (const header of Object.keys(request.headers))
        if (header.startsWith(extraPrefix))
          extra[decodeKey(header.slice(extraPrefix.length))] = values(request, header);
      if (!name) {
        if (groups.length > 0 || uid !== undefined || Object.keys(extra).length > 0)
          throw badRequest('requested impersonation without impersonating a user');
        return;
      }
      const need = (resource: string, of: Partial<Attributes>): void => check(request, authorizers, resource, of);
      const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
      if (account !== null) need('serviceaccounts', { namespace: account[1]!, name: account[2]!, group: '' });
      else need('users', { name, group: '' });
      for (const group of groups) need('groups', { name: group, group: '' });
      if (uid !== undefined) need('uids', { name: uid, group: 'authentication.k8s.io' });
      for (const [key, list] of Object.entries(extra))
        for (const value of list) need('userextras', { subresource: key, name: value, group: 'authentication.k8s.io' });
      request.impersonator = request.user;
      request.user = impersonated(name, groups, uid, extra, account);
    },
  };
}

function check(
  request: ApiRequest,
  authorizers: readonly Authorizer[],
  resource: string,
  of: Partial<Attributes>,
): void {
  const attributes: Attributes = {
    user: request.user,
    verb: 'impersonate',
    isResource: true,
    group: '',
    version: 'v1',
    resource,
    subresource: '',
    namespace: '',
    name: '',
    path: '',
    ...of,
  };
  if (!isAllowed(authorizers, attributes)) throw refusal(attributes, '');
}

function impersonated(
  name: string,
  groups: readonly string[],
  uid: string | undefined,
  extra: Readonly<Record<string, string[]>>,
  account: RegExpExecArray | null,
): UserInfo {
  const all = [...groups];
  if (groups.length === 0 && account !== null)
    all.push('system:serviceaccounts', `system:serviceaccounts:${account[1]}`);
  const last = name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';
  if (!all.includes(last)) all.push(last);
  return { name, ...(uid !== undefined && { uid }), groups: all, ...(Object.keys(extra).length > 0 && { extra }) };
}

// Owns role-based access: roles and bindings held compiled and indexed by subject, kept current from the caches.
import type { ClusterRole, RoleBinding, Subject } from '../../api/generated/rbac.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Entry } from '../cache/entry.ts';
import { followCache } from '../cache/follow.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { UserInfo } from '../request.ts';
import type { Attributes, Authorizer } from './authorizer.ts';
import { compileWholeRules } from './rules.ts';
import type { CompiledRule } from './rules.ts';

export interface RbacCaches {
  readonly roles: WatchCache;
  readonly roleBindings: WatchCache;
  readonly clusterRoles: WatchCache;
  readonly clusterRoleBindings: WatchCache;
}

interface Grant {
  /** Empty: everywhere. */
  readonly namespace: string;
  /** "name" of a ClusterRole, "namespace/name" of a Role. */
  readonly role: string;
  /** Name of the binding, and to whom, as told. */
  readonly binding: string;
  readonly subject: string;
}

export interface Rbac extends Authorizer {
  /** The rules that hold for a user: in `namespace` and everywhere (SelfSubjectRulesReview). */
  rulesFor(user: UserInfo, namespace: string): Frozen<NonNullable<ClusterRole['rules']>>[number][];
}

function subjectKey(subject: Frozen<Subject>, namespace: string): string {
  if (subject.kind === 'ServiceAccount')
    return `u:system:serviceaccount:${subject.namespace ?? namespace}:${subject.name}`;
  return `${subject.kind === 'Group' ? 'g' : 'u'}:${subject.name}`;
}

function subjectText({ kind, name, namespace }: Frozen<Subject>, of: string): string {
  return `${kind} "${kind === 'ServiceAccount' ? `${name}/${namespace ?? of}` : name}"`;
}

/** As upstream words it: tools show it. */
function grantText({ namespace, role, binding, subject }: Grant): string {
  const isRole = role.includes('/');
  const by = namespace === '' ? `ClusterRoleBinding "${binding}"` : `RoleBinding "${binding}/${namespace}"`;
  return `RBAC: allowed by ${by} of ${isRole ? 'Role' : 'ClusterRole'} "${isRole ? role.slice(role.indexOf('/') + 1) : role}" to ${subject}`;
}

const rememberLimit = 2000;

type Names = 'all' | readonly ReadonlySet<string>[];

export function rbac(caches: RbacCaches): Rbac {
  const tests = new Map<string, readonly CompiledRule[]>();
  const rules = new Map<string, Frozen<NonNullable<ClusterRole['rules']>>>();
  const grants = new Map<string, Map<string, Grant>>();
  let decided = new WeakMap<UserInfo, Map<string, Names>>();

  const changed = (): void => {
    decided = new WeakMap();
  };

  const roleFollower = (cluster: boolean) => ({
    put(entry: Entry) {
      const role = entry.object as Frozen<KubeObject & ClusterRole>;
      tests.set(entry.key, compileWholeRules(role.rules));
      rules.set(entry.key, (role.rules ?? []) as Frozen<NonNullable<ClusterRole['rules']>>);
      changed();
    },
    removed(entry: Entry) {
      tests.delete(entry.key);
      rules.delete(entry.key);
      changed();
    },
    reset() {
      for (const key of [...tests.keys()])
        if (key.includes('/') !== cluster) {
          tests.delete(key);
          rules.delete(key);
        }
      changed();
    },
  });

  function forget(entry: Entry, id: string): void {
    const { subjects } = entry.object as Frozen<KubeObject & RoleBinding>;
    for (const subject of subjects ?? []) {
      const key = subjectKey(subject, entry.namespace);
      const held = grants.get(key);
      held?.delete(id);
      if (held?.size === 0) grants.delete(key);
    }
  }

  const bindingFollower = (kind: string) => ({
    put(entry: Entry, previous: Entry | undefined) {
      const id = `${kind} ${entry.key}`;
      if (previous !== undefined) forget(previous, id);
      const { roleRef, subjects } = entry.object as Frozen<KubeObject & RoleBinding>;
      const { namespace } = entry;
      const role = roleRef.kind === 'Role' ? `${namespace}/${roleRef.name}` : roleRef.name;
      for (const subject of subjects ?? []) {
        const key = subjectKey(subject, namespace);
        let held = grants.get(key);
        if (held === undefined) grants.set(key, (held = new Map()));
        held.set(id, { namespace, role, binding: entry.name, subject: subjectText(subject, namespace) });
      }
      changed();
    },
    removed(entry: Entry) {
      forget(entry, `${kind} ${entry.key}`);
      changed();
    },
    reset() {
      for (const [key, held] of grants) {
        for (const id of [...held.keys()]) if (id.startsWith(`${kind} `)) held.delete(id);
        if (held.size === 0) grants.delete(key);
      }
      changed();
    },
  });

  followCache(caches.clusterRoles, roleFollower(true));
  followCache(caches.roles, roleFollower(false));
  followCache(caches.clusterRoleBindings, bindingFollower('cluster'));
  followCache(caches.roleBindings, bindingFollower('namespace'));

  function* held(user: UserInfo, namespace: string): Generator<Grant, void, undefined> {
    for (const key of [`u:${user.name}`, ...user.groups.map((group) => `g:${group}`)]) {
      const found = grants.get(key);
      if (found === undefined) continue;
      for (const grant of found.values())
        if (grant.namespace === '' || (namespace !== '' && grant.namespace === namespace)) yield grant;
    }
  }

  /** For which names this is allowed. */
  function namesFor(attributes: Attributes): Names {
    const named: ReadonlySet<string>[] = [];
    for (const { role } of held(attributes.user, attributes.isResource ? attributes.namespace : ''))
      for (const { testWithoutName, names } of tests.get(role) ?? [])
        if (testWithoutName(attributes)) {
          if (names === undefined || !attributes.isResource) return 'all';
          named.push(names);
        }
    return named;
  }

  return {
    name: 'RBAC',
    decide(attributes) {
      const { user, verb, group, resource, subresource, namespace, name, path, isResource } = attributes;
      let known = decided.get(user);
      if (known === undefined) decided.set(user, (known = new Map()));
      // Without the name: who may read one object of a kind may as a rule read all.
      const key = isResource ? `kind ${verb} ${group}/${resource}/${subresource} ${namespace}` : `path ${verb} ${path}`;
      let names = known.get(key);
      if (names === undefined) {
        names = namesFor(attributes);
        if (known.size >= rememberLimit) known.clear();
        known.set(key, names);
      }
      return names === 'all' || names.some((set) => set.has(name)) ? 'allow' : 'no opinion';
    },
    reason(attributes) {
      const granting = [...held(attributes.user, attributes.isResource ? attributes.namespace : '')].filter(
        ({ role }) => (tests.get(role) ?? []).some(({ test }) => test(attributes)),
      );
      const first = granting.sort(
        (a, b) => Number(a.namespace !== '') - Number(b.namespace !== '') || (a.binding < b.binding ? -1 : 1),
      )[0];
      return first === undefined ? '' : grantText(first);
    },
    rulesFor: (user, namespace) => [...held(user, namespace)].flatMap(({ role }) => [...(rules.get(role) ?? [])]),
  };
}

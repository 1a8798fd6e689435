// Owns the rule that nobody grants more than they hold: roles and bindings are refused unless their writer has every right in them,
// or the verbs "escalate" and "bind" (documentation: "Privilege escalation prevention and bootstrapping").
import type { ClusterRole, PolicyRule, RoleBinding } from '../../api/generated/rbac.v1.ts';
import { forbidden, notFound } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Attributes, Authorizer } from '../authz/authorizer.ts';
import { allowed } from '../authz/authorizer.ts';
import type { Parts } from '../parts.ts';
import { same } from '../verbs/equal.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';

const group = 'rbac.authorization.k8s.io';

type Rules = readonly Frozen<PolicyRule>[];
type Wanted = Omit<Attributes, 'user' | 'namespace' | 'version'>;

const nothing: Wanted = { verb: '', isResource: true, group: '', resource: '', subresource: '', name: '', path: '' };

/** Each single right of the rules. */
function* rightsOf(rules: Rules): Generator<Wanted, void, undefined> {
  for (const rule of rules)
    for (const verb of rule.verbs ?? []) {
      for (const path of rule.nonResourceURLs ?? []) yield { ...nothing, verb, isResource: false, path };
      for (const apiGroup of rule.apiGroups ?? [])
        for (const full of rule.resources ?? [])
          for (const name of (rule.resourceNames ?? []).length > 0 ? rule.resourceNames! : ['']) {
            const [resource = '', subresource = ''] = full.split('/') as [string, string | undefined];
            yield { ...nothing, verb, group: apiGroup, resource, subresource, name };
          }
    }
}

export function roleEscalation(authorizers: readonly Authorizer[]): AdmissionPlugin {
  function may(request: AdmissionRequest, wanted: Wanted): boolean | Promise<boolean> {
    return allowed(authorizers, { ...wanted, version: '', user: request.user, namespace: request.namespace });
  }

  async function checkHeld(request: AdmissionRequest, rules: Rules): Promise<void> {
    const { plural } = request.served.resource;
    for (const right of rightsOf(rules))
      if (!(await may(request, right))) {
        const what = right.isResource ? `${right.verb} ${right.resource}` : `${right.verb} ${right.path}`;
        throw forbidden(
          { group, plural },
          request.name,
          `user "${request.user.name}" (groups=${JSON.stringify(request.user.groups)}) is attempting to grant RBAC permissions not currently held: ${what}`,
        );
      }
  }

  async function checkRole(request: AdmissionRequest): Promise<void> {
    const { plural } = request.served.resource;
    const { rules = [], aggregationRule } = request.object as unknown as ClusterRole;
    if (onlyCollects(request)) return;
    if (await may(request, { ...nothing, verb: 'escalate', group, resource: plural, name: request.name })) return;
    await checkHeld(request, rules ?? []);
    // What an aggregated role will hold is anyone's guess: only who may do all can make one.
    if (aggregationRule !== undefined) await checkHeld(request, everything);
  }

  async function checkBinding(request: AdmissionRequest, parts: Parts): Promise<void> {
    const { plural } = request.served.resource;
    const { roleRef = {} as RoleBinding['roleRef'] } = request.object as unknown as RoleBinding;
    if (onlyCollects(request)) return;
    const isCluster = roleRef.kind === 'ClusterRole';
    const roles = isCluster ? 'clusterroles' : 'roles';
    if (await may(request, { ...nothing, verb: 'bind', group, resource: roles, name: roleRef.name })) return;
    const key = isCluster ? roleRef.name : `${request.namespace}/${roleRef.name}`;
    const role = parts.catalog.cache(group, roles).get(key)?.object as Frozen<KubeObject & ClusterRole> | undefined;
    if (role === undefined) throw notFound({ group, plural }, roleRef.name);
    await checkHeld(request, role.rules ?? []);
  }

  return {
    name: 'RoleEscalation',
    concerns: ({ served, operation }) =>
      served.resource.group === group && (operation === 'CREATE' || operation === 'UPDATE'),
    // Last of those that may change it, and before its kind's rules, as upstream has it.
    async admit(request, parts) {
      const { resource } = request.served;
      if (resource.plural === 'roles' || resource.plural === 'clusterroles') await checkRole(request);
      else await checkBinding(request, parts);
    },
  };
}

/** Owners and finalizers are the garbage collector's, which need not hold what it collects. Anything else confirms all rights. */
function onlyCollects({ object, oldObject }: AdmissionRequest): boolean {
  if (object === undefined || oldObject === undefined) return false;
  const rest = (value: Frozen<KubeObject>): unknown => {
    const { ownerReferences: _a, finalizers: _b, managedFields: _c, resourceVersion: _d, ...metadata } = value.metadata;
    return { ...value, metadata };
  };
  return same(rest(object as Frozen<KubeObject>), rest(oldObject));
}

const everything: Rules = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

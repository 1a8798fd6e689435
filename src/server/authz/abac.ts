// Owns attribute-based access from a policy file: one JSON object a line. Deprecated upstream, still served.
import type { Attributes, Authorizer } from './authorizer.ts';

interface Policy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

const fields = ['user', 'group', 'apiGroup', 'resource', 'namespace', 'nonResourcePath'] as const;

/** Throws, naming the line, for what is no policy. */
function parseAbac(text: string): Policy[] {
  const policies: Policy[] = [];
  text.split('\n').forEach((raw, at) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) return;
    const refuse = (why: string): Error => new Error(`authorization policy file, line ${at + 1}: ${why}`);
    let parsed: { apiVersion?: unknown; kind?: unknown; spec?: Record<string, unknown> };
    try {
      parsed = JSON.parse(line) as typeof parsed;
    } catch {
      throw refuse('not JSON');
    }
    if (parsed?.kind !== 'Policy' || parsed.apiVersion !== 'abac.authorization.kubernetes.io/v1beta1')
      throw refuse('not a Policy of abac.authorization.kubernetes.io/v1beta1');
    const spec = parsed.spec ?? {};
    for (const field of fields)
      if (spec[field] !== undefined && typeof spec[field] !== 'string') throw refuse(`${field} must be a text`);
    const texts = Object.fromEntries(fields.map((field) => [field, (spec[field] as string | undefined) ?? '']));
    policies.push({ ...(texts as unknown as Policy), readonly: spec['readonly'] === true });
  });
  return policies;
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const is = (wanted: string, value: string): boolean => wanted === '*' || wanted === value;

function fits(policy: Policy, { user, verb, isResource, group, resource, namespace, path }: Attributes): boolean {
  if (policy.user === '' && policy.group === '') return false;
  const isUser = policy.user === '' || is(policy.user, user.name);
  const isMember = policy.group === '' || policy.group === '*' || user.groups.includes(policy.group);
  if (!isUser || !isMember) return false;
  if (policy.readonly && !readVerbs.has(verb)) return false;
  if (isResource) return is(policy.namespace, namespace) && is(policy.resource, resource) && is(policy.apiGroup, group);
  const wanted = policy.nonResourcePath;
  return wanted === path || wanted === '*' || (wanted.endsWith('*') && path.startsWith(wanted.slice(0, -1)));
}

export function abac(text: string): Authorizer {
  const policies = parseAbac(text);
  return {
    name: 'ABAC',
    decide: (attributes) => (policies.some((policy) => fits(policy, attributes)) ? 'allow' : 'no opinion'),
  };
}

// Owns which flow a request belongs to: the first FlowSchema that fits, and what tells flows apart within it. Pure.
import type { FlowSchema, PolicyRulesWithSubjects } from '../../api/generated/flowcontrol.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { ApiRequest, UserInfo } from '../request.ts';

export type Schema = Frozen<KubeObject & FlowSchema>;

const has = (list: readonly string[] | undefined | null, value: string): boolean =>
  list?.includes('*') === true || list?.includes(value) === true;

function subjectFits({ subjects }: Frozen<PolicyRulesWithSubjects>, user: UserInfo): boolean {
  return (subjects ?? []).some((subject) => {
    switch (subject.kind) {
      case 'User':
        return subject.user?.name === '*' || subject.user?.name === user.name;
      case 'Group':
        return subject.group?.name === '*' || user.groups.includes(subject.group?.name ?? '');
      case 'ServiceAccount': {
        const { namespace = '', name = '' } = subject.serviceAccount ?? {};
        const prefix = `system:serviceaccount:${namespace}:`;
        return name === '*' ? user.name.startsWith(prefix) : user.name === prefix + name;
      }
      default:
        return false;
    }
  });
}

function ruleFits(rule: Frozen<PolicyRulesWithSubjects>, { info, user }: ApiRequest): boolean {
  if (!subjectFits(rule, user)) return false;
  if (!info.isResource)
    return (rule.nonResourceRules ?? []).some(
      ({ verbs, nonResourceURLs }) =>
        has(verbs, info.verb) &&
        (nonResourceURLs ?? []).some(
          (url) => url === '*' || url === info.path || (url.endsWith('*') && info.path.startsWith(url.slice(0, -1))),
        ),
    );
  const full = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  return (rule.resourceRules ?? []).some(
    ({ verbs, apiGroups, resources, clusterScope, namespaces }) =>
      has(verbs, info.verb) &&
      has(apiGroups, info.group) &&
      has(resources, full) &&
      (info.namespace === '' ? clusterScope === true : has(namespaces, info.namespace)),
  );
}

/** By precedence, then by name. */
export function ordered(schemas: Iterable<Schema>): Schema[] {
  const precedence = ({ spec }: Schema): number => spec?.matchingPrecedence ?? 1000;
  return [...schemas].sort((a, b) => precedence(a) - precedence(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

export function schemaFor(schemas: readonly Schema[], request: ApiRequest): Schema | undefined {
  return schemas.find(({ spec }) => (spec?.rules ?? []).some((rule) => ruleFits(rule, request)));
}

export function distinguisher({ spec }: Schema, { user, info }: ApiRequest): string {
  switch (spec?.distinguisherMethod?.type) {
    case 'ByUser':
      return user.name;
    case 'ByNamespace':
      return info.namespace;
    default:
      return '';
  }
}

/** Shuffle sharding: a hand of different queues for a flow, always the same one. */
export function handOf(hash: number, queues: number, size: number): number[] {
  const deck = Array.from({ length: queues }, (_, at) => at);
  const hand: number[] = [];
  let state = hash || 1;
  for (let dealt = 0; dealt < Math.min(size, queues); dealt++) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
    const at = dealt + (state % (queues - dealt));
    [deck[dealt], deck[at]] = [deck[at]!, deck[dealt]!];
    hand.push(deck[dealt]!);
  }
  return hand;
}

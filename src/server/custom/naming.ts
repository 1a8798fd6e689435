// Owns the names of custom kinds: which a definition may take within its group, and the conditions that say so. Pure.
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
} from '../../api/generated/apiextensions.v1.ts';
import type { Frozen } from '../../api/meta.ts';

type Definition = Frozen<CustomResourceDefinition>;
type Names = Frozen<CustomResourceDefinitionNames>;
export type Condition = CustomResourceDefinitionCondition;

export interface Naming {
  readonly acceptedNames: CustomResourceDefinitionNames;
  readonly namesAccepted: Omit<Condition, 'lastTransitionTime'>;
}

/** `others`: the definitions of the same group without this one. */
export function nameDefinition({ spec, status }: Definition, others: readonly Definition[]): Naming {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { status: other } of others) {
    const { plural, singular, shortNames, kind, listKind } = (other?.acceptedNames ?? {}) as Partial<Names>;
    for (const name of [plural, singular, ...(shortNames ?? [])]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  const wanted = spec.names;
  const had = (status?.acceptedNames ?? { plural: '', kind: '' }) as Names;
  const accepted: Record<string, unknown> = { ...had };
  let failure: { reason: string; message: string } | undefined;
  const take = (field: keyof Names, reason: string, used: ReadonlySet<string>): void => {
    const name = (wanted[field] ?? '') as string;
    if (name === (had[field] ?? '') || !used.has(name)) accepted[field] = name;
    else failure = { reason, message: `${JSON.stringify(name)} is already in use` };
  };
  take('plural', 'PluralConflict', resources);
  take('singular', 'SingularConflict', resources);
  const clashing = (wanted.shortNames ?? []).filter(
    (name) => !(had.shortNames ?? []).includes(name) && resources.has(name),
  );
  if (clashing.length === 0) accepted['shortNames'] = wanted.shortNames;
  else
    failure = {
      reason: 'ShortNamesConflict',
      message: aggregate(clashing.map((name) => `${JSON.stringify(name)} is already in use`)),
    };
  take('kind', 'KindConflict', kinds);
  take('listKind', 'ListKindConflict', kinds);
  accepted['categories'] = wanted.categories;
  for (const field of Object.keys(accepted)) if (accepted[field] === undefined) delete accepted[field];
  return {
    acceptedNames: accepted as unknown as CustomResourceDefinitionNames,
    namesAccepted:
      failure === undefined
        ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
        : { type: 'NamesAccepted', status: 'False', ...failure },
  };
}

const aggregate = (texts: readonly string[]): string => (texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);

/** Established once and for all when the names were accepted. */
export function established(
  names: Naming['namesAccepted'],
  before: Frozen<Condition> | undefined,
): Omit<Condition, 'lastTransitionTime'> {
  if (before?.status === 'True') return { ...before } as Condition;
  const message = 'the initial names have been accepted';
  // Those who watch see first that it is being installed, then that it is there.
  if (names.status === 'True')
    return before?.reason === 'Installing'
      ? { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message }
      : { type: 'Established', status: 'False', reason: 'Installing', message };
  return { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

export const approvalAnnotation = 'api-approved.kubernetes.io';

/** Groups that belong to Kubernetes ask for a review. */
export function isProtectedGroup(group: string): boolean {
  return /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group);
}

export type Approval = 'approved' | 'bypassed' | 'missing' | 'invalid';

export function approvalOf(annotations: Readonly<Record<string, string>> | undefined): Approval {
  const value = annotations?.[approvalAnnotation] ?? '';
  if (value === '') return 'missing';
  if (value.startsWith('unapproved')) return 'bypassed';
  return URL.canParse(value) && value.includes('://') ? 'approved' : 'invalid';
}

export function approvalCondition({ spec, metadata }: Definition): Omit<Condition, 'lastTransitionTime'> | undefined {
  if (!isProtectedGroup(spec.group)) return undefined;
  const type = 'KubernetesAPIApprovalPolicyConformant';
  const value = metadata.annotations?.[approvalAnnotation] ?? '';
  switch (approvalOf(metadata.annotations)) {
    case 'approved':
      return { type, status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${value}` };
    case 'bypassed':
      return {
        type,
        status: 'False',
        reason: 'UnapprovedAnnotation',
        message: `not approved: ${JSON.stringify(value)}`,
      };
    case 'missing':
      return {
        type,
        status: 'False',
        reason: 'MissingAnnotation',
        message: `protected groups must have approval annotation "${approvalAnnotation}", see https://github.com/kubernetes/enhancements/pull/1111`,
      };
    default:
      return {
        type,
        status: 'False',
        reason: 'InvalidAnnotation',
        message: `protected groups must have approval annotation "${approvalAnnotation}" with either a URL or a reason starting with "unapproved"`,
      };
  }
}

/** The conditions with `next` in its place: its time stays unless its status changed. */
export function withCondition(
  conditions: readonly Frozen<Condition>[],
  next: Omit<Condition, 'lastTransitionTime'>,
  now: string,
): Frozen<Condition>[] {
  const at = conditions.findIndex(({ type }) => type === next.type);
  const before = conditions[at];
  const lastTransitionTime =
    before?.status === next.status && before.lastTransitionTime ? before.lastTransitionTime : now;
  const made = { ...next, lastTransitionTime } as Frozen<Condition>;
  return at < 0 ? [...conditions, made] : conditions.map((condition, place) => (place === at ? made : condition));
}

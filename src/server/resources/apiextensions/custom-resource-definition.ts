// Owns the kind CustomResourceDefinition: defaults, status, deletion, columns. Its schemas are judged by src/server/custom, loaded when needed.
import type { CustomResourceDefinition } from '../../../api/generated/apiextensions.v1.ts';
import { customResourceDefinitions } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { timeOf } from '../../../api/time.ts';
import { same } from '../../../api/validation/same.ts';
import type { FieldError } from '../../../api/status-error.ts';
import { nameColumn } from '../columns.ts';
import { defineResource, keep, raiseGeneration } from '../define.ts';

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

type Definition = CustomResourceDefinition;

interface DefinitionRules {
  validateDefinition(next: Frozen<Definition>, prev: Frozen<Definition> | undefined): FieldError[];
  validateDefinitionStatus(next: Frozen<Definition>): FieldError[];
  completeDefinition(definition: Definition): void;
  definitionWarnings(next: Frozen<Definition>, prev: Frozen<Definition> | undefined): string[];
}

let rules: DefinitionRules | undefined;

/** Schemas, patterns and CEL are much code, which a server without custom kinds never needs. */
async function loadDefinitionRules(): Promise<void> {
  rules ??= await import('../../custom/definition-rules.ts');
}

function loaded(): DefinitionRules {
  if (rules === undefined) throw new Error('the rules of CustomResourceDefinition are not loaded');
  return rules;
}

function applyDefaults(obj: Definition): void {
  const { spec } = obj;
  if (spec === undefined) return;
  const { names } = spec;
  if (names !== undefined) {
    if ((names.singular ?? '') === '') names.singular = (names.kind ?? '').toLowerCase();
    if ((names.listKind ?? '') === '' && (names.kind ?? '') !== '') names.listKind = `${names.kind}List`;
  }
  spec.conversion ??= { strategy: 'None' };
  const { webhook } = spec.conversion;
  if (webhook?.clientConfig?.service !== undefined) webhook.clientConfig.service.port ??= 443;
  const stored = storageName(obj);
  if (stored === undefined || obj.status === undefined) return;
  if ((obj.status.storedVersions ?? []).length === 0) obj.status.storedVersions = [stored];
}

const storageName = ({ spec }: Definition | Frozen<Definition>): string | undefined =>
  spec.versions?.find(({ storage }) => storage)?.name;

export function conditionOf(obj: Frozen<Definition>, type: string) {
  return obj.status?.conditions?.find((condition) => condition.type === type);
}

/** Deletion says in the status what is about to happen. */
function beginDeletion(obj: Definition): void {
  const finalizers = (obj.metadata.finalizers ??= []);
  if (!finalizers.includes(cleanupFinalizer)) finalizers.push(cleanupFinalizer);
  const conditions = (obj.status.conditions ?? []).filter(({ type }) => type !== 'Terminating');
  obj.status.conditions = [
    ...conditions,
    {
      type: 'Terminating',
      status: 'True',
      lastTransitionTime: obj.metadata.deletionTimestamp ?? timeOf(0),
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    },
  ];
}

export const customResourceDefinition = defineResource<Definition>(customResourceDefinitions, {
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  load: loadDefinitionRules,
  repeatsErrors: true,
  place: ({ field }) => (field === 'metadata.name' ? -1 : 0),
  anyFinalizer: true,
  applyDefaults,
  prepareForCreate(obj) {
    const stored = storageName(obj);
    obj.status = {
      acceptedNames: { plural: '', kind: '' },
      conditions: null as never,
      storedVersions: stored === undefined ? [] : [stored],
    };
    obj.metadata.generation = 1;
    loaded().completeDefinition(obj);
  },
  prepareForUpdate(next, prev) {
    keep<Definition, 'status'>(next, prev, 'status');
    loaded().completeDefinition(next);
    const stored = storageName(next);
    const known = next.status?.storedVersions ?? [];
    if (stored !== undefined && !known.includes(stored))
      next.status = { ...next.status, storedVersions: [...known, stored] };
    raiseGeneration(next, prev, !same(next.spec, prev.spec));
  },
  validate: (obj) => loaded().validateDefinition(obj, undefined),
  warnings: (next, prev) =>
    prev !== undefined && same(next.spec, prev.spec) ? [] : loaded().definitionWarnings(next, prev),
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => loaded().validateDefinition(next, prev),
  unconditionalUpdate: false,
  deletion: {
    isHeld: ({ metadata }) => metadata.deletionTimestamp === undefined,
    begin: beginDeletion,
    beginsOnly: true,
  },
  nullRows: true,
  columns: [
    { ...nameColumn, cell: ({ metadata }) => metadata.name },
    { name: 'Scope', type: 'string', cell: ({ spec }) => spec?.scope },
    {
      name: 'Versions',
      type: 'string',
      cell: ({ spec }) =>
        (spec?.versions ?? [])
          .filter(({ served }) => served)
          .map(({ name, storage }) => (storage ? `${name}(storage)` : name))
          .join(','),
    },
    { name: 'Created At', type: 'date', cell: ({ metadata }) => metadata.creationTimestamp },
    { name: 'Group', type: 'string', priority: 1, cell: ({ spec }) => spec?.group },
    { name: 'Kind', type: 'string', priority: 1, cell: ({ spec }) => spec?.names?.kind },
    { name: 'ShortNames', type: 'string', priority: 1, cell: ({ spec }) => (spec?.names?.shortNames ?? []).join(',') },
    {
      name: 'Established',
      type: 'boolean',
      priority: 1,
      cell: (obj) => conditionOf(obj, 'Established')?.status === 'True',
    },
  ],
  subresources: {
    status: {
      hasTable: false,
      // The metadata is not put back, as upstream has it.
      prepareForUpdate: (next, prev) => keep<Definition, 'spec'>(next, prev, 'spec'),
      validateUpdate: (next) => loaded().validateDefinitionStatus(next),
    },
  },
});

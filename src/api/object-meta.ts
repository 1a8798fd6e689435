// Owns the validation of metadata that holds for every kind, on create and on update. Changes nothing.
import * as field from './field-error.ts';
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from './generated/meta.v1.ts';
import type { Frozen } from './meta.ts';
import { byteLength, dnsLabel, labelValue, qualifiedName, type NameValidator } from './names.ts';
import type { FieldError } from './status-error.ts';

type Meta = Frozen<Partial<ObjectMeta>>;
type Strings = Readonly<Record<string, string>>;

/** Keys and values together. */
export const maxAnnotationsBytes = 256 * 1024;

export interface MetaRules {
  readonly namespaced: boolean;
  readonly validateName: NameValidator;
  /** Finalizers need not be qualified: custom kinds and embedded objects, whose writers are warned instead. */
  readonly anyFinalizer?: boolean;
}

/** All errors at once. `path` is that of the metadata. */
export function validateObjectMeta(meta: Meta, rules: MetaRules, path = 'metadata'): FieldError[] {
  const errors: FieldError[] = [];
  const { name = '', generateName = '', namespace = '' } = meta;
  if (generateName !== '')
    for (const text of rules.validateName(generateName, true))
      errors.push(field.invalid(`${path}.generateName`, generateName, text));
  if (name === '') errors.push(field.required(`${path}.name`, 'name or generateName is required'));
  else for (const text of rules.validateName(name, false)) errors.push(field.invalid(`${path}.name`, name, text));
  if (rules.namespaced) {
    if (namespace === '') errors.push(field.required(`${path}.namespace`));
    else for (const text of dnsLabel(namespace)) errors.push(field.invalid(`${path}.namespace`, namespace, text));
  } else if (namespace !== '') errors.push(field.forbidden(`${path}.namespace`, 'not allowed on this type'));
  return [...errors, ...validateRest(meta, path), ...unqualifiedFinalizers(meta, path, rules.anyFinalizer)];
}

/** What a writer of a finalizer that is not qualified is told, where it is taken all the same. */
export function finalizerWarnings(next: Meta, prev: Meta | undefined): string[] {
  const added = (next.finalizers ?? []).filter((name) => !(prev?.finalizers ?? []).includes(name));
  return [...new Set(added)].sort().flatMap((name) => {
    const shown = `metadata.finalizers: ${JSON.stringify(name)}`;
    const warnings = qualifiedName(name).map((text) => `${shown}: ${text}`);
    if (!name.includes('/') && !standardFinalizers.has(name))
      warnings.push(
        `${shown}: prefer a domain-qualified finalizer name ${name.includes('.') ? 'including a path (/) ' : ''}to avoid accidental conflicts with other finalizer writers`,
      );
    return warnings;
  });
}

/** What create and update check alike. */
function validateRest(meta: Meta, path: string): FieldError[] {
  const generation = meta.generation ?? 0;
  return [
    ...(generation < 0 ? [field.invalid(`${path}.generation`, generation, 'must be greater than or equal to 0')] : []),
    ...validateLabels(meta.labels, `${path}.labels`),
    ...validateAnnotations(meta.annotations, `${path}.annotations`),
    ...validateOwnerReferences(meta.ownerReferences, `${path}.ownerReferences`),
    ...validateFinalizers(meta.finalizers, `${path}.finalizers`),
    ...validateManagedFields(meta.managedFields, `${path}.managedFields`),
  ];
}

export function validateLabels(labels: Strings | undefined, path: string): FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([name, value]) => [
    ...qualifiedName(name).map((text) => field.invalid(path, name, text)),
    ...labelValue(value).map((text) => field.invalid(path, value, text)),
  ]);
}

export function validateAnnotations(annotations: Strings | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let total = 0;
  for (const [name, value] of Object.entries(annotations ?? {})) {
    for (const text of qualifiedName(name.toLowerCase())) errors.push(field.invalid(path, name, text));
    total += byteLength(name) + byteLength(value);
  }
  if (total > maxAnnotationsBytes) errors.push(field.tooLong(path, maxAnnotationsBytes));
  return errors;
}

function validateOwnerReferences(
  references: readonly Frozen<OwnerReference>[] | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const controllers: string[] = [];
  (references ?? []).forEach((reference, at) => {
    const here = field.index(path, at);
    const { apiVersion, kind, name, uid } = reference;
    if (!apiVersion) errors.push(field.required(`${here}.apiVersion`, 'must not be empty'));
    else if (!/^[^/]+(?:\/[^/]+)?$/.test(apiVersion))
      errors.push(field.invalid(`${here}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
    if (!kind) errors.push(field.required(`${here}.kind`, 'must not be empty'));
    if (!name) errors.push(field.required(`${here}.name`, 'must not be empty'));
    if (!uid) errors.push(field.required(`${here}.uid`, 'must not be empty'));
    if (apiVersion === 'v1' && kind === 'Event')
      errors.push(field.invalid(here, reference, '/v1, Kind=Event is disallowed from being an owner'));
    if (reference.controller === true) controllers.push(`${kind}/${name}`);
  });
  if (controllers.length > 1)
    errors.push(
      field.invalid(
        path,
        references,
        `Only one reference can have Controller set to true. Found "true" in references for ${controllers[0]} and ${controllers[1]}`,
      ),
    );
  return errors;
}

const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

function validateFinalizers(finalizers: readonly string[] | undefined, path: string): FieldError[] {
  const all = finalizers ?? [];
  const errors = all.flatMap((name) => qualifiedName(name).map((text) => field.invalid(path, name, text)));
  if (all.includes('orphan') && all.includes('foregroundDeletion'))
    errors.push(field.invalid(path, all, 'finalizer orphan and foregroundDeletion cannot both be set'));
  return errors;
}

/** Judged with the kind, after all that holds for every kind. */
function unqualifiedFinalizers({ finalizers = [] }: Meta, path: string, anyFinalizer = false): FieldError[] {
  if (anyFinalizer) return [];
  const text = 'name is neither a standard finalizer name nor is it fully qualified';
  return finalizers.flatMap((name, at) =>
    name.includes('/') || standardFinalizers.has(name)
      ? []
      : [field.invalid(field.index(`${path}.finalizers`, at), name, text)],
  );
}

const maxManagerLength = 128;

function validateManagedFields(entries: readonly Frozen<ManagedFieldsEntry>[] | undefined, path: string): FieldError[] {
  return (entries ?? []).flatMap((entry, at) => {
    const here = field.index(path, at);
    const errors: FieldError[] = [];
    const { operation = '', fieldsType = '', manager = '' } = entry;
    if (operation === '') errors.push(field.required(`${here}.operation`, 'must not be empty'));
    else if (operation !== 'Apply' && operation !== 'Update')
      errors.push(field.notSupported(`${here}.operation`, operation, ['Apply', 'Update']));
    if (fieldsType !== '' && fieldsType !== 'FieldsV1')
      errors.push(field.invalid(`${here}.fieldsType`, fieldsType, 'must be `FieldsV1`'));
    if (byteLength(manager) > maxManagerLength) errors.push(field.tooLong(`${here}.manager`, maxManagerLength));
    else if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(manager))
      errors.push(field.invalid(`${here}.manager`, manager, 'should only contain printable characters'));
    return errors;
  });
}

const immutable = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/**
 * The errors of a change. The server fills system fields that the client left out before it asks. What a change may not do stands behind
 * what no object may be. `repeated`: all that is looked at for a change is told twice, as upstream tells it of custom kinds.
 */
export function validateObjectMetaUpdate(
  next: Meta,
  prev: Meta,
  rules: { readonly anyFinalizer: boolean; readonly repeated: boolean } = { anyFinalizer: false, repeated: false },
): FieldError[] {
  const path = 'metadata';
  const errors = validateRest(next, path);
  const changes: FieldError[] = [];
  if (prev.deletionTimestamp !== undefined) {
    const added = (next.finalizers ?? []).filter((name) => !(prev.finalizers ?? []).includes(name));
    if (added.length > 0)
      changes.push(
        field.forbidden(
          `${path}.finalizers`,
          `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
        ),
      );
  }
  if ((next.generation ?? 0) < (prev.generation ?? 0))
    changes.push(field.invalid(`${path}.generation`, next.generation ?? 0, 'must not be decremented'));
  for (const name of immutable)
    if ((next[name] ?? '') !== (prev[name] ?? ''))
      changes.push(field.invalid(`${path}.${name}`, next[name], 'field is immutable'));
  if (!rules.repeated) return [...errors, ...changes, ...unqualifiedFinalizers(next, path, rules.anyFinalizer)];
  // Finalizers are looked at with the whole object only.
  changes.push(...errors.filter((error) => error.field !== `${path}.finalizers`));
  return [...errors, ...changes, ...changes];
}

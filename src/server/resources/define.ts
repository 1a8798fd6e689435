// Owns what the files of kinds have in common: names from the generated reference, generations, keeping what a client may not write.
import { schemaOf } from '../../api/schema/builtin.ts';
import { sameAs } from '../../api/validation/same.ts';
import type { Frozen, KubeObject, ResourceRef } from '../../api/meta.ts';
import type { FieldError } from '../../api/status-error.ts';
import type { Resource } from '../resource.ts';

export type Rules<T extends KubeObject> = Omit<
  Resource<T>,
  'group' | 'version' | 'kind' | 'plural' | 'singular' | 'namespaced'
>;

export function defineResource<T extends KubeObject>(ref: ResourceRef<T>, rules: Rules<T>): Resource<T> {
  return { ...ref, singular: ref.kind.toLowerCase(), ...rules };
}

/** For fields whose absence upstream's declarative validation tells of, which comes after all that is checked by hand. */
export function requiredLast(field: string | RegExp): (error: FieldError) => number {
  const isIt = typeof field === 'string' ? (at: string) => at === field : (at: string) => field.test(at);
  return (error) => Number(error.reason === 'FieldValueRequired' && isIt(error.field));
}

interface WithStatus extends KubeObject {
  status?: unknown;
}

interface WithSpec extends KubeObject {
  spec?: unknown;
}

/** The stored value of a field takes the place of what the client sent. Stored values are shared, not copied. */
export function keep<T extends object, K extends keyof T>(next: T, prev: Frozen<T>, ...fields: K[]): void {
  for (const field of fields) {
    const stored = (prev as T)[field];
    if (stored === undefined) delete next[field];
    else next[field] = stored;
  }
}

/** Whether what is wanted has stayed, as upstream compares it. */
export function sameSpec(next: Frozen<WithSpec>, prev: Frozen<WithSpec>): boolean {
  const schema = schemaOf(next.apiVersion, next.kind)?.byName.get('spec')?.schema;
  return sameAs(schema, next.spec, prev.spec);
}

/** Generation rises when what is wanted changes: the spec, unless `changed` says otherwise. */
export function raiseGeneration<T extends WithSpec>(
  next: T,
  prev: Frozen<T>,
  changed = !sameSpec(next as Frozen<T>, prev),
): void {
  const generation = prev.metadata.generation ?? 0;
  const raised = changed ? generation + 1 : generation;
  if (raised === 0) delete next.metadata.generation;
  else next.metadata.generation = raised;
}

/** For kinds with spec and status: creation clears the status, updates keep it and count generations. */
export function specStrategy<T extends WithStatus & WithSpec>(
  initialStatus: () => T['status'],
): Pick<Resource<T>, 'prepareForCreate' | 'prepareForUpdate'> {
  return {
    prepareForCreate(obj) {
      obj.status = initialStatus();
      obj.metadata.generation = 1;
    },
    prepareForUpdate(next, prev) {
      keep<T, keyof T>(next, prev, 'status');
      raiseGeneration(next, prev);
    },
  };
}

/** Such a status update changes the status alone: neither the spec nor anything of the metadata. */
export function onlyStatus<T extends WithSpec>(next: T, prev: Frozen<T>): void {
  keep<T, keyof T>(next, prev, 'spec');
  const { resourceVersion: _, ...metadata } = prev.metadata as Frozen<KubeObject['metadata']>;
  const { managedFields } = next.metadata;
  next.metadata = { ...metadata, ...(managedFields && { managedFields }) } as T['metadata'];
}

/** A status update leaves the spec alone, and the labels where `labels` says so. */
export function keepSpec<T extends WithSpec>(
  next: T,
  prev: Frozen<T>,
  options: { readonly labels?: boolean } = {},
): void {
  keep<T, keyof T>(next, prev, 'spec');
  if (options.labels) keep(next.metadata, prev.metadata as Frozen<T['metadata']>, 'labels');
}

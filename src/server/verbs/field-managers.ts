// Owns the place where a write is noted in metadata.managedFields, over the API room's server-side apply. Reads no request.
import { writeJson } from '../../api/codec/json-write.ts';
import { managedFieldsForUpdate } from '../../api/apply/update.ts';
import type { ConvertVersion, Versioned, WriteContext } from '../../api/apply/update.ts';
import { checkApplied, isTypable } from '../../api/apply/check.ts';
import { customResetFields, resetFieldsOf } from '../../api/apply/reset-fields.ts';
import type { ResetFields } from '../../api/apply/reset-fields.ts';
import { apiVersionOf, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { Schema } from '../../api/schema/schema.ts';
import type { Resource } from '../resource.ts';
import type { Served } from '../served/served.ts';
import type { WriteOptions } from './options.ts';
import { fromStorage } from './strategy.ts';
import { whenWritten } from './versions.ts';

export function schemaFor({ resource }: Served): Schema | undefined {
  return resource.schema ?? schemaOf(apiVersionOf(resource), resource.kind);
}

/** What server-side apply must know of a write; undefined for kinds without a schema. */
export function writeContext(served: Served, subresource: string, nowMs: number): WriteContext | undefined {
  const schema = schemaFor(served);
  if (schema === undefined) return undefined;
  const apiVersion = apiVersionOf(served.resource);
  const resetFields = resetFieldsFor(served, apiVersion, subresource);
  return {
    schema,
    apiVersion,
    nowMs,
    ...(subresource !== '' && { subresource }),
    ...(resetFields && { resetFields }),
    convert: (object, to) => {
      if (to === apiVersion) return { object, schema };
      const { sibling } = served.resource;
      if (sibling !== undefined) return siblingView(served, object as Frozen<KubeObject>, sibling(to));
      const other = schemaOf(to, served.resource.kind);
      return other === undefined || served.custom ? undefined : { object, schema: other };
    },
  };
}

/** From the request's version by way of the stored one. */
function siblingView(served: Served, object: Frozen<KubeObject>, other: Resource | undefined): Versioned | undefined {
  const schema = other && (other.schema ?? schemaOf(apiVersionOf(other), other.kind));
  if (schema === undefined) return undefined;
  const stored = served.resource.convert?.toStorage(object) ?? object;
  return { object: other!.convert?.fromStorage(stored as Frozen<KubeObject>) ?? stored, schema };
}

function resetFieldsFor(served: Served, apiVersion: string, subresource: string): ResetFields | undefined {
  if (!served.custom) return resetFieldsOf(apiVersion, served.resource.kind, subresource);
  if (!served.subresources.has('status')) return undefined;
  return subresource === 'status' ? customResetFields.status : customResetFields.main;
}

/** Notes in `next` who changed what since `prev` (undefined: it is new). Both are in the stored version. */
export function recordWrite(
  served: Served,
  prev: Frozen<KubeObject> | undefined,
  next: KubeObject,
  options: WriteOptions,
  subresource: string,
  nowMs: number,
): Promise<void> | undefined {
  const context = writeContext(served, subresource, nowMs);
  if (context === undefined) return undefined;
  const isTyped = (object: Frozen<KubeObject>): boolean => !served.custom || isTypable(context.schema, object);
  if (!isTyped(next as Frozen<KubeObject>) || (prev !== undefined && !isTyped(prev))) {
    keepManagers(next, prev);
    return undefined;
  }
  const record = (convert: ConvertVersion | undefined): void => {
    const managed = managedFieldsForUpdate({
      ...context,
      ...(convert && { convert }),
      live: prev === undefined ? undefined : fromStorage(served, prev),
      next: fromStorage(served, next as Frozen<KubeObject>),
      manager: options.fieldManager,
    });
    setManagedFields(next, managed);
  };
  if (served.resource.conversion === undefined) {
    record(context.convert);
    return undefined;
  }
  return withConversions(served, context, record).catch((error: unknown) => {
    if (!(error instanceof NotConvertible)) throw error;
    keepManagers(next, prev);
  });
}

/** As upstream, where a write cannot be noted: who owns what stays as it was. */
function keepManagers(next: KubeObject, prev: Frozen<KubeObject> | undefined): void {
  setManagedFields(next, thaw(prev?.metadata.managedFields) as KubeObject['metadata']['managedFields']);
}

/** The object has what a version that somebody's fields are of does not know. */
export class NotConvertible extends Error {
  override readonly name = 'NotConvertible';
}

class Unconverted extends Error {
  readonly object: Frozen<KubeObject>;
  readonly to: string;
  readonly id: string;
  constructor(object: Frozen<KubeObject>, to: string, id: string) {
    super('not converted yet');
    this.object = object;
    this.to = to;
    this.id = id;
  }
}

/** More versions than one definition has that anybody wrote by hand. */
const maxConversions = 1_000;

/** Runs what needs a custom kind's other versions, again and again until all that it asks for is there. Throws NotConvertible. */
export async function withConversions<T>(
  served: Served,
  { schema, apiVersion }: WriteContext,
  run: (convert: ConvertVersion) => T,
): Promise<T> {
  const { conversion, sibling } = served.resource;
  const known = new Map<string, unknown>();
  const convert: ConvertVersion = (object, to) => {
    if (to === apiVersion) return { object, schema };
    const other = sibling?.(to)?.schema;
    if (other === undefined) return undefined;
    const id = `${to} ${writeJson(object)}`;
    const converted = Object.keys(object as object).length === 0 ? object : known.get(id);
    if (converted === undefined) throw new Unconverted(object as Frozen<KubeObject>, to, id);
    const [problem] = checkApplied(other, converted);
    if (problem !== undefined) throw new NotConvertible(`${to}: ${problem}`);
    return { object: converted, schema: other };
  };
  for (let turn = 0; turn < maxConversions; turn++) {
    try {
      return run(convert);
    } catch (error) {
      if (!(error instanceof Unconverted)) throw error;
      try {
        known.set(error.id, await conversion!.as(error.object, error.to));
      } catch (failure) {
        throw whenWritten(failure);
      }
    }
  }
  throw new Error('an object needs ever more versions of itself');
}

/** What the server itself changes beside a client's write is its own: quotas counted, budgets taken from. */
export function recordServerWrite(
  served: Served,
  prev: Frozen<KubeObject>,
  next: KubeObject,
  subresource: string,
  nowMs: number,
): void {
  // Only built-in kinds are counted and taken from: nothing is to be waited for.
  void recordWrite(served, prev, next, serverOptions, subresource, nowMs);
}

/** The same for what the server makes by itself. */
export function recordNewByServer(served: Served, next: KubeObject, nowMs: number): void {
  void recordWrite(served, undefined, next, serverOptions, '', nowMs);
}

const serverOptions: WriteOptions = {
  dryRun: false,
  fieldManager: 'kube-apiserver',
  fieldValidation: 'Ignore',
  force: undefined,
};

export function setManagedFields(object: KubeObject, managed: KubeObject['metadata']['managedFields']): void {
  if (managed === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = managed;
}

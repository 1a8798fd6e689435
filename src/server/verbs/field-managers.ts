// Owns the place where a write is noted in metadata.managedFields, over the API room's server-side apply. Reads no request.
import { managedFieldsForUpdate } from '../../api/apply/update.ts';
import type { Versioned, WriteContext } from '../../api/apply/update.ts';
import { customResetFields, resetFieldsOf } from '../../api/apply/reset-fields.ts';
import type { ResetFields } from '../../api/apply/reset-fields.ts';
import { apiVersionOf } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { Schema } from '../../api/schema/schema.ts';
import type { Resource } from '../resource.ts';
import type { Served } from '../served/served.ts';
import type { WriteOptions } from './options.ts';
import { fromStorage } from './strategy.ts';

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
): void {
  const context = writeContext(served, subresource, nowMs);
  if (context === undefined) return;
  const managed = managedFieldsForUpdate({
    ...context,
    live: prev === undefined ? undefined : fromStorage(served, prev),
    next: fromStorage(served, next as Frozen<KubeObject>),
    manager: options.fieldManager,
  });
  setManagedFields(next, managed);
}

/** What the server itself changes beside a client's write is its own: quotas counted, budgets taken from. */
export function recordServerWrite(
  served: Served,
  prev: Frozen<KubeObject>,
  next: KubeObject,
  subresource: string,
  nowMs: number,
): void {
  recordWrite(served, prev, next, serverOptions, subresource, nowMs);
}

/** The same for what the server makes by itself. */
export function recordNewByServer(served: Served, next: KubeObject, nowMs: number): void {
  recordWrite(served, undefined, next, serverOptions, '', nowMs);
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

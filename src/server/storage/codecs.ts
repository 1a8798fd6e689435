// Owns the choice of the stored form by kind.
import { apiVersionOf } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { Resource } from '../resource.ts';
import { jsonStorage, protobufStorage } from './envelope.ts';
import type { StorageCodec } from './envelope.ts';

/** Groups that upstream keeps as JSON although they are built in. */
const jsonGroups: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io']);

export function storageCodec(resource: Resource): StorageCodec {
  const schema = resource.schema ?? schemaOf(apiVersionOf(resource), resource.kind);
  if (schema === undefined || resource.schema !== undefined || jsonGroups.has(resource.group))
    return jsonStorage(schema);
  return protobufStorage(schema);
}

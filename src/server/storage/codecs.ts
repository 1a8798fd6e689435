// Owns the choice of the stored form by kind.
import { apiVersionOf } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { Resource } from '../resource.ts';
import { applyAllDefaults } from '../verbs/decode.ts';
import { definitionStorage } from './definition-form.ts';
import { jsonStorage, protobufStorage } from './envelope.ts';
import type { StorageCodec } from './envelope.ts';

/** Groups that upstream keeps as JSON although they are built in. */
const jsonGroups: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io']);

export function storageCodec(resource: Resource): StorageCodec {
  const schema = resource.schema ?? schemaOf(apiVersionOf(resource), resource.kind);
  if (resource.group === 'apiextensions.k8s.io') return definitionStorage(jsonStorage(schema));
  if (schema === undefined || resource.schema !== undefined || jsonGroups.has(resource.group))
    return jsonStorage(schema);
  return withDefaults(protobufStorage(schema), resource);
}

/**
 * What is read gets its defaults, as upstream does it: a server of another version, or upstream's (which sets some, such as a Job's labels,
 * only when it reads), wrote without them. Those that are times are the object's, so that every server reads the same.
 */
function withDefaults(codec: StorageCodec, resource: Resource): StorageCodec {
  return {
    ...codec,
    decode(value) {
      const object = codec.decode(value);
      applyAllDefaults(resource, object, Date.parse(object.metadata.creationTimestamp ?? '') || 0);
      return object;
    },
  };
}

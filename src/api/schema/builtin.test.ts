// Proves that the schema table unpacks completely and says what the facts say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindNames, schemaOf, schemaOfType, typeNames } from './builtin.ts';
import type { ObjectSchema, Schema } from './schema.ts';

function at(schema: Schema, ...path: string[]): Schema {
  let current = schema;
  for (const name of path) {
    if (current.type === 'list') current = current.items;
    current = (current as ObjectSchema).byName.get(name)!.schema;
  }
  return current;
}

test('every type and every field resolves', () => {
  for (const name of typeNames()) {
    const schema = schemaOfType(name);
    if (schema.type === 'object')
      for (const field of schema.fields) assert.ok(field.schema.type, `${name}.${field.name}`);
  }
  for (const name of kindNames()) {
    const at = name.lastIndexOf('/');
    const schema = schemaOf(name.slice(0, at), name.slice(at + 1));
    assert.equal(schema?.type, 'object', name);
  }
});

test('list types, map types, patch strategies and defaults', () => {
  const pod = schemaOf('v1', 'Pod')!;
  const ports = at(pod, 'spec', 'containers', 'ports');
  assert.ok(ports.type === 'list');
  assert.equal(ports.listType, 'map');
  assert.deepEqual(ports.mapKeys, ['containerPort', 'protocol']);
  const container = (at(pod, 'spec', 'containers') as { items: ObjectSchema }).items;
  assert.deepEqual(container.byName.get('ports')!.patchStrategy, ['merge']);
  assert.equal(container.byName.get('ports')!.patchMergeKey, 'containerPort');
  assert.equal((ports.items as ObjectSchema).byName.get('protocol')!.default, 'TCP');
  assert.deepEqual(
    pod.fields.slice(0, 3).map((field) => field.name),
    ['kind', 'apiVersion', 'metadata'],
  );
  const volumes = (at(pod, 'spec') as ObjectSchema).byName.get('volumes')!;
  assert.deepEqual(volumes.patchStrategy, ['merge', 'retainKeys']);
  const volume = (volumes.schema as { items: ObjectSchema }).items;
  assert.deepEqual(volume.byName.get('emptyDir')!.within, [2]);
  const selector = at(schemaOf('apps/v1', 'Deployment')!, 'spec', 'selector');
  assert.equal(selector.type === 'object' && selector.atomic, true);
});

test('unknown kinds have no schema; options exist in every group version', () => {
  assert.equal(schemaOf('v1', 'Nothing'), undefined);
  assert.equal(schemaOf('apps/v1', 'Pod'), undefined);
  assert.equal(schemaOf('policy/v1', 'DeleteOptions')?.name, 'meta.v1.DeleteOptions');
});

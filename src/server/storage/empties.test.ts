import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf } from '../../api/schema/builtin.ts';
import { protobufStorage } from './envelope.ts';

test('empty lists that are written all the same become null, as they are read back', () => {
  const codec = protobufStorage(schemaOf('storage.k8s.io/v1', 'CSINode')!);
  const object = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'n', labels: {} },
    spec: { drivers: [{ name: 'a', nodeID: 'b', topologyKeys: [] }] },
  };
  const canonical = codec.canonical(object as never) as unknown as typeof object;
  assert.equal(canonical.spec.drivers[0]!.topologyKeys, null);
  const again = codec.decode(codec.encode(canonical as never)) as unknown as typeof object;
  assert.deepEqual(again.spec, canonical.spec);
});

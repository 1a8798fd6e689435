// Tests migrations against a real API server: objects are written again, an unknown resource fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMaps, storageVersionMigrations } from '../../api/generated/resources.ts';
import { withControllers } from '../../testing/controller-world.ts';

test('a migration of a resource that is not served fails', async () => {
  await withControllers({ controllers: ['storage-version-migrator-controller'] }, async (world) => {
    await world.create(configMaps, { metadata: { name: 'a', namespace: 'default' } });
    await world.create(storageVersionMigrations, {
      metadata: { name: 'm' },
      spec: { resource: { group: '', resource: 'nothings' } },
    });
    await world.settle(100);
    const { status } = await world.get(storageVersionMigrations, 'm');
    assert.deepEqual(
      status?.conditions?.map(({ type, status: truth }) => `${type}=${truth}`),
      ['Failed=True'],
    );
  });
});

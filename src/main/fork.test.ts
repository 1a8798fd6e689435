// Tests snapshots of a running cluster and clusters that begin as others were.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configMaps } from '../api/generated/resources.ts';
import { isNotFound } from '../api/status-error.ts';
import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { saveFromRunning } from './snapshot-socket.ts';
import { UserError } from './user-error.ts';

const get = (cluster: Cluster, name: string) => cluster.client.resource(configMaps).get({ namespace: 'default', name });
const write = (cluster: Cluster, name: string) =>
  cluster.client.resource(configMaps).create({ metadata: { name, namespace: 'default' }, data: { name } });

test('a running cluster is saved; others begin as the file, the directory, or the running one was, at a revision', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fork-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'data');
  const file = join(folder, 'backup');
  const origin = await startCluster({ dataDir, node: 'none' });
  let running = true;
  t.after(async () => running && (await origin.stop()));
  const one = Number((await write(origin, 'one')).metadata.resourceVersion);
  await write(origin, 'two');
  const saved = await saveFromRunning(dataDir, file, 0);
  assert.ok(saved.revision > one && saved.keys > 10);
  await assert.rejects(saveFromRunning(dataDir, join(folder, 'never'), 1_000_000), (error) => {
    return error instanceof UserError && /not reached yet/.test(error.message);
  });
  assert.deepEqual(readdirSync(folder).sort(), ['backup', 'data'], 'no half file is left');

  const rewound = await startCluster({ from: origin, atRevision: one, node: 'none' });
  t.after(() => rewound.stop());
  assert.equal((await get(rewound, 'one')).data?.['name'], 'one');
  await assert.rejects(get(rewound, 'two'), (error) => isNotFound(error));
  await write(rewound, 'other');
  await assert.rejects(get(origin, 'other'), (error) => isNotFound(error), 'the origin is not touched');

  await assert.rejects(startCluster({ from: dataDir, node: 'none' }), UserError, 'a directory that is in use');
  await origin.stop();
  running = false;
  for (const from of [file, dataDir]) {
    const begun = await startCluster({ from, node: 'none' });
    try {
      assert.equal((await get(begun, 'two')).data?.['name'], 'two');
    } finally {
      await begun.stop();
    }
  }
  await assert.rejects(startCluster({ from: join(folder, 'nothing') }), UserError);
});

import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLogger } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { configMaps } from '../api/generated/resources.ts';
import { statusError } from '../api/status-error.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { informerFactory } from './informer-factory.ts';
import { compareResourceVersions } from './object-store.ts';
import { client } from './rest.ts';

function setUp() {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const api = memoryApi({ clock, random });
  const factory = informerFactory(client(api), { clock, random, logger: silentLogger });
  const group = taskGroup();
  const informer = factory.informer(configMaps);
  const heard: string[] = [];
  informer.on({
    added: (obj) => heard.push(`+${obj.metadata.name}`),
    updated: (next) => heard.push(`~${next.metadata.name}`),
    deleted: (obj) => heard.push(`-${obj.metadata.name}`),
  });
  group.run('informers', (signal) => factory.run(signal));
  return { clock, api, factory, group, informer, heard, maps: factory.client.resource(configMaps) };
}

const named = (name: string) => ({ metadata: { name, namespace: 'default' } });

test('what exists is added, then changes follow in order', async () => {
  const { clock, group, informer, heard, maps } = setUp();
  await maps.create(named('a'));
  await clock.advance(0);
  assert.equal(informer.synced, true);
  const b = await maps.create(named('b'));
  await maps.update({ ...b, data: { x: '1' } });
  await maps.delete({ namespace: 'default', name: 'a' });
  await clock.advance(0);
  assert.deepEqual(heard, ['+a', '+b', '~b', '-a']);
  assert.deepEqual(
    informer.list('default').map((obj) => obj.data),
    [{ x: '1' }],
  );
  await group.stop();
});

test('a writer reads its own write before the watch brings it, and hears of it once', async () => {
  const { clock, group, informer, heard, factory } = setUp();
  await clock.advance(0);
  const written = await factory.writer(configMaps).create(named('mine'));
  assert.equal(informer.get({ namespace: 'default', name: 'mine' }), written);
  await clock.advance(0);
  assert.deepEqual(heard, ['+mine']);
  await group.stop();
});

test('an answer that the watch has passed does not bring back a deleted object', async () => {
  const { clock, group, informer, maps } = setUp();
  await clock.advance(0);
  const written = await maps.create(named('gone'));
  await maps.delete({ namespace: 'default', name: 'gone' });
  await clock.advance(0);
  informer.wrote(written);
  assert.equal(informer.size, 0);
  await group.stop();
});

test('ended watches resume without a new list, and a gap in history lists again', async () => {
  const { clock, api, group, informer, heard, maps } = setUp();
  await maps.create(named('a'));
  await clock.advance(0);
  api.endWatches();
  await maps.create(named('b'));
  await clock.advance(5000);
  assert.deepEqual(heard, ['+a', '+b']);
  api.failOnce(() => true, statusError('ServiceUnavailable', 'down'));
  api.endWatches();
  await clock.advance(0);
  await maps.delete({ namespace: 'default', name: 'a' }).catch(() => maps.delete({ namespace: 'default', name: 'a' }));
  api.compact();
  await clock.advance(60_000);
  assert.deepEqual(heard, ['+a', '+b', '-a']);
  assert.equal(informer.size, 1);
  await group.stop();
});

test('indexes follow the objects', async () => {
  const { clock, group, informer, maps } = setUp();
  informer.addIndex('label', (obj) => [obj.metadata.labels?.['app'] ?? '']);
  const a = await maps.create({ metadata: { ...named('a').metadata, labels: { app: 'x' } } });
  await clock.advance(0);
  assert.equal(informer.indexed('label', 'x').length, 1);
  await maps.update({ ...a, metadata: { ...a.metadata, labels: { app: 'y' } } });
  await clock.advance(0);
  assert.equal(informer.indexed('label', 'x').length, 0);
  assert.equal(informer.indexed('label', 'y').length, 1);
  await group.stop();
});

test('resource versions compare as integers', () => {
  assert.ok(compareResourceVersions('9', '10') < 0);
  assert.ok(compareResourceVersions('11', '10') > 0);
  assert.equal(compareResourceVersions('10', '10'), 0);
});

// Owns the tests of lists in parts across compaction: refused with a token that goes on with what is there then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../../api/status-error.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { memoryStore } from '../../store/memory.ts';
import { startTestServer } from '../start.suite.ts';
import { decodeContinue, encodeContinue, inconsistentContinue } from './continue.ts';

const path = '/api/v1/namespaces/default/configmaps';

interface List {
  readonly metadata: {
    readonly continue?: string;
    readonly resourceVersion: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const tokenOf = (start: string): string =>
  Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: 5, start })).toString('base64url');

test('tokens', () => {
  assert.deepEqual(decodeContinue(encodeContinue(5, 'a/b')), { revision: 5, after: 'a/b' });
  assert.deepEqual(decodeContinue(inconsistentContinue('a/b')), { revision: undefined, after: 'a/b' });
  for (const bad of ['', '%', 'e30', Buffer.from('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}').toString('base64url')])
    assert.throws(() => decodeContinue(bad), /continue key is not valid/);
  for (const place of ['../b', 'a/../b', './a', 'a//b', 'a/', '..', '//a'])
    assert.throws(() => decodeContinue(tokenOf(place)), /continue key is not valid/, place);
  for (const place of ['b', 'a/b', '/b', '..b', 'b/\0'])
    assert.equal(decodeContinue(tokenOf(place)).after, place.replace('\0', ''), place);
});

test('a list goes on across compaction', async () => {
  const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
  const running = await startTestServer({}, store);
  const { admin } = running;
  const page = async (query: Record<string, string>): Promise<List> =>
    (await admin.call({ method: 'GET', path, query: new URLSearchParams(query) })) as List;
  const names = ({ items }: List): string[] => items.map(({ metadata }) => metadata.name);
  const add = (name: string) =>
    admin.call({ method: 'POST', path, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } } });
  try {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await add(name);
    const first = await page({ limit: '2' });
    assert.deepEqual(names(first), ['a', 'b']);
    // A token tells the place within what is listed, whatever that is.
    assert.equal(decodeContinue(first.metadata.continue!).after, 'b');
    await add('bb');
    // What has come since is not in it.
    const second = await page({ limit: '2', continue: first.metadata.continue! });
    assert.deepEqual([names(second), second.metadata.resourceVersion], [['c', 'd'], first.metadata.resourceVersion]);
    await add('f');
    await store.compact((await store.range({ start: '/' }, { countOnly: true })).revision);
    const refused = await page({ limit: '2', continue: first.metadata.continue! }).then(
      () => assert.fail('compacted'),
      (error: unknown) => error,
    );
    assert.ok(refused instanceof StatusError);
    assert.deepEqual([refused.code, refused.reason], [410, 'Expired']);
    const third = await page({ limit: '2', continue: refused.status.metadata!.continue! });
    assert.deepEqual(names(third), ['bb', 'c']);
    assert.notEqual(third.metadata.resourceVersion, first.metadata.resourceVersion);
    // From here on it is consistent again.
    await add('ccc');
    const fourth = await page({ continue: third.metadata.continue! });
    assert.deepEqual(
      [names(fourth), fourth.metadata.resourceVersion],
      [['d', 'e', 'f'], third.metadata.resourceVersion],
    );
    await assert.rejects(
      page({ resourceVersion: first.metadata.resourceVersion, resourceVersionMatch: 'Exact' }),
      (error: unknown) =>
        error instanceof StatusError && error.code === 410 && error.status.metadata?.continue === undefined,
    );
  } finally {
    await running.stop();
    await store.close();
  }
});

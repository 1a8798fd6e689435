import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/meta.ts';
import type { Change } from './change.ts';
import { Entry } from './entry.ts';
import { WatchCache } from './watch-cache.ts';
import type { Scope } from './watch-cache.ts';

function entry(key: string, revision: number, labels: Record<string, string> = {}): Entry {
  const [namespace, name] = key.split('/') as [string, string];
  const object = { apiVersion: 'v1', kind: 'X', metadata: { name, namespace, labels } } as unknown as KubeObject;
  return Entry.of(key, revision, object);
}

function cache(historyLimit = 10): WatchCache {
  return new WatchCache({ historyLimit, indexes: { node: ({ object }) => object.metadata.labels?.['node'] ?? '' } });
}

const keys = (of: WatchCache, scope: Scope, after?: string): string[] =>
  [...of.list(scope, after)].map(({ key }) => key);

function recorder(of: WatchCache, scope: Scope): { readonly seen: string[]; readonly closed: string[] } {
  const seen: string[] = [];
  const closed: string[] = [];
  of.add({
    scope,
    deliver: ({ key, revision, current }: Change) =>
      void seen.push(`${revision} ${current === undefined ? '-' : '+'}${key}`),
    close: (reason) => void closed.push(reason),
  });
  return { seen, closed };
}

test('lists in key order, by namespace, by index, from a key on', () => {
  const subject = cache();
  subject.load([entry('b/1', 3), entry('a/2', 1, { node: 'n' }), entry('a/1', 2)], 5);
  assert.deepEqual(keys(subject, { type: 'all' }), ['a/1', 'a/2', 'b/1']);
  assert.deepEqual(keys(subject, { type: 'namespace', namespace: 'a' }), ['a/1', 'a/2']);
  assert.deepEqual(keys(subject, { type: 'all' }, 'a/1'), ['a/2', 'b/1']);
  assert.deepEqual(keys(subject, { type: 'index', index: 'node', value: 'n' }), ['a/2']);
  assert.equal(subject.revision, 5);
  assert.equal(subject.changedRevision, 3);
});

test('a change goes to those whose scope it touches, before or after', () => {
  const subject = cache();
  subject.load([entry('a/1', 1, { node: 'x' })], 1);
  const all = recorder(subject, { type: 'all' });
  const other = recorder(subject, { type: 'namespace', namespace: 'b' });
  const x = recorder(subject, { type: 'index', index: 'node', value: 'x' });
  const y = recorder(subject, { type: 'index', index: 'node', value: 'y' });
  subject.apply('a/1', 2, entry('a/1', 2, { node: 'y' }));
  subject.apply('a/1', 3, undefined);
  subject.apply('a/none', 4, undefined);
  assert.deepEqual(all.seen, ['2 +a/1', '3 -a/1']);
  assert.deepEqual(other.seen, []);
  assert.deepEqual(x.seen, ['2 +a/1']);
  assert.deepEqual(y.seen, ['2 +a/1', '3 -a/1']);
  assert.equal(subject.size, 0);
  assert.deepEqual(keys(subject, { type: 'index', index: 'node', value: 'y' }), []);
});

test('history is a ring: what fell out of it is too old', () => {
  const subject = cache(3);
  subject.load([], 10);
  for (let revision = 11; revision <= 16; revision++)
    subject.apply(`a/${revision}`, revision, entry(`a/${revision}`, revision));
  assert.equal(subject.since(9), undefined);
  assert.equal(subject.since(12), undefined);
  assert.deepEqual(
    subject.since(13)?.map(({ revision }) => revision),
    [14, 15, 16],
  );
  assert.deepEqual(subject.since(16), []);
});

test('selections turn changes into additions and deletions', () => {
  const subject = cache();
  subject.load([entry('a/1', 1, { app: 'x' })], 1);
  subject.apply('a/1', 2, entry('a/1', 2, { app: 'y' }));
  subject.apply('a/1', 3, entry('a/1', 3, { app: 'x' }));
  subject.apply('a/1', 4, entry('a/1', 4, { app: 'x' }));
  subject.apply('a/1', 5, undefined);
  const events = subject
    .since(1)!
    .map((change) => change.eventFor(({ object }) => object.metadata.labels?.['app'] === 'x'));
  assert.deepEqual(
    events.map((event) => `${event?.type} ${event?.entry.object.metadata.resourceVersion}`),
    ['DELETED 2', 'ADDED 3', 'MODIFIED 4', 'DELETED 5'],
  );
});

test('a reload ends the watches', () => {
  const subject = cache();
  subject.load([], 1);
  const watcher = recorder(subject, { type: 'all' });
  subject.load([], 9);
  assert.deepEqual(watcher.closed, ['reloaded']);
  assert.equal(subject.since(5), undefined);
});

test('objects with a label are found the same way with an index as by looking at all', () => {
  const subject = cache();
  const app = (at: number): Record<string, string> => (at % 3 === 0 ? {} : { app: `a${at % 5}`, own: String(at) });
  subject.load(
    Array.from({ length: 300 }, (_, at) => entry(`n${at % 2}/${at}`, 1, app(at))),
    1,
  );
  const check = (value: string): void => {
    const matches = ({ object }: Entry): boolean => object.metadata.labels?.['app'] === value;
    for (const scope of [{ type: 'all' }, { type: 'namespace', namespace: 'n1' }] as const)
      assert.deepEqual(
        subject.select(scope, matches, { key: 'app', value }).map(({ key }) => key),
        subject.select(scope, matches).map(({ key }) => key),
      );
  };
  for (const value of ['a1', 'a2', 'none']) check(value);
  subject.apply('n1/1', 2, entry('n1/1', 2, { app: 'a2' }));
  subject.apply('n1/7', 3, undefined);
  subject.apply('n1/new', 4, entry('n1/new', 4, { app: 'a2' }));
  subject.apply('n1/3', 5, entry('n1/3', 5, { app: 'a1', own: '3' }));
  for (const value of ['a1', 'a2', 'none']) check(value);
  assert.deepEqual(
    subject.select({ type: 'all' }, () => true, { key: 'own', value: '3' }).map(({ key }) => key),
    ['n1/3'],
  );
  // More labels than are indexed at a time.
  for (let at = 0; at < 20; at++) subject.select({ type: 'all' }, () => true, { key: `l${at}`, value: 'x' });
  check('a2');
  subject.load([], 9);
  check('a2');
});

test('an unfiltered list is the same array until something changes', () => {
  const subject = cache();
  subject.load([entry('a/1', 1), entry('a/2', 1), entry('b/1', 1)], 1);
  const scope = { type: 'namespace', namespace: 'a' } as const;
  const first = subject.part(scope, '', 1);
  assert.deepEqual([first.entries.map(({ key }) => key), first.rest], [['a/1'], 1]);
  assert.equal(subject.part(scope, '', 1).entries, first.entries);
  subject.advance(5);
  assert.equal(subject.part(scope, '', 1).entries, first.entries);
  assert.deepEqual(
    subject.part(scope, 'a/1', 0).entries.map(({ key }) => key),
    ['a/2'],
  );
  subject.apply('a/1', 6, entry('a/1', 6));
  assert.notEqual(subject.part(scope, '', 1).entries, first.entries);
  assert.equal(subject.part(scope, '', 1).entries[0]!.revision, 6);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '../../api/meta.ts';
import { Entry } from './entry.ts';
import { SortedEntries } from './sorted-entries.ts';

function entry(key: string, revision = 1): Entry {
  const metadata = { name: key } as KubeObject['metadata'];
  return Entry.of(key, revision, { apiVersion: 'v1', kind: 'X', metadata });
}

const name = (at: number): string => `k${String(at).padStart(5, '0')}`;

test('what is put and deleted in any order is found in the order of keys, in whole and in part', () => {
  const step = fc.record({
    at: fc.integer({ min: 0, max: 3000 }),
    put: fc.boolean(),
    many: fc.integer({ min: 1, max: 700 }),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 12 }),
      fc.integer({ min: 0, max: 3000 }),
      fc.integer({ min: 1, max: 900 }),
      (steps, from, limit) => {
        const subject = new SortedEntries();
        const model = new Map<string, Entry>();
        for (const { at, put, many } of steps)
          for (let i = 0; i < many; i++) {
            // Neither ascending nor descending: 7 and 3001 have no common divisor.
            const key = name((at + i * 7) % 3001);
            if (put) {
              const one = entry(key, i + 1);
              subject.put(one);
              model.set(key, one);
            } else {
              subject.delete(key);
              model.delete(key);
            }
          }
        const want = [...model.keys()].sort();
        assert.equal(subject.size, want.length);
        assert.deepEqual(
          [...subject.from('', undefined)].map(({ key }) => key),
          want,
        );
        const start = name(from);
        const end = name(from + 500);
        const within = want.filter((key) => key >= start && key < end);
        assert.deepEqual(
          [...subject.from(start, end)].map(({ key }) => key),
          within,
        );
        const { entries, rest } = subject.slice(start, end, limit);
        assert.deepEqual(
          entries.map(({ key }) => key),
          within.slice(0, limit),
        );
        assert.equal(rest, Math.max(0, within.length - limit));
        for (const one of entries) assert.equal(one, model.get(one.key));
      },
    ),
    { numRuns: 60 },
  );
});

test('a load replaces everything', () => {
  const subject = new SortedEntries();
  subject.put(entry('old'));
  subject.load(Array.from({ length: 2000 }, (_, at) => entry(name((at * 7) % 2000))));
  assert.deepEqual(
    subject.slice('', undefined, Infinity).entries.map(({ key }) => key),
    Array.from({ length: 2000 }, (_, at) => name(at)),
  );
});

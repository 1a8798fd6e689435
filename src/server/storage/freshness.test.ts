// Owns the tests of consistent reads: who shares a question, and when the watch is asked how far it is.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deferred } from '../../base/task-group.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import type { Store } from '../../store/store.ts';
import { freshness } from './freshness.ts';

function asked() {
  const clock = new VirtualClock();
  const questions: { readonly answer: (revision: number) => void; readonly fail: (error: Error) => void }[] = [];
  const waits: { readonly revision: number; readonly resolve: () => void }[] = [];
  const state = { revision: 0, progress: 0 };
  const store = {
    range() {
      const { promise, resolve, reject } = deferred<number>();
      questions.push({ answer: resolve, fail: reject });
      return promise.then((revision) => ({ revision, items: [], count: 0, more: false }));
    },
    async requestProgress() {
      state.progress++;
    },
  } as unknown as Store;
  const feed = {
    get revision() {
      return state.revision;
    },
    reached(revision: number) {
      if (revision <= state.revision) return undefined;
      const { promise, resolve } = deferred();
      waits.push({ revision, resolve });
      return promise;
    },
  };
  return { fresh: freshness({ store, feed, clock }), questions, waits, state, clock };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it('calls of one turn share a question; a call shares none that was sent before it', async () => {
  const { fresh, questions, state } = asked();
  state.revision = 100;
  const done: string[] = [];
  const call = (name: string) => void fresh().then(() => done.push(name));
  call('first');
  await Promise.resolve();
  call('second');
  assert.equal(questions.length, 0, 'the turn has not ended');
  await settle();
  assert.equal(questions.length, 1);
  // It is under way: it may have been answered already, by a store that then took a write.
  call('third');
  await settle();
  assert.equal(questions.length, 2);
  questions[1]!.answer(2);
  await settle();
  assert.deepEqual(done, ['third']);
  questions[0]!.answer(1);
  await settle();
  assert.deepEqual(done, ['third', 'first', 'second']);
});

it('a question that fails fails its callers only', async () => {
  const { fresh, questions } = asked();
  const first = assert.rejects(fresh(), /away/);
  await settle();
  const second = fresh();
  await settle();
  questions[0]!.fail(new Error('away'));
  await first;
  await settle();
  questions[1]!.answer(0);
  await second;
});

it('the watch is asked for its progress only when it does not come by itself', async () => {
  const { fresh, questions, waits, state, clock } = asked();
  const quick = fresh();
  await settle();
  questions[0]!.answer(5);
  await settle();
  assert.equal(waits[0]!.revision, 5);
  waits[0]!.resolve();
  await quick;
  await clock.advance(1000);
  assert.equal(state.progress, 0);
  const slow = fresh();
  await settle();
  questions[1]!.answer(6);
  await settle();
  await clock.advance(10);
  assert.equal(state.progress, 1);
  waits[1]!.resolve();
  await slow;
});

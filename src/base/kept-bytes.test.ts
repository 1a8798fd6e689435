import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteKeeper } from './kept-bytes.ts';

const ten = (): Buffer => Buffer.alloc(10);

test('what nobody asks for again leaves when the room on trial is full, oldest first', () => {
  const keeper = new ByteKeeper({ trialBytes: 20, provenBytes: 100 });
  const kept = [keeper.keep(ten()), keeper.keep(ten()), keeper.keep(ten())];
  assert.deepEqual(
    kept.map(({ bytes }) => bytes !== undefined),
    [false, true, true],
  );
  assert.equal(keeper.size, 20);
});

test('what is asked for again outlives any number of others', () => {
  const keeper = new ByteKeeper({ trialBytes: 20, provenBytes: 20 });
  const wanted = keeper.keep(ten());
  assert.ok(keeper.use(wanted));
  for (let at = 0; at < 100; at++) keeper.keep(ten());
  assert.ok(keeper.use(wanted));
});

test('among the proven the one that was used lately gets a second chance', () => {
  const keeper = new ByteKeeper({ trialBytes: 10, provenBytes: 20 });
  const [first, second] = [keeper.keep(ten(), true), keeper.keep(ten(), true)];
  keeper.use(first);
  const third = keeper.keep(ten(), true);
  assert.ok(first.bytes);
  assert.equal(second.bytes, undefined);
  assert.ok(third.bytes);
  assert.equal(keeper.size, 20);
});

test('what is released leaves its room, and what is larger than a room does not stay', () => {
  const keeper = new ByteKeeper({ trialBytes: 10, provenBytes: 10 });
  const kept = keeper.keep(ten());
  keeper.release(kept);
  keeper.release(kept);
  assert.equal(keeper.size, 0);
  assert.equal(keeper.use(kept), undefined);
  assert.equal(keeper.keep(Buffer.alloc(11), true).bytes, undefined);
  assert.equal(keeper.size, 0);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterReadyWork, Turn, TurnBudget, TurnQueue } from './turn.ts';

test('those who wait for one turn go on in step, in the order of asking; who comes later waits for the next', async () => {
  const turn = new Turn();
  const steps: string[] = [];
  const walk = async (name: string): Promise<void> => {
    await turn.over();
    steps.push(`${name}1`);
    await Promise.resolve();
    steps.push(`${name}2`);
  };
  const first = [walk('a'), walk('b')];
  assert.equal(turn.over(), turn.over());
  await Promise.all([...first, turn.over().then(() => walk('c'))]);
  assert.deepEqual(steps, ['a1', 'b1', 'a2', 'b2', 'c1', 'c2']);
});

test('work in pieces is done in order, some of it each turn, all of it in the end', async () => {
  let now = 0;
  const queue = new TurnQueue(2, () => now);
  const done: string[] = [];
  const turns: number[] = [];
  for (let at = 0; at < 6; at++)
    queue.run(() => {
      now += 1.5;
      done.push(String(at));
    });
  assert.deepEqual(done, ['0', '1'], 'what fits into the first turn');
  while (done.length < 6) {
    turns.push(done.length);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(turns.length < 20);
  }
  assert.deepEqual(done, ['0', '1', '2', '3', '4', '5']);
  assert.ok(turns.length > 1, 'not all in one turn');
});

test('a turn is used up by time, and the next begins anew', async () => {
  let now = 0;
  let turns = 0;
  const budget = new TurnBudget(
    1,
    () => now,
    () => turns++,
  );
  assert.equal(budget.isSpent(), false);
  now = 0.5;
  assert.equal(budget.isSpent(), false);
  now = 2;
  assert.equal(budget.isSpent(), true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(turns, 1);
  assert.equal(budget.isSpent(), false);
  await new Promise<void>((resolve) => afterReadyWork(resolve));
});

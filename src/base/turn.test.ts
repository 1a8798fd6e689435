import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turn } from './turn.ts';

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

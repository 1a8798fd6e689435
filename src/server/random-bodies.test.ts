// Proves with generated objects of every kind that no body makes the server fail. With more time and a seed of the day: test/soak.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryRandomBodies } from './random-bodies.suite.ts';
import { startTestServer } from './start.suite.ts';

test('generated objects of every kind are stored or refused', async () => {
  const running = await startTestServer();
  try {
    const { asked, taken, failures } = await tryRandomBodies({ port: running.port, seed: 20_261_201, rounds: 6 });
    assert.deepEqual(failures, []);
    // Were all refused, nothing would be proven of what is stored.
    assert.ok(asked > 1000 && taken > asked / 20, `${taken} of ${asked}`);
  } finally {
    await running.stop();
  }
});

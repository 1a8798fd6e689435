// Owns the long run of damaged input, some ten minutes. K8TS_SEED gives the seed, K8TS_ROUNDS how many times the short run's rounds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryRandomBodies } from '../../src/server/random-bodies.suite.ts';
import { startTestServer } from '../../src/server/start.suite.ts';
import { fuzzConnections } from '../regression/fuzz/connections.suite.ts';
import { fuzzRequests } from '../regression/fuzz/http.suite.ts';
import { fuzzReaders } from '../regression/fuzz/readers.suite.ts';

const seed = Number(process.env['K8TS_SEED'] ?? Date.now() % 2 ** 31);
const times = Number(process.env['K8TS_ROUNDS'] ?? 10);
fuzzReaders({ seed, rounds: 3_000 * times });
fuzzRequests({ seed, rounds: 500 * times });
fuzzConnections({ seed, rounds: 250 * times });

test(`generated objects of every kind (seed ${seed})`, async () => {
  const running = await startTestServer();
  try {
    const { failures } = await tryRandomBodies({ port: running.port, seed, rounds: 6 * times });
    assert.deepEqual(failures, []);
  } finally {
    await running.stop();
  }
});

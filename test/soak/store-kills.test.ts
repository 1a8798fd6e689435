// Owns the long run of real kills of the embedded store. K8TS_KILLS=n changes their number, K8TS_SEED the seed.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killRounds } from '../../src/store/embedded/kill.suite.ts';

const kills = Number(process.env['K8TS_KILLS'] ?? 200);
const seed = Number(process.env['K8TS_SEED'] ?? 2026);

it(`loses nothing acknowledged in ${kills} kills`, { timeout: 1_800_000 }, async (t) => {
  const report = await killRounds(kills, seed);
  assert.ok(report.acknowledged > kills);
  t.diagnostic(`${report.kills} kills, ${report.acknowledged} acknowledged writes, none lost (seed ${seed})`);
});

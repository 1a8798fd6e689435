// Owns a few real kills; test/soak/ has the many.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killRounds } from './kill.suite.ts';

it('loses nothing acknowledged when killed', { timeout: 120_000 }, async (t) => {
  const { kills, acknowledged } = await killRounds(4, 1);
  assert.ok(acknowledged > 0);
  t.diagnostic(`${kills} kills, ${acknowledged} acknowledged writes, none lost`);
});

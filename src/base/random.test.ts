import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Random, randomUuid, seededRandom, systemRandom } from './random.ts';

const sources: Readonly<Record<string, Random>> = { system: systemRandom, seeded: seededRandom(1) };

for (const [name, random] of Object.entries(sources))
  describe(`random: ${name}`, () => {
    test('bytes are in a buffer of their own, whatever their number', () => {
      for (const length of [1, 16, 511, 512, 513, 4096, 5000]) {
        const bytes = random.bytes(length);
        assert.equal(bytes.length, length);
        assert.equal(bytes.buffer.byteLength, length);
        assert.equal(bytes.slice().buffer.byteLength, length);
      }
    });

    test('what a caller does to its bytes, no other sees', () => {
      const first = random.bytes(16);
      first.fill(0);
      assert.ok(random.bytes(16).some((byte) => byte !== 0));
      assert.equal(new Set(Array.from({ length: 1000 }, () => randomUuid(random))).size, 1000);
    });
  });

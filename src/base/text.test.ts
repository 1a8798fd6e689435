import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codePoints, compareText } from './text.ts';

const texts = ['', 'a', 'ab', 'b', 'é', '\uffee', '𝕏', '𝕏a', '😀'];

test('code points are counted as Go counts runes', () => {
  for (const text of texts) assert.equal(codePoints(text), Array.from(text).length, text);
});

test('texts are ordered as the bytes of their UTF-8', () => {
  for (const a of texts)
    for (const b of texts)
      assert.equal(Math.sign(compareText(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)), `${a} and ${b}`);
});

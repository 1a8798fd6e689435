import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateProblem, pemBlocks } from './pem.ts';

const block = (label: string, body = 'AAAA'): string => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;

test('blocks are found between any text', () => {
  const found = pemBlocks(`hello\n${block('A')}text\n${block('B C', 'AQID')}`);
  assert.deepEqual(
    found.map(({ label, bytes }) => [label, bytes.toString('hex')]),
    [
      ['A', '000000'],
      ['B C', '010203'],
    ],
  );
});

test('headers are told, and what is malformed is text', () => {
  assert.equal(pemBlocks(block('A', 'Key: value\n\nAAAA'))[0]?.hasHeaders, true);
  assert.deepEqual(pemBlocks(block('A', '*** not base64 ***')), []);
  assert.deepEqual(pemBlocks('-----BEGIN A-----\nAAAA\n'), []);
  assert.deepEqual(pemBlocks('-----BEGIN A-----\nAAAA\n-----END B-----\n'), []);
  // A block that is never closed does not hide the next one.
  assert.equal(pemBlocks(`-----BEGIN A-----\nAAAA\n${block('B')}`).length, 1);
});

test('rubbish is no certificate', () => {
  assert.equal(certificateProblem(Buffer.from([0, 0, 0])), 'not a certificate');
});

// Owns the tests of conditional and partial answers, as a table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../request.ts';
import { conditional } from './conditional.ts';

const made = Date.parse('2026-12-01T07:00:00.500Z');
const [before, after] = ['Tue, 01 Dec 2026 06:00:00 GMT', 'Tue, 01 Dec 2026 08:00:00 GMT'];
const content = { body: Buffer.from('0123456789'), contentType: 'text/x', tag: '"t"', modifiedMs: made };

test('conditions and ranges', () => {
  const cases: [headers: Record<string, string>, code: number, body: string, range?: string][] = [
    [{}, 200, '0123456789'],
    [{ 'if-none-match': '"t"' }, 304, ''],
    [{ 'if-none-match': '"x", W/"t"' }, 304, ''],
    [{ 'if-none-match': '*' }, 304, ''],
    [{ 'if-none-match': '"x"' }, 200, '0123456789'],
    // The tag decides where there is one.
    [{ 'if-none-match': '"x"', 'if-modified-since': after }, 200, '0123456789'],
    [{ 'if-modified-since': after }, 304, ''],
    [{ 'if-modified-since': 'Tue, 01 Dec 2026 07:00:00 GMT' }, 304, ''],
    [{ 'if-modified-since': before }, 200, '0123456789'],
    [{ 'if-modified-since': 'never' }, 200, '0123456789'],
    [{ 'if-match': '"x"' }, 412, ''],
    [{ 'if-match': '"x", "t"' }, 200, '0123456789'],
    [{ 'if-unmodified-since': before }, 412, ''],
    [{ 'if-unmodified-since': after }, 200, '0123456789'],
    [{ range: 'bytes=0-3' }, 206, '0123', 'bytes 0-3/10'],
    [{ range: 'bytes=7-' }, 206, '789', 'bytes 7-9/10'],
    [{ range: 'bytes=-2' }, 206, '89', 'bytes 8-9/10'],
    [{ range: 'bytes=8-99' }, 206, '89', 'bytes 8-9/10'],
    [{ range: 'bytes=10-' }, 416, 'invalid range\n', 'bytes */10'],
    [{ range: 'bytes=5-2' }, 416, 'invalid range\n', 'bytes */10'],
    [{ range: 'lines=1-2' }, 416, 'invalid range\n', 'bytes */10'],
    [{ range: 'bytes=0-1,3-4' }, 200, '0123456789'],
    [{ range: 'bytes=0-3', 'if-range': '"x"' }, 200, '0123456789'],
    [{ range: 'bytes=0-3', 'if-range': '"t"' }, 206, '0123', 'bytes 0-3/10'],
    [{ range: 'bytes=0-3', 'if-range': before }, 200, '0123456789'],
  ];
  for (const [headers, code, body, range] of cases) {
    const answer = conditional({ method: 'GET', headers } as unknown as ApiRequest, content);
    assert.ok(answer.type === 'bytes');
    const what = JSON.stringify(headers);
    assert.equal(answer.code, code, what);
    assert.equal(Buffer.from(answer.body).toString(), body, what);
    assert.equal(answer.headers?.['Content-Range'], range, what);
    assert.equal(answer.headers?.['Accept-Ranges'], code === 200 || code === 206 ? 'bytes' : undefined, what);
  }
});

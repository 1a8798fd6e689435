import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateRequestProblem } from './certificate-request.ts';
import { createRequest, newPrivateKey } from './x509.ts';

const derOf = (text: string): Buffer => Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64');
const request = derOf(createRequest(newPrivateKey(), { commonName: 'someone' }));

test('a signed request is fine', () => assert.equal(certificateRequestProblem(request), undefined));

test('a request whose content was changed is not', () => {
  const forged = Buffer.from(request);
  const at = forged.indexOf('someone');
  forged[at] = 'S'.charCodeAt(0);
  assert.match(certificateRequestProblem(forged)!, /signature/);
});

test('no bytes make it throw or accept', () => {
  for (let length = 0; length < request.length; length += 7)
    assert.ok(certificateRequestProblem(request.subarray(0, length)) !== undefined, `cut at ${length}`);
  assert.ok(certificateRequestProblem(Buffer.concat([request, Buffer.from([0])])) !== undefined);
  for (let at = 0; at < request.length; at += 3) {
    const damaged = Buffer.from(request);
    damaged[at]! ^= 0x55;
    assert.ok(certificateRequestProblem(damaged) !== undefined, `damaged at ${at}`);
  }
});

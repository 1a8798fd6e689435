import assert from 'node:assert/strict';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom, systemRandom } from './random.ts';
import {
  createAuthority,
  createRequest,
  InvalidRequest,
  issue,
  issueFor,
  newPrivateKey,
  parseRequest,
} from './x509.ts';

const random = seededRandom(1);
const startMs = Date.UTC(2026, 0, 1);
const endMs = Date.UTC(2036, 0, 1);

test('an issued certificate verifies against its authority and carries names, groups and usages', () => {
  const authority = createAuthority('test-ca', startMs, endMs, random);
  const made = issue(
    authority,
    {
      subject: { commonName: 'admin', organizations: ['system:masters', 'ops'] },
      usages: ['client auth', 'server auth'],
      notBeforeMs: startMs,
      notAfterMs: endMs,
      dnsNames: ['kubernetes', 'localhost'],
      ipAddresses: ['127.0.0.1', '10.96.0.1', '::1'],
    },
    random,
  );
  const ca = new X509Certificate(authority.certificatePem);
  const certificate = new X509Certificate(made.certificatePem);
  assert.ok(ca.ca);
  assert.ok(ca.verify(ca.publicKey));
  assert.ok(certificate.checkIssued(ca));
  assert.ok(certificate.verify(ca.publicKey));
  assert.equal(certificate.subject, 'O=system:masters\nO=ops\nCN=admin');
  assert.equal(certificate.checkHost('localhost'), 'localhost');
  assert.equal(certificate.checkIP('10.96.0.1'), '10.96.0.1');
  assert.equal(certificate.checkIP('::1'), '::1');
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.1']);
  assert.equal(Date.parse(certificate.validTo), endMs);
});

test('a request is read back with what it asks for, and a certificate is issued for its key', () => {
  const key = newPrivateKey();
  const text = createRequest(
    key,
    { commonName: 'system:node:a', organizations: ['system:nodes'] },
    { dnsNames: ['a'], ipAddresses: ['10.0.0.1'] },
  );
  const request = parseRequest(text);
  assert.deepEqual(request.subject, { commonName: 'system:node:a', organizations: ['system:nodes'] });
  assert.deepEqual(
    [request.dnsNames, request.ipAddresses, request.emailAddresses, request.uris],
    [['a'], ['10.0.0.1'], [], []],
  );
  const authority = createAuthority('ca', startMs, endMs, random);
  const options = {
    subject: request.subject,
    usages: ['client auth'] as const,
    notBeforeMs: startMs,
    notAfterMs: endMs,
  };
  const certificate = new X509Certificate(issueFor(request.publicKey, authority, options, random));
  assert.ok(certificate.publicKey.equals(createPublicKey(key)));
});

for (const [what, text] of [
  ['no PEM', 'x'],
  ['another block', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
  ['rubbish inside', '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----'],
] as const) {
  test(`a request that is ${what} is refused`, () => {
    assert.throws(() => parseRequest(text), InvalidRequest);
  });
}

test('a request whose content was changed after signing is refused', () => {
  const lines = createRequest(newPrivateKey(), { commonName: 'abcdefgh' }).split('\n');
  const der = Buffer.from(lines.slice(1, -2).join(''), 'base64');
  der[der.indexOf('abcdefgh')] = 'z'.charCodeAt(0);
  const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  assert.throws(() => parseRequest(forged), InvalidRequest);
});

test('serial numbers are positive, differ, and are no longer than the 20 bytes of RFC 5280', () => {
  const options = { subject: { commonName: 'a' }, usages: [], notBeforeMs: startMs, notAfterMs: endMs };
  for (const source of [systemRandom, seededRandom(7)]) {
    const authority = createAuthority('test-ca', startMs, endMs, source);
    const serials = Array.from(
      { length: 50 },
      () => new X509Certificate(issue(authority, options, source).certificatePem).serialNumber,
    );
    assert.equal(new Set(serials).size, serials.length);
    for (const serial of serials) {
      assert.ok(serial.length <= 40, serial);
      assert.match(serial, /^[4-7]/);
    }
  }
});

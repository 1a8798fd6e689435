import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { openPki } from './pki.ts';

const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
const yearMs = 365 * 24 * 3600 * 1000;

test('keys and certificates are kept, and the serving certificate renewed for new names or when it nears its end', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-pki-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const clock = new VirtualClock();
  const open = (serverNames = names) => openPki(directory, serverNames, { clock, random: seededRandom(7) });
  const first = await open();
  const again = await open();
  assert.equal(again.apiServer.certificatePem, first.apiServer.certificatePem);
  assert.equal(again.serviceAccountKeyPem, first.serviceAccountKeyPem);
  const renamed = await open({ ...names, ipAddresses: ['127.0.0.1', '10.1.2.3'] });
  assert.notEqual(renamed.apiServer.certificatePem, first.apiServer.certificatePem);
  assert.equal(renamed.ca.certificatePem, first.ca.certificatePem);
  await clock.advance(yearMs - 24 * 3600 * 1000);
  const renewed = await open({ ...names, ipAddresses: ['127.0.0.1', '10.1.2.3'] });
  assert.notEqual(renewed.admin.certificatePem, first.admin.certificatePem);
  assert.ok(
    new X509Certificate(renewed.admin.certificatePem).verify(new X509Certificate(first.ca.certificatePem).publicKey),
  );
});

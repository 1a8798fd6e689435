import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ownServingCertificate } from './serving-files.ts';

test('several that begin at once in one directory show one certificate, with its key', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-serving-'));
  try {
    const flags = { 'cert-dir': join(directory, 'certs') };
    const shown = await Promise.all([1, 2, 3].map(() => ownServingCertificate(flags)));
    for (const { certificate, key } of shown) {
      assert.equal(certificate, shown[0]!.certificate);
      assert.ok(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)));
    }
    assert.deepEqual(readdirSync(flags['cert-dir']).toSorted(), ['tls.crt', 'tls.key']);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

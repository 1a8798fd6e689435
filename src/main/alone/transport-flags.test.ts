import assert from 'node:assert/strict';
import { connect } from 'node:tls';
import { test } from 'node:test';
import { request } from 'node:https';
import { startTestServer } from '../../server/start.suite.ts';
import { opensslSuite, transportSettings } from './transport-flags.ts';

test('suites by their IANA names; weak ones are refused', () => {
  assert.equal(opensslSuite('TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'), 'ECDHE-RSA-AES128-GCM-SHA256');
  assert.equal(opensslSuite('TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256'), 'ECDHE-ECDSA-CHACHA20-POLY1305');
  for (const weak of ['TLS_RSA_WITH_AES_128_CBC_SHA', 'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA', 'x'])
    assert.throws(() => opensslSuite(weak));
  assert.throws(() => transportSettings({ minVersion: 'VersionTLS10' }));
  assert.throws(() => transportSettings({ goawayChance: '0.5' }));
  assert.throws(() => transportSettings({ streams: -1 }));
  for (const loose of ['example.com', '^https://example.com', 'example.com$', '^[$'])
    assert.throws(() => transportSettings({ origins: [loose] }), /cors-allowed-origins/);
  assert.deepEqual(transportSettings({ origins: ['//example\\.com(:|$)$'] }).transport?.corsAllowedOrigins?.length, 1);
});

/** The suite that client and server agree on; rejects when there is none. */
function agreed(port: number, ciphers: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: '127.0.0.1', port, maxVersion: 'TLSv1.2', ciphers, rejectUnauthorized: false },
      () => {
        resolve(socket.getCipher().name);
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });
}

test('only the suites that are named are spoken', async () => {
  const running = await startTestServer(transportSettings({ suites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] }));
  try {
    assert.equal(await agreed(running.port, 'ALL'), 'ECDHE-ECDSA-AES256-GCM-SHA384');
    await assert.rejects(agreed(running.port, 'ECDHE-ECDSA-AES128-GCM-SHA256'));
  } finally {
    await running.stop();
  }
});

test('the least version of TLS holds, and the header for strict transport is sent', async () => {
  const running = await startTestServer(
    transportSettings({ minVersion: 'VersionTLS13', strictTransport: ['max-age=1'] }),
  );
  try {
    await assert.rejects(
      new Promise<void>((resolve, reject) => {
        const socket = connect(
          { host: '127.0.0.1', port: running.port, maxVersion: 'TLSv1.2', rejectUnauthorized: false },
          () => {
            socket.destroy();
            resolve();
          },
        );
        socket.on('error', reject);
      }),
    );
    const header = await new Promise((resolve, reject) => {
      request(
        { host: '127.0.0.1', port: running.port, path: '/version', rejectUnauthorized: false, agent: false },
        (answer) => {
          answer.resume();
          resolve(answer.headers['strict-transport-security']);
        },
      )
        .on('error', reject)
        .end();
    });
    assert.equal(header, 'max-age=1');
  } finally {
    await running.stop();
  }
});

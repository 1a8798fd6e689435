import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import test from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { createAuthority, createRequest, newPrivateKey } from '../../base/x509.ts';
import { certificateSigningRequests as requests } from '../../api/generated/resources.ts';
import { certificateAuthority } from '../../main/certificate-authority.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';
import { signers } from './signers.ts';

const startMs = Date.UTC(2026, 0, 1);
const authority = createAuthority('ca', startMs - 1000, startMs + 10 * 365 * 86_400_000, seededRandom(1));
const node = { commonName: 'system:node:a', organizations: ['system:nodes'] };
const clientUsages = ['digital signature', 'client auth'];

async function ask(world: ControllerWorld, request: string, signerName: string, usages: string[], more: object = {}) {
  const spec = { request: Buffer.from(request).toString('base64'), signerName, usages, ...more };
  const csr = await world.create(requests, { metadata: { name: 'csr' }, spec });
  const conditions = [{ type: 'Approved', status: 'True', lastUpdateTime: '2026-01-01T00:00:00Z' }];
  await world.merge(requests, csr, { status: { conditions } }, 'status');
  await world.settle();
  return (await world.get(requests, 'csr')).status;
}

const only = { controllers: ['*'], certificateAuthority: certificateAuthority(authority, seededRandom(2)) };

test('an approved request is signed by the authority, for the time asked', () =>
  withControllers(only, async (world) => {
    const csr = createRequest(newPrivateKey(), node);
    const status = await ask(world, csr, signers.kubeletClient, clientUsages, { expirationSeconds: 3600 });
    const certificate = new X509Certificate(Buffer.from(status.certificate ?? '', 'base64'));
    assert.ok(certificate.checkIssued(new X509Certificate(authority.certificatePem)));
    assert.match(certificate.subject, /O=system:nodes\nCN=system:node:a/);
    const hours = (Date.parse(certificate.validTo) - world.clock.now()) / 3_600_000;
    assert.ok(hours > 0.99 && hours <= 1, String(hours));
    await world.settle(2 * 3_600_000);
    assert.equal((await world.list(requests)).length, 0);
  }));

const refused: [string, object, string, string[]][] = [
  ['no node', { commonName: 'x', organizations: ['system:nodes'] }, signers.kubeletClient, clientUsages],
  [
    'another group',
    { commonName: 'system:node:a', organizations: ['system:masters'] },
    signers.kubeletClient,
    clientUsages,
  ],
  ['another usage', node, signers.kubeletClient, [...clientUsages, 'server auth']],
  ['serving without names', node, signers.kubeletServing, ['digital signature', 'server auth']],
];
for (const [what, subject, signer, usages] of refused)
  test(`refused: ${what}`, () =>
    withControllers(only, async (world) => {
      const status = await ask(world, createRequest(newPrivateKey(), subject as typeof node), signer, usages);
      assert.deepEqual([status.certificate, status.conditions?.at(-1)?.reason], [undefined, 'SignerValidationFailure']);
    }));

test('a request which is none is refused; other signers are left alone', () =>
  withControllers(only, async (world) => {
    assert.equal((await ask(world, 'rubbish', signers.client, clientUsages)).conditions?.at(-1)?.type, 'Failed');
    await world.client.resource(requests).delete({ namespace: '', name: 'csr' });
    assert.equal((await ask(world, 'rubbish', 'example.com/mine', clientUsages)).conditions?.length, 1);
  }));

test('nothing is approved that the requester may not ask for', () =>
  withControllers(only, async (world) => {
    const spec = {
      request: Buffer.from(createRequest(newPrivateKey(), node)).toString('base64'),
      signerName: signers.kubeletClient,
      username: 'someone',
      usages: clientUsages,
    };
    await world.create(requests, { metadata: { name: 'csr' }, spec });
    await world.settle();
    assert.ok(world.api.requests.includes('POST /apis/authorization.k8s.io/v1/subjectaccessreviews'));
    assert.equal((await world.get(requests, 'csr')).status?.conditions, undefined);
  }));

test('serving certificates that a node asks for itself are approved when told so', () =>
  withControllers({ ...only, approveKubeletServing: true }, async (world) => {
    const csr = createRequest(newPrivateKey(), node, { ipAddresses: ['10.0.0.1'] });
    const spec = {
      request: Buffer.from(csr).toString('base64'),
      signerName: signers.kubeletServing,
      usages: ['digital signature', 'server auth'],
      username: node.commonName,
    };
    await world.create(requests, { metadata: { name: 'csr' }, spec });
    await world.settle();
    const { status } = await world.get(requests, 'csr');
    assert.equal(status.conditions?.[0]?.type, 'Approved');
    assert.match(
      new X509Certificate(Buffer.from(status.certificate ?? '', 'base64')).subjectAltName ?? '',
      /10\.0\.0\.1/,
    );
  }));

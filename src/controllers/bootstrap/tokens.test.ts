import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test from 'node:test';
import { configMaps, persistentVolumeClaims, pods, secrets } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { withControllers } from '../../testing/controller-world.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

const token = (id: string, more: Record<string, string> = {}) => ({
  metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
  type: 'bootstrap.kubernetes.io/token',
  data: Object.fromEntries(
    Object.entries({ 'token-id': id, 'token-secret': '0123456789abcdef', ...more }).map(([key, text]) => [
      key,
      base64(text),
    ]),
  ),
});

test('tokens go when they expire, others stay', () =>
  withControllers({ controllers: ['token-cleaner-controller'] }, async (world) => {
    await world.create(secrets, token('aaaaaa', { expiration: '2026-01-01T00:01:00Z' }));
    await world.create(secrets, token('bbbbbb'));
    await world.settle(50_000);
    assert.equal((await world.list(secrets)).length, 2);
    await world.settle(20_000);
    await assert.rejects(world.get(secrets, 'bootstrap-token-aaaaaa', 'kube-system'), isNotFound);
    assert.equal((await world.list(secrets)).length, 1);
  }));

test('cluster-info is signed by each signing token, and no longer when it goes', () =>
  withControllers({ controllers: ['bootstrap-signer-controller'] }, async (world) => {
    await world.create(secrets, token('aaaaaa', { 'usage-bootstrap-signing': 'true' }));
    await world.create(secrets, token('bbbbbb'));
    await world.create(configMaps, {
      metadata: { name: 'cluster-info', namespace: 'kube-public' },
      data: { kubeconfig: 'k' },
    });
    await world.settle();
    const { data } = await world.get(configMaps, 'cluster-info', 'kube-public');
    const [header = '', content, signature] = (data?.['jws-kubeconfig-aaaaaa'] ?? '').split('.');
    assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'HS256', kid: 'aaaaaa' });
    assert.equal(content, '');
    const expected = createHmac('sha256', 'aaaaaa.0123456789abcdef').update(
      `${header}.${Buffer.from('k').toString('base64url')}`,
    );
    assert.equal(signature, expected.digest('base64url'));
    assert.equal(data?.['jws-kubeconfig-bbbbbb'], undefined);
    await world.client.resource(secrets).delete({ namespace: 'kube-system', name: 'bootstrap-token-aaaaaa' });
    await world.settle();
    assert.deepEqual((await world.get(configMaps, 'cluster-info', 'kube-public')).data, { kubeconfig: 'k' });
  }));

test('ephemeral volumes get claims that belong to their pod', () =>
  withControllers({ controllers: ['ephemeral-volume-controller'] }, async (world) => {
    const volumeClaimTemplate = { metadata: { labels: { a: 'b' } }, spec: { accessModes: ['ReadWriteOnce'] } };
    const spec = { containers: [], volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate } }] };
    const pod = await world.create(pods, { metadata: { name: 'p', namespace: 'default' }, spec });
    await world.settle();
    const claim = await world.get(persistentVolumeClaims, 'p-scratch');
    assert.deepEqual([claim.metadata.labels, claim.metadata.ownerReferences?.[0]?.uid], [{ a: 'b' }, pod.metadata.uid]);
  }));

// Tests the reading of componentArgs: what reaches a component, and what is refused.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../base/random.ts';
import { startCluster } from './cluster.ts';
import { readComponentArgs } from './component-args.ts';

const random = seededRandom(1);

test('only what was given has a value', async () => {
  const settings = await readComponentArgs(
    {
      'kube-apiserver': { 'event-ttl': '2h', 'enable-admission-plugins': 'NodeRestriction' },
      'kube-controller-manager': { controllers: '*,tokencleaner', 'node-monitor-grace-period': '20s' },
      kubelet: { 'max-pods': '20' },
      'kube-proxy': { 'proxy-mode': 'nftables' },
      dns: { ttl: '5' },
    },
    random,
  );
  assert.deepEqual(settings.apiServer, {
    serviceAccounts: {},
    eventTtlSeconds: 7200,
    flags: { 'enable-admission-plugins': '[NodeRestriction]', 'event-ttl': '2h0m0s' },
    defaultTolerationSeconds: {},
    maxInflight: { reads: 400, writes: 200 },
    shutdown: {},
    reread: {},
    enableAdmissionPlugins: ['NodeRestriction'],
  });
  assert.deepEqual(settings.controllerManager, {
    controllers: ['*', 'tokencleaner'],
    nodeMonitorGracePeriodMs: 20_000,
    horizontalPodAutoscaler: {},
  });
  assert.deepEqual(settings.kubelet, { maxPods: 20 });
  assert.deepEqual(settings.kubeProxy, { mode: 'nftables' });
  assert.deepEqual(settings.dns, { ttlSeconds: 5 });
});

for (const [what, args, told] of [
  ['an unknown component', { etcd: { name: 'x' } }, /no such component: etcd/],
  ['an unknown flag', { kubelet: { nonsense: '1' } }, /kubelet: unknown flag: --nonsense/],
  ['a bad value', { 'kube-apiserver': { 'event-ttl': 'long' } }, /--event-ttl: must be a duration/],
  ['what the cluster decides', { 'kube-apiserver': { 'etcd-servers': 'x' } }, /--etcd-servers: decided by the cluster/],
  ['a mode that is not there', { 'kube-proxy': { 'proxy-mode': 'ipvs' } }, /ipvs is not supported/],
] as const)
  test(`${what} is refused`, async () => {
    await assert.rejects(readComponentArgs(args, random), told);
  });

test('static tokens of a file log in to the cluster', { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-args-'));
  try {
    const file = join(folder, 'tokens.csv');
    writeFileSync(file, 'letmein,alice,alice-uid,"system:masters"\n');
    const cluster = await startCluster({
      node: 'none',
      componentArgs: { 'kube-apiserver': { 'token-auth-file': file } },
    });
    try {
      const ask = async (token: string) => {
        const { get } = await import('node:https');
        return new Promise<number | undefined>((resolve, reject) =>
          get(
            `${cluster.server}/api/v1/namespaces`,
            { rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` } },
            (answer) => resolve((answer.resume(), answer.statusCode)),
          ).on('error', reject),
        );
      };
      assert.equal(await ask('letmein'), 200);
      assert.equal(await ask('another'), 401);
    } finally {
      await cluster.stop();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

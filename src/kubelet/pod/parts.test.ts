// Tests the pure parts of a pod's start: environment, names, QoS, expansion, admission, eviction.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ConfigMap, Container, Pod, PodSpec, Secret, Service } from '../../api/generated/core.v1.ts';
import { refusal } from '../admission.ts';
import { memoryVictim, pressureOf } from '../eviction.ts';
import { containerEnv, type EnvSources, serviceEnv } from './env.ts';
import { expand } from './expand.ts';
import { hostNames, hostsFile, parseResolvConf, podDns } from './network-files.ts';
import type { FrozenPod } from './pod-words.ts';
import { cpuQuotaUs, cpuShares, oomScore, podSums } from './qos.ts';
import { qosClassOf } from '../../api/judge/pod-qos.ts';

function podOf(spec: Partial<PodSpec>, metadata: object = {}): FrozenPod {
  return {
    metadata: { name: 'p', namespace: 'n', uid: 'u', labels: { app: 'x' }, ...metadata },
    spec: { containers: [{ name: 'c' }], ...spec },
  } as unknown as FrozenPod;
}

const resources = (requests?: object, limits?: object): Partial<PodSpec> => ({
  containers: [{ name: 'c', resources: { ...(requests && { requests }), ...(limits && { limits }) } } as Container],
});

test('$(VAR) expansion', () => {
  const values: Readonly<Record<string, string>> = { A: '1', B: '$(A)' };
  const table: readonly [string, string][] = [
    ['$(A)', '1'],
    ['x$(A)y$(A)', 'x1y1'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$(NONE)', '$(NONE)'],
    ['$A ${A} $', '$A ${A} $'],
    ['$(B)', '$(A)'],
    ['$(A', '$(A'],
  ];
  for (const [text, expected] of table)
    assert.equal(
      expand(text, (name) => values[name]),
      expected,
      text,
    );
});

describe('environment', () => {
  const sources: EnvSources = {
    configMap: (name) => (name === 'cm' ? ({ data: { K: 'v', other: 'o' } } as unknown as ConfigMap) : undefined),
    secret: (name) =>
      name === 's' ? ({ data: { P: Buffer.from('pw').toString('base64') } } as unknown as Secret) : undefined,
    services: [],
    fields: {
      pod: podOf({}),
      podIps: ['1.2.3.4', '::1'],
      hostIps: ['9.9.9.9'],
      nodeName: 'node',
      allocatable: { cpu: '4' },
    },
    volumeFile: (_volume, path) => (path === 'env' ? "A=1\nB='two'\n" : undefined),
  };
  const env = (container: Partial<Container>) =>
    Object.fromEntries(containerEnv(podOf({}), { name: 'c', ...container } as Container, sources));

  test('values, references and their order', () => {
    assert.deepEqual(
      env({
        envFrom: [{ prefix: 'CM_', configMapRef: { name: 'cm' } }, { secretRef: { name: 's' } }],
        env: [
          { name: 'P', value: 'mine' },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'IPS', valueFrom: { fieldRef: { fieldPath: 'status.podIPs' } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          { name: 'FILE', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'env', key: 'B' } } },
          { name: 'JOINED', value: '$(CM_K)/$(P)' },
        ],
      }),
      { CM_K: 'v', CM_other: 'o', P: 'mine', LABEL: 'x', IPS: '1.2.3.4,::1', CPU: '4', FILE: 'two', JOINED: 'v/mine' },
    );
  });

  test('what is missing says so, unless it is optional', () => {
    const ref = (configMapKeyRef: { name: string; key: string; optional?: boolean }) => () =>
      env({ env: [{ name: 'X', valueFrom: { configMapKeyRef } }] });
    assert.throws(ref({ name: 'none', key: 'k' }), /^ConfigError: configmap "none" not found/);
    assert.throws(ref({ name: 'cm', key: 'k' }), /couldn't find key k in ConfigMap n\/cm/);
    assert.deepEqual(ref({ name: 'none', key: 'k', optional: true })(), {});
    assert.throws(() => env({ envFrom: [{ secretRef: { name: 'none' } }] }), /secret "none" not found/);
  });

  test('services of the namespace, and the master from everywhere', () => {
    const service = (namespace: string, name: string, clusterIP: string): Service =>
      ({
        metadata: { name, namespace },
        spec: { clusterIP, ports: [{ name: 'web', port: 80, protocol: 'TCP' }] },
      }) as unknown as Service;
    const all = [
      service('n', 'my-app', '10.0.0.5'),
      service('other', 'x', '10.0.0.6'),
      service('default', 'kubernetes', '10.0.0.1'),
      service('n', 'headless', 'None'),
    ];
    assert.deepEqual(Object.fromEntries(serviceEnv(podOf({ enableServiceLinks: false }), all)), {
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      KUBERNETES_SERVICE_PORT: '80',
      KUBERNETES_SERVICE_PORT_WEB: '80',
      KUBERNETES_PORT: 'tcp://10.0.0.1:80',
      KUBERNETES_PORT_80_TCP: 'tcp://10.0.0.1:80',
      KUBERNETES_PORT_80_TCP_PROTO: 'tcp',
      KUBERNETES_PORT_80_TCP_PORT: '80',
      KUBERNETES_PORT_80_TCP_ADDR: '10.0.0.1',
    });
    const names = [...serviceEnv(podOf({}), all).keys()].filter((name) => name.endsWith('SERVICE_HOST'));
    assert.deepEqual(names, ['KUBERNETES_SERVICE_HOST', 'MY_APP_SERVICE_HOST']);
  });
});

describe('names and resolvers', () => {
  const settings = {
    clusterDns: ['10.96.0.10'],
    clusterDomain: 'c.local',
    hostResolvConf: 'search home.example\nnameserver 8.8.8.8 # g\noptions edns0\n',
  };
  test('dnsPolicy', () => {
    const host = parseResolvConf(settings.hostResolvConf);
    assert.deepEqual(host, { servers: ['8.8.8.8'], searches: ['home.example'], options: ['edns0'] });
    const cluster = {
      servers: ['10.96.0.10'],
      searches: ['n.svc.c.local', 'svc.c.local', 'c.local', 'home.example'],
      options: ['ndots:5'],
    };
    assert.deepEqual(podDns(podOf({}), settings), cluster);
    assert.deepEqual(podDns(podOf({ dnsPolicy: 'Default' }), settings), host);
    assert.deepEqual(podDns(podOf({ hostNetwork: true }), settings), host);
    assert.deepEqual(podDns(podOf({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }), settings), cluster);
    const dnsConfig = {
      nameservers: ['1.1.1.1'],
      searches: ['s'],
      options: [{ name: 'ndots', value: '2' }, { name: 'debug' }],
    };
    assert.deepEqual(podDns(podOf({ dnsPolicy: 'None', dnsConfig }), settings), {
      servers: ['1.1.1.1'],
      searches: ['s'],
      options: ['ndots:2', 'debug'],
    });
  });

  test('host names and the hosts file', () => {
    const pod = podOf({ hostname: 'h', subdomain: 's', hostAliases: [{ ip: '5.5.5.5', hostnames: ['a', 'b'] }] });
    const names = hostNames(pod, 'node', 'c.local');
    assert.deepEqual(names, { hostname: 'h', domain: 's.n.svc.c.local' });
    const text = hostsFile(pod, names, ['10.0.0.1'], '');
    assert.match(text, /^127\.0\.0\.1\tlocalhost$/m);
    assert.match(text, /^10\.0\.0\.1\th\.s\.n\.svc\.c\.local\th$/m);
    assert.match(text, /^5\.5\.5\.5\ta\tb$/m);
    assert.equal(hostNames(podOf({ hostNetwork: true }), 'node', '').hostname, 'node');
    assert.equal(hostNames(podOf({}, { name: `${'x'.repeat(62)}-y` }), 'node', '').hostname, 'x'.repeat(62));
  });
});

test('quality of service and what the kernel gets', () => {
  const table: readonly [Partial<PodSpec>, string][] = [
    [{}, 'BestEffort'],
    [resources({ cpu: '1' }), 'Burstable'],
    [resources({ cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' }), 'Guaranteed'],
    [resources(undefined, { cpu: '1', memory: '1Gi' }), 'Guaranteed'],
    [resources({ cpu: '500m', memory: '1Gi' }, { cpu: '1', memory: '1Gi' }), 'Burstable'],
    [resources(undefined, { memory: '1Gi' }), 'Burstable'],
  ];
  for (const [spec, expected] of table) assert.equal(qosClassOf(podOf(spec).spec), expected, JSON.stringify(spec));
  assert.equal(oomScore(podOf({}), 0, 1000), 1000);
  assert.equal(oomScore(podOf(resources({ memory: '250' })), 250, 1000), 750);
  assert.deepEqual([cpuShares(0), cpuShares(1000), cpuShares(1)], [2, 1024, 2]);
  assert.deepEqual([cpuQuotaUs(0), cpuQuotaUs(500), cpuQuotaUs(1)], [-1, 50_000, 1000]);
  const spec: Partial<PodSpec> = {
    initContainers: [
      { name: 'side', restartPolicy: 'Always', resources: { requests: { cpu: '100m' } } },
      { name: 'big', resources: { requests: { cpu: '2' } } },
    ],
    containers: [{ name: 'c', resources: { requests: { cpu: '500m' } } }],
  };
  assert.equal(podSums(podOf(spec)).cpuMilli, 2100);
});

test('the node refuses what does not fit', () => {
  const allocatable = { cpu: '2', memory: '1Gi', pods: '2' };
  const why = (spec: Partial<PodSpec>, others: FrozenPod[] = []) =>
    refusal(podOf(spec), others, allocatable, { zone: 'a' })?.reason;
  const port: Partial<PodSpec> = { containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 8080 }] }] };
  assert.equal(why({}), undefined);
  assert.equal(why(resources({ cpu: '3' })), 'OutOfcpu');
  assert.equal(why(resources({ cpu: '1500m' }), [podOf(resources({ cpu: '1' }))]), 'OutOfcpu');
  assert.equal(why(resources({ memory: '2Gi' })), 'OutOfmemory');
  assert.equal(why({ nodeSelector: { zone: 'b' } }), 'NodeAffinity');
  assert.equal(why(port, [podOf(port)]), 'NodePorts');
  assert.equal(why({}, [podOf({}), podOf({})]), 'OutOfpods');
  const over = { ...podOf(resources({ cpu: '2' })), status: { phase: 'Succeeded' } } as FrozenPod;
  assert.equal(why(resources({ cpu: '1' }), [over]), undefined);
});

test('eviction takes who uses more than asked, of the lowest priority', () => {
  const of = (name: string, spec: Partial<PodSpec>): Pod => podOf(spec, { name }) as Pod;
  const frugal = of('frugal', resources({ memory: '1Gi' }));
  const greedy = of('greedy', resources({ memory: '100Mi' }));
  const important = of('important', { ...resources({ memory: '1Mi' }), priority: 1000 });
  const used = () => 500 * 2 ** 20;
  assert.equal(memoryVictim([frugal, important, greedy], used)?.metadata.name, 'greedy');
  assert.equal(memoryVictim([frugal, important], used)?.metadata.name, 'important');
  assert.equal(memoryVictim([], used), undefined);
  const calm = { memoryAvailableBytes: 1e9, diskAvailableRatio: 0.5, inodesFreeRatio: 0.5, pidsFreeRatio: 0.5 };
  assert.deepEqual(pressureOf({ ...calm, memoryAvailableBytes: 1e7 }), { memory: true, disk: false, pid: false });
  assert.deepEqual(pressureOf({ ...calm, inodesFreeRatio: 0.01 }), { memory: false, disk: true, pid: false });
});

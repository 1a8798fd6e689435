// Tests a node's presence in the API: registration, taking over, patches, heartbeats, leases, certificates, manifests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeStatus } from '../../api/generated/core.v1.ts';
import type { CertificateSigningRequest } from '../../api/generated/certificates.v1.ts';
import { certificateSigningRequests, leases, nodes } from '../../api/generated/resources.ts';
import { thaw } from '../../api/meta.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { client } from '../../client/rest.ts';
import { memoryApi } from '../../testing/memory-api.ts';
import { parseRequest } from '../../base/x509.ts';
import { staticPod } from '../static-pods.ts';
import { CertificateRefused, requestCertificate } from './certificates.ts';
import { nodeAgent } from './node-agent.ts';
import { healthyNode, nodeStatus, nodeStatusPatch, type StatusParts } from './node-status.ts';

const startMs = Date.parse('2026-01-01T00:00:00Z');
const parts: StatusParts = {
  resources: { capacity: { cpu: '2' }, allocatable: { cpu: '2' } },
  machine: {
    hostname: 'n',
    cpus: 2,
    memoryBytes: 1,
    diskBytes: 1,
    hugepages: new Map(),
    machineId: 'm',
    systemUuid: 's',
    bootId: 'b',
    kernelVersion: 'k',
    osImage: 'o',
    architecture: 'amd64',
    ip: '1.2.3.4',
  },
  addresses: [{ type: 'InternalIP', address: '1.2.3.4' }],
  kubeletPort: 10250,
  runtimeVersion: 'fake://1',
  images: [],
  health: healthyNode,
};

function world() {
  const clock = new VirtualClock(startMs);
  const random = seededRandom(1);
  const api = memoryApi({ clock, random });
  return { clock, random, api, client: client(api), logger: silentLogger };
}

function agentOf(deps: ReturnType<typeof world>, health = () => healthyNode) {
  return nodeAgent({
    ...deps,
    identity: { name: 'n1', hostname: 'n1', labels: { zone: 'a' }, taints: [{ key: 't', effect: 'NoSchedule' }] },
    architecture: 'amd64',
    status: async (before) => nodeStatus({ ...parts, health: health() }, before, deps.clock.now()),
  });
}

test('a new node registers with labels, taints and status', async () => {
  const deps = world();
  const node = await agentOf(deps).register(new AbortController().signal);
  assert.equal(node.metadata.labels?.['kubernetes.io/hostname'], 'n1');
  assert.equal(node.metadata.labels?.['zone'], 'a');
  assert.deepEqual(node.spec.taints, [{ key: 't', effect: 'NoSchedule' }]);
  assert.equal(node.status.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
});

test('a known node is taken over: its labels are completed, what others set stays', async () => {
  const deps = world();
  await deps.client
    .resource(nodes)
    .create({ metadata: { name: 'n1', labels: { mine: 'x' } }, spec: { unschedulable: true } } as never);
  const node = await agentOf(deps).register(new AbortController().signal);
  assert.deepEqual(
    [node.metadata.labels?.['mine'], node.metadata.labels?.['zone'], node.spec.unschedulable],
    ['x', 'a', true],
  );
});

test('status is sent when it changes and every five minutes; the lease is renewed; a deleted node comes back', async () => {
  const deps = world();
  let health = healthyNode;
  const agent = agentOf(deps, () => health);
  const stop = new AbortController();
  await agent.register(stop.signal);
  const running = agent.run(stop.signal);
  const patches = () => deps.api.requests.filter((each) => each === 'PATCH /api/v1/nodes/n1/status').length;
  await deps.clock.advance(60_000);
  assert.equal(patches(), 0);
  const lease = await deps.client.resource(leases).get({ namespace: 'kube-node-lease', name: 'n1' });
  assert.equal(lease.spec.leaseDurationSeconds, 40);
  assert.ok(Date.parse(lease.spec.renewTime!) > startMs + 40_000);
  health = { ...healthyNode, ready: false, message: 'no network' };
  agent.touch();
  await deps.clock.advance(10);
  assert.equal(patches(), 1);
  const ready = (await deps.client.resource(nodes).get({ namespace: '', name: 'n1' })).status.conditions?.find(
    ({ type }) => type === 'Ready',
  );
  assert.deepEqual([ready?.status, ready?.reason, ready?.message], ['False', 'KubeletNotReady', 'no network']);
  await deps.clock.advance(320_000);
  assert.equal(patches(), 2);
  await deps.client.resource(nodes).delete({ namespace: '', name: 'n1' });
  health = healthyNode;
  await deps.clock.advance(15_000);
  assert.equal(
    (await deps.client.resource(nodes).get({ namespace: '', name: 'n1' })).status.conditions?.find(
      ({ type }) => type === 'Ready',
    )?.status,
    'True',
  );
  stop.abort();
  await running;
});

test('a status patch has what differs', () => {
  const before = nodeStatus(parts, undefined, startMs);
  const later = (more: Partial<StatusParts>, heartbeat = false) =>
    nodeStatusPatch(before, nodeStatus({ ...parts, ...more }, before, startMs + 60_000), heartbeat)?.status as
      | NodeStatus
      | undefined;
  assert.equal(later({}), undefined);
  assert.deepEqual(Object.keys(later({}, true)!), ['conditions']);
  const moved = later({ addresses: [{ type: 'InternalIP', address: '5.6.7.8' }] });
  assert.deepEqual(moved?.addresses, [{ type: 'InternalIP', address: '5.6.7.8' }, { $patch: 'replace' }]);
  const pressed = later({ health: { ...healthyNode, memoryPressure: true } });
  assert.deepEqual(
    pressed?.conditions?.map(({ type, status }) => [type, status]),
    [['MemoryPressure', 'True']],
  );
});

test('certificates: asked for, waited for, refused', async () => {
  const deps = world();
  const asked = requestCertificate(
    'n1',
    { purpose: 'serving', dnsNames: ['n1'], ips: ['1.2.3.4'] },
    deps,
    new AbortController().signal,
  );
  const resource = deps.client.resource(certificateSigningRequests);
  const decide = async (status: object): Promise<CertificateSigningRequest> => {
    await deps.clock.advance(100);
    const { items } = await resource.list();
    const request = thaw<CertificateSigningRequest>(items.at(-1)!);
    await resource.updateStatus({ ...request, status });
    return request;
  };
  const request = await decide({ certificate: Buffer.from('PEM').toString('base64') });
  await deps.clock.advance(2000);
  assert.equal((await asked).certificate, 'PEM');
  assert.equal(request.spec.signerName, 'kubernetes.io/kubelet-serving');
  const parsed = parseRequest(Buffer.from(request.spec.request, 'base64').toString());
  assert.deepEqual(
    [parsed.subject.commonName, parsed.dnsNames, parsed.ipAddresses],
    ['system:node:n1', ['n1'], ['1.2.3.4']],
  );
  const refused = requestCertificate('n2', { purpose: 'client' }, deps, new AbortController().signal);
  refused.catch(() => undefined);
  await decide({ conditions: [{ type: 'Denied', status: 'True', message: 'no' }] });
  await deps.clock.advance(2000);
  await assert.rejects(refused, CertificateRefused);
});

test('manifests become pods of this node', () => {
  const text = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n';
  const pod = staticPod(text, '/m/web.yaml', 'n1');
  assert.deepEqual([pod.metadata.name, pod.metadata.namespace, pod.spec.nodeName], ['web-n1', 'default', 'n1']);
  assert.equal(pod.spec.restartPolicy, 'Always');
  assert.equal(pod.spec.tolerations?.at(-1)?.effect, 'NoExecute');
  assert.equal(staticPod(text, '/m/web.yaml', 'n1').metadata.uid, pod.metadata.uid);
  assert.notEqual(staticPod(`${text}# changed`, '/m/web.yaml', 'n1').metadata.uid, pod.metadata.uid);
  for (const bad of ['', '[]', 'kind: Pod', 'kind: Service\nmetadata: {name: x}', ': ['])
    assert.throws(() => staticPod(bad, '/m/x.yaml', 'n1'), Error, bad);
});

// Tests what is decided about the host: capabilities, cgroup hierarchies, configuration texts, missing tools.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cgroupHierarchies, cgroups } from './cgroups.ts';
import { removeCniLeftovers } from './cni-leftovers.ts';
import { cniCleanup, cniConfig } from './cni.ts';
import { containerdConfig, containerdPaths } from './containerd-config.ts';
import { hasCapSysResource, snapshotterFor } from './kernel.ts';
import { findHostTools, whyNoRealNode } from './tools.ts';

test('CAP_SYS_RESOURCE', () => {
  assert.equal(hasCapSysResource('CapEff:\t000001ffffffffff\n'), true);
  assert.equal(hasCapSysResource('CapEff:\t000001fffeffffff\n'), false);
  assert.equal(hasCapSysResource('nothing'), false);
});

const v1 = [
  '30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct',
  '31 25 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
  '32 25 0:28 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd',
];
const v2 = '33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw';

test('cgroup hierarchies: v1, hybrid, v2', () => {
  assert.deepEqual(cgroupHierarchies([...v1, v2].join('\n')), {
    v1: [
      { folder: '/sys/fs/cgroup/cpu,cpuacct', controllers: ['cpu', 'cpuacct'] },
      { folder: '/sys/fs/cgroup/memory', controllers: ['memory'] },
      { folder: '/sys/fs/cgroup/systemd', controllers: ['name=systemd'] },
    ],
    v2: '/sys/fs/cgroup/unified',
  });
  assert.equal(cgroups('/x', v1.join('\n')).version, 1);
  assert.equal(cgroups('/x', [...v1, v2].join('\n')).version, 1, 'a bare cgroup2 beside v1 has no controllers');
  assert.equal(cgroups('/x', [v1[2], v2].join('\n')).version, 2);
});

test('configuration texts', () => {
  const text = containerdConfig(containerdPaths('/data/containerd'), {
    sandboxImage: 'pause:1',
    cniBinFolder: '/opt/cni/bin',
    restrictOomScoreAdj: true,
    snapshotter: 'overlayfs',
  });
  for (const line of [
    'root = "/data/containerd/root"',
    'restrict_oom_score_adj = true',
    'sandbox_image = "pause:1"',
    'SystemdCgroup = false',
  ])
    assert.ok(text.includes(line), line);
  const cni = JSON.parse(cniConfig({ networkName: 'n', bridge: 'b0', podCidr: '10.1.0.0/24', dataFolder: '/d' })) as {
    plugins: { type: string; hairpinMode?: boolean; ipam?: { ranges: unknown } }[];
  };
  assert.deepEqual(
    cni.plugins.map(({ type }) => type),
    ['bridge', 'portmap'],
  );
  assert.equal(cni.plugins[0]!.hairpinMode, true);
  assert.deepEqual(cni.plugins[0]!.ipam?.ranges, [[{ subnet: '10.1.0.0/24' }]]);
});

test('no overlay on an overlay', () => {
  const mounts =
    '1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 / /data rw - ext4 /dev/vda rw\n3 1 0:3 / /dat rw - overlay o rw\n';
  assert.equal(snapshotterFor('/var/lib/x', mounts), 'native');
  assert.equal(snapshotterFor('/data/x', mounts), 'overlayfs');
  assert.equal(snapshotterFor('/database', mounts), 'native');
});

test('tools are found on the path; who cannot have a real node hears why', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tools-'));
  writeFileSync(join(folder, 'containerd'), '');
  chmodSync(join(folder, 'containerd'), 0o755);
  assert.equal(findHostTools(folder).paths.get('containerd'), join(folder, 'containerd'));
  chmodSync(join(folder, 'containerd'), 0o644);
  assert.notEqual(findHostTools(folder).paths.get('containerd'), join(folder, 'containerd'));
  rmSync(folder, { recursive: true });
  assert.match(whyNoRealNode({ platform: 'darwin', uid: 0 })!, /need Linux/);
  assert.match(whyNoRealNode({ platform: 'linux', uid: 1000 })!, /needs root/);
  assert.equal(whyNoRealNode({ platform: 'linux', uid: 0 }), undefined);
});

test("what CNI plugins left of one network goes, another's stays", () => {
  const rule = (network: string) => `-m comment --comment "name: \\"${network}\\" id: \\"1\\""`;
  const dnat = (network: string) => `-m comment --comment "dnat name: \\"${network}\\" id: \\"1\\""`;
  const saved = (other: boolean) =>
    [
      '*nat',
      ':POSTROUTING ACCEPT [0:0]',
      ':CNI-aa - [0:0]',
      ':CNI-DN-ab - [0:0]',
      ':CNI-HOSTPORT-DNAT - [0:0]',
      '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
      `-A POSTROUTING -s 10.0.0.2/32 ${rule('ours')} -j CNI-aa`,
      `-A CNI-aa -d 10.0.0.0/24 ${rule('ours')} -j ACCEPT`,
      `-A CNI-HOSTPORT-DNAT -p tcp ${dnat('ours')} -m multiport --dports 80 -j CNI-DN-ab`,
      '-A CNI-DN-ab -p tcp -j DNAT --to-destination 10.0.0.2:80',
      ...(other
        ? [
            ':CNI-bb - [0:0]',
            `-A POSTROUTING -s 10.1.0.2/32 ${rule('theirs')} -j CNI-bb`,
            `-A CNI-HOSTPORT-DNAT -p tcp ${dnat('theirs')} -m multiport --dports 81 -j CNI-DN-bc`,
          ]
        : []),
      'COMMIT',
    ].join('\n');
  assert.equal(cniCleanup(saved(true), 'nobody'), '');
  const shared = cniCleanup(saved(true), 'ours');
  assert.deepEqual(
    shared.split('\n').filter((line) => /^(:|-X)/.test(line)),
    [':CNI-aa - [0:0]', ':CNI-DN-ab - [0:0]', '-X CNI-aa', '-X CNI-DN-ab'],
  );
  assert.ok(shared.includes('-D POSTROUTING -s 10.0.0.2/32') && shared.includes('-D CNI-HOSTPORT-DNAT -p tcp'));
  assert.ok(!shared.includes('theirs') && !shared.includes('-D PREROUTING'));
  const alone = cniCleanup(saved(false), 'ours');
  assert.ok(
    alone.includes('-X CNI-HOSTPORT-DNAT') &&
      alone.includes('-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT'),
  );
});

test('namespaces, results and addresses of our pods go, others stay', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cni-'));
  const results = join(folder, 'results');
  const data = join(folder, 'data');
  mkdirSync(results);
  mkdirSync(join(data, 'ours'), { recursive: true });
  const result = (networkName: string, containerId: string, sandbox: string) =>
    writeFileSync(
      join(results, `${networkName}-${containerId}-eth0`),
      JSON.stringify({
        networkName,
        containerId,
        result: { interfaces: [{ name: 'veth1' }, { name: 'eth0', sandbox }] },
      }),
    );
  result('ours', 'a', '/var/run/netns/cni-1');
  result('cni-loopback', 'a', '/var/run/netns/cni-1');
  result('theirs', 'b', '/var/run/netns/cni-2');
  result('ours', 'c', '/etc/passwd');
  writeFileSync(join(results, 'broken'), '{');
  writeFileSync(join(data, 'ours', '10.0.0.2'), 'a\r\neth0');
  writeFileSync(join(data, 'ours', '10.0.0.3'), 'z\r\neth0');
  writeFileSync(join(data, 'ours', 'last_reserved_ip.0'), 'a');
  const deleted: string[] = [];
  assert.equal(await removeCniLeftovers('ours', data, results, async (name) => deleted.push(name)), 2);
  assert.deepEqual(deleted, ['cni-1']);
  assert.deepEqual(readdirSync(results).toSorted(), ['broken', 'theirs-b-eth0']);
  assert.deepEqual(readdirSync(join(data, 'ours')).toSorted(), ['10.0.0.3', 'last_reserved_ip.0']);
  assert.equal(await removeCniLeftovers('ours', data, join(folder, 'absent')), 0);
  rmSync(folder, { recursive: true });
});

// Real rules in network namespaces of their own: a "host" with two pods on a bridge and an outsider on another link.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import test, { type TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { logger } from '../base/log.ts';
import { metricsRegistry } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { runCommand } from '../base/run-command.ts';
import { taskGroup } from '../base/task-group.ts';
import { endpointSlices, services } from '../api/generated/resources.ts';
import { informerFactory } from '../client/informer-factory.ts';
import { client } from '../client/rest.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { kubeProxy } from './kube-proxy.ts';

const missing = ['/usr/sbin/iptables', '/usr/sbin/ip', '/usr/sbin/conntrack'].filter(
  (path) => !existsSync(path) && !existsSync(path.slice(4)),
);
const skip =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'needs root on Linux'
    : missing.length > 0
      ? `needs ${missing.join(', ')}`
      : false;

const id = `kp${process.pid}`;
const [host, podA, podB, outsider] = ['h', 'a', 'b', 'o'].map((part) => `${id}${part}`) as [
  string,
  string,
  string,
  string,
];

async function sh(script: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand('bash', ['-ec', script]);
  assert.equal(code, 0, `${script}: ${stderr}`);
  return stdout;
}

const inside = (netns: string, script: string) => runCommand('ip', ['netns', 'exec', netns, 'bash', '-c', script]);

async function setUp(): Promise<void> {
  await sh(`
    for n in ${host} ${podA} ${podB} ${outsider}; do ip netns add $n; ip -n $n link set lo up; done
    ip -n ${host} link add br0 type bridge
    ip -n ${host} addr add 10.77.0.1/24 dev br0; ip -n ${host} link set br0 up
    at=2
    for n in ${podA} ${podB}; do
      ip -n ${host} link add v$at type veth peer name eth0 netns $n
      ip -n ${host} link set v$at master br0 up
      ip -n ${host} link set v$at type bridge_slave hairpin on
      ip -n $n addr add 10.77.0.$at/24 dev eth0; ip -n $n link set eth0 up; ip -n $n route add default via 10.77.0.1
      at=$((at+1))
    done
    ip -n ${host} link add out0 type veth peer name eth0 netns ${outsider}
    ip -n ${host} addr add 192.0.2.1/24 dev out0; ip -n ${host} link set out0 up
    ip -n ${outsider} addr add 192.0.2.9/24 dev eth0; ip -n ${outsider} link set eth0 up
    ip -n ${outsider} route add default via 192.0.2.1
    ip -n ${host} route add default via 192.0.2.9
    ip netns exec ${host} bash -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
      [ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables'
  `);
}

async function tearDown(): Promise<void> {
  await sh(`for n in ${host} ${podA} ${podB} ${outsider}; do ip netns del $n || true; done`);
}

/** A server that says who it is and whom it sees. */
async function serve(netns: string, name: string): Promise<ChildProcess> {
  const code = `
    require('net').createServer((s) => { s.on('error', () => {}); s.end('${name} sees ' + s.remoteAddress.replace('::ffff:', '') + '\\n'); })
      .listen(8080, '0.0.0.0', () => console.log('up'));
    const u = require('dgram').createSocket('udp4'); u.on('message', (m, from) => u.send('${name}', from.port, from.address)); u.bind(8053);`;
  const child = spawn('ip', ['netns', 'exec', netns, process.execPath, '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout!.once('data', resolve));
  return child;
}

async function ask(from: string, address: string, port: number): Promise<string> {
  const { stdout, stderr } = await inside(from, `timeout 1 bash -c 'exec 3<>/dev/tcp/${address}/${port} && cat <&3'`);
  if (stdout !== '') return stdout.trim();
  return /refused/.test(stderr) ? 'refused' : `no answer: ${stderr}`;
}

const portOf = { name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 };

for (const mode of ['iptables', 'nftables'] as const)
  test(`services answer in the kernel: ${mode}`, { skip, timeout: 60_000 }, (t) => play(t, mode));

async function play(t: TestContext, mode: 'iptables' | 'nftables'): Promise<void> {
  await setUp();
  const group = taskGroup();
  const servers: ChildProcess[] = [];
  try {
    servers.push(await serve(podA, 'a'), await serve(podB, 'b'));
    const api = memoryApi({ clock: systemClock, random: systemRandom });
    const kube = client(api);
    const log = logger('warn');
    const informers = informerFactory(kube, { clock: systemClock, random: systemRandom, logger: log });
    const proxy = kubeProxy(
      { nodeName: 'me', clusterCIDR: '10.77.0.0/24', commandPrefix: ['ip', 'netns', 'exec', host], syncPeriodMs: 300 },
      { informers, clock: systemClock, logger: log, metrics: metricsRegistry() },
    );
    group.run('informers', (signal) => informers.run(signal));
    group.run('proxy', (signal) => proxy.run(signal));

    const svc = (name: string, clusterIP: string, spec: object = {}) =>
      kube.resource(services).create({
        metadata: { name, namespace: 'default' },
        spec: { type: 'ClusterIP', clusterIP, ports: [portOf], ...spec },
      } as never);
    const slice = (
      name: string,
      ips: readonly string[],
      ports: object[] = [{ name: 'http', protocol: 'TCP', port: 8080 }],
    ) =>
      ({
        metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
        addressType: 'IPv4',
        endpoints: ips.map((ip) => ({ addresses: [ip], nodeName: 'me', conditions: { ready: true } })),
        ports,
      }) as never;
    const slices = kube.resource(endpointSlices);
    const until = async (what: string, check: () => Promise<boolean>) => {
      const endMs = Date.now() + 5000;
      while (!(await check())) assert.ok(Date.now() < endMs, what);
    };
    const chains = async () =>
      (await sh(`ip netns exec ${host} ${mode === 'iptables' ? 'iptables-save' : 'nft list ruleset'}`))
        .split('\n')
        .filter((line) => /KUBE-|kube-proxy|service|endpoint/.test(line));

    await t.test('cluster IP from a pod, from the host and from outside, within milliseconds', async () => {
      await slices.create(slice('web', ['10.77.0.2', '10.77.0.3']));
      await svc('web', '10.96.0.80');
      const startMs = performance.now();
      await until('reachable', async () => (await ask(host, '10.96.0.80', 80)).includes('sees'));
      t.diagnostic(`reachable after ${(performance.now() - startMs).toFixed(0)} ms`);
      for (const from of [podA, podB, host]) {
        const seen = new Set<string>();
        for (let i = 0; i < 60 && seen.size < 2; i++) seen.add((await ask(from, '10.96.0.80', 80)).split(' ')[0]!);
        assert.deepEqual([...seen].toSorted(), ['a', 'b'], from);
      }
    });

    await t.test('a pod reaches itself through its service, seen as the bridge', async () => {
      await slices.create(slice('self', ['10.77.0.2']));
      await svc('self', '10.96.0.81');
      await until('hairpin', async () => (await ask(podA, '10.96.0.81', 80)) === 'a sees 10.77.0.1');
      assert.equal(await ask(podB, '10.96.0.81', 80), 'a sees 10.77.0.3');
    });

    await t.test(
      'node ports: from outside masqueraded, with policy Local the client is seen; also on loopback',
      async () => {
        const ports = (nodePort: number) => [{ ...portOf, nodePort }];
        await slices.create(slice('np', ['10.77.0.2']));
        await svc('np', '10.96.0.82', { type: 'NodePort', ports: ports(30080) });
        await slices.create(slice('npl', ['10.77.0.3']));
        await svc('npl', '10.96.0.83', { type: 'NodePort', externalTrafficPolicy: 'Local', ports: ports(30081) });
        await until('node port', async () => (await ask(outsider, '192.0.2.1', 30081)) === 'b sees 192.0.2.9');
        assert.equal(await ask(outsider, '192.0.2.1', 30080), 'a sees 10.77.0.1');
        assert.match(await ask(host, '127.0.0.1', 30080), /^a sees/);
        assert.match(await ask(podB, '192.0.2.1', 30080), /^a sees/);
      },
    );

    await t.test('session affinity keeps a client at one backend', async () => {
      await slices.create(slice('sticky', ['10.77.0.2', '10.77.0.3']));
      await svc('sticky', '10.96.0.84', {
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      });
      await until('sticky', async () => (await ask(host, '10.96.0.84', 80)).includes('sees'));
      const answers = new Set<string>();
      for (let i = 0; i < 20; i++) answers.add(await ask(host, '10.96.0.84', 80));
      assert.equal(answers.size, 1);
    });

    await t.test('without endpoints connections are refused at once', async () => {
      await svc('empty', '10.96.0.85');
      await until('refused', async () => (await ask(podA, '10.96.0.85', 80)) === 'refused');
      assert.equal(await ask(host, '10.96.0.85', 80), 'refused');
    });

    await t.test('a UDP client moves on when its backend goes', async () => {
      const dns = [{ name: 'dns', protocol: 'UDP', port: 53 }];
      await slices.create(slice('udp', ['10.77.0.2'], [{ name: 'dns', protocol: 'UDP', port: 8053 }]));
      await svc('udp', '10.96.0.86', { ports: dns });
      const udp = async () =>
        (await inside(podB, 'exec 3<>/dev/udp/10.96.0.86/53; echo q >&3; timeout 1 head -c 1 <&3')).stdout;
      await until('first backend', async () => (await udp()) === 'a');
      const old = await slices.get({ namespace: 'default', name: 'udp' });
      await slices.update({
        ...old,
        endpoints: [{ addresses: ['10.77.0.3'], nodeName: 'me', conditions: { ready: true } }],
      });
      await until('second backend', async () => (await udp()) === 'b');
      await until('old flows gone', async () => {
        const { stdout } = await inside(host, 'conntrack -L -p udp 2>/dev/null');
        return !stdout.includes('src=10.77.0.2 dst=10.77.0.3 sport=8053');
      });
    });

    await t.test('rules that someone flushed come back', async () => {
      const flush =
        mode === 'iptables' ? 'iptables -t nat -F; iptables -t nat -X; iptables -F; iptables -X' : 'nft flush ruleset';
      await sh(`ip netns exec ${host} bash -c '${flush}'`);
      await until('back', async () => (await ask(podB, '10.96.0.81', 80)) === 'a sees 10.77.0.3');
    });

    await t.test('a deleted service leaves nothing, and cleanup leaves no chain', async () => {
      await kube.resource(services).delete({ namespace: 'default', name: 'sticky' });
      await until('gone', async () => !(await chains()).some((line) => line.includes('default/sticky')));
      await group.stop();
      assert.ok((await chains()).length > 20, 'a stopped proxy leaves its rules');
      await proxy.cleanup();
      assert.deepEqual(await chains(), []);
    });
  } finally {
    await group.stop();
    await Promise.all(
      servers.map((server) => {
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill('SIGKILL');
        return ended;
      }),
    );
    await tearDown();
  }
}

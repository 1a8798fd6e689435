// Owns one question: what a change of one service costs among many, before the kernel has its part.
// node dist/bench/proxy.js [services]
import { iptablesProxier } from '../src/proxy/iptables/proxier.ts';
import { nftablesProxier } from '../src/proxy/nftables/proxier.ts';
import type { ServicePlan } from '../src/proxy/service-plan.ts';
import type { RunCommand } from '../src/base/run-command.ts';

const count = Number(process.argv[2] ?? 5000);

function plan(at: number, version = 0): ServicePlan {
  const backends = [0, 1].map((each) => ({
    ip: `10.1.${at >> 7}.${((at & 127) << 1) + each}`,
    port: 8080 + version,
    local: false,
  }));
  return {
    namespace: 'ns',
    name: `svc-${at}`,
    healthCheckNodePort: 0,
    localReady: 0,
    ports: [
      {
        id: `ns/svc-${at}:http`,
        protocol: 'tcp',
        clusterIP: `10.96.${at >> 8}.${at & 255}`,
        port: 80,
        nodePort: 0,
        externalIPs: [],
        loadBalancerIPs: [],
        sourceRanges: [],
        affinitySeconds: 0,
        internalLocal: false,
        externalLocal: false,
        clusterBackends: backends,
        localBackends: [],
        anyBackends: true,
      },
    ],
  };
}

const options = {
  family: 'IPv4',
  clusterCIDR: '10.1.0.0/16',
  masqueradeAll: false,
  masqueradeBit: 14,
  localhostNodePorts: true,
  nodePortAddresses: [],
} as const;

for (const mode of ['iptables', 'nftables'] as const) {
  let bytes = 0;
  const run: RunCommand = (_command, _args, { input = '' } = {}) => {
    bytes += input.length;
    return Promise.resolve({ code: 0, stdout: '', stderr: '' });
  };
  const proxier =
    mode === 'iptables' ? iptablesProxier({ ...options, command: 'iptables' }, run) : nftablesProxier(options, run);
  const plans = new Map(Array.from({ length: count }, (_, at) => [`ns/svc-${at}`, plan(at)]));
  let startMs = performance.now();
  await proxier.sync(plans, new Set(plans.keys()));
  process.stdout.write(
    `${mode}: ${count} services at first: ${(performance.now() - startMs).toFixed(0)} ms, ${bytes} bytes\n`,
  );
  bytes = 0;
  const rounds = 20;
  startMs = performance.now();
  for (let round = 1; round <= rounds; round++) {
    plans.set('ns/svc-7', plan(7, round));
    await proxier.sync(plans, new Set(['ns/svc-7']));
  }
  const each = (performance.now() - startMs) / rounds;
  process.stdout.write(`${mode}: one of them changes: ${each.toFixed(1)} ms, ${Math.round(bytes / rounds)} bytes\n`);
}

// Owns one question: how many pods a second the scheduler decides and binds on one core, without the server's costs. Prints a line a workload.
// node dist/bench/scheduler.js [nodes] [pods]
import { silentLogger } from '../src/base/log.ts';
import { metricsRegistry } from '../src/base/metrics.ts';
import { PodInfo } from '../src/scheduler/pod-info.ts';
import { SchedulerCache } from '../src/scheduler/cache.ts';
import { profilesOf } from '../src/scheduler/configuration.ts';
import { MatchIndex } from '../src/scheduler/match-index.ts';
import { Nominator } from '../src/scheduler/nominator.ts';
import { PodScheduler } from '../src/scheduler/schedule-pod.ts';
import { volumesFrom } from '../src/scheduler/volumes.ts';
import { WaitingPods } from '../src/scheduler/waiting-pods.ts';
import { systemClock } from '../src/base/clock.ts';
import { seededRandom } from '../src/base/random.ts';
import type { Frozen } from '../src/api/meta.ts';
import type { Node, Pod } from '../src/api/generated/core.v1.ts';
import { informerFactory } from '../src/client/informer-factory.ts';
import { client } from '../src/client/rest.ts';
import { memoryApi } from '../src/testing/memory-api.ts';
import { nodes as nodeRef, pods as podRef } from '../src/api/generated/resources.ts';
import { scheduler } from '../src/scheduler/scheduler.ts';

const nodeCount = Number(process.argv[2] ?? 5000);
const podCount = Number(process.argv[3] ?? 10_000);

function makeNode(at: number): Frozen<Node> {
  const name = `node-${at}`;
  return {
    metadata: {
      name,
      uid: name,
      labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': `zone-${at % 3}`, half: String(at % 2) },
    },
    spec: {},
    status: { allocatable: { cpu: '32', memory: '128Gi', pods: '110' } },
  } as unknown as Frozen<Node>;
}

function makePod(at: number, spec: object): Frozen<Pod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `p-${at}`,
      namespace: 'default',
      uid: `uid-${at}`,
      labels: { app: `app-${at % 10}`, color: 'blue' },
    },
    spec: {
      containers: [{ name: 'c', image: 'app:v1', resources: { requests: { cpu: '100m', memory: '200Mi' } } }],
      ...spec,
    },
    status: { phase: 'Pending' },
  } as unknown as Frozen<Pod>;
}

const selector = { labelSelector: { matchLabels: { color: 'blue' } } };
const required = (kind: string, topologyKey: string, labelSelector: object) => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, ...labelSelector }] } },
});
const preferred = (kind: string) => ({
  affinity: {
    [kind]: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', ...selector } },
      ],
    },
  },
});
const spread = (topologyKey: string, whenUnsatisfiable: string) => ({
  topologySpreadConstraints: [{ maxSkew: 5, topologyKey, whenUnsatisfiable, ...selector }],
});

const workloads: readonly { readonly name: string; readonly spec: (at: number) => object; readonly pods?: number }[] = [
  { name: 'SchedulingBasic', spec: () => ({}) },
  {
    name: 'NodeAffinity',
    spec: () => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'half', operator: 'In', values: ['0'] }] }],
          },
        },
      },
    }),
  },
  { name: 'PodAffinity (zone)', spec: () => required('podAffinity', 'topology.kubernetes.io/zone', selector) },
  {
    name: 'PodAntiAffinity (host)',
    pods: Math.min(podCount, Math.trunc(nodeCount / 2)),
    spec: () => required('podAntiAffinity', 'kubernetes.io/hostname', selector),
  },
  { name: 'PreferredPodAffinity', spec: () => preferred('podAffinity') },
  { name: 'PreferredPodAntiAffinity', spec: () => preferred('podAntiAffinity') },
  { name: 'TopologySpreading', spec: () => spread('topology.kubernetes.io/zone', 'DoNotSchedule') },
  { name: 'TopologySpreading (host)', spec: () => spread('kubernetes.io/hostname', 'DoNotSchedule') },
  { name: 'PreferredTopologySpreading', spec: () => spread('topology.kubernetes.io/zone', 'ScheduleAnyway') },
  {
    name: 'Unschedulable',
    spec: (at) => (at % 2 === 0 ? {} : { nodeSelector: { nowhere: 'y' } }),
  },
];

function decide(name: string, count: number, spec: (at: number) => object): void {
  const cache = new SchedulerCache();
  const index = new MatchIndex();
  cache.observers.push(index);
  const nominator = new Nominator();
  const random = seededRandom(1);
  const api = memoryApi({ clock: systemClock, random });
  const informers = informerFactory(client(api), { clock: systemClock, random, logger: silentLogger });
  const profile = profilesOf(
    {},
    {},
    {
      informers,
      volumes: volumesFrom(informers, () => undefined),
      clock: systemClock,
      logger: silentLogger,
      cache,
      nominator,
      index,
      waiting: new WaitingPods(systemClock),
      run: () => undefined,
      preempted: () => undefined,
      happened: () => undefined,
    },
  ).get('default-scheduler')!;
  for (let at = 0; at < nodeCount; at++) cache.setNode(makeNode(at));
  const decider = new PodScheduler(cache, nominator);
  const pods = Array.from({ length: count }, (_, at) => makePod(at, spec(at)));
  const start = process.cpuUsage();
  let placed = 0;
  for (const pod of pods) {
    const info = new PodInfo(pod);
    const decision = decider.schedule(profile, info);
    if (!('node' in decision)) continue;
    cache.assume(info, decision.node.name);
    placed++;
  }
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  const rate = Math.round(count / seconds);
  process.stdout.write(`${name.padEnd(28)} ${nodeCount} nodes ${count} pods (${placed} placed): ${rate} decisions/s\n`);
}

async function whole(): Promise<void> {
  const random = seededRandom(1);
  const api = memoryApi({ clock: systemClock, random });
  const kube = client(api);
  const informers = informerFactory(kube, { clock: systemClock, random, logger: silentLogger });
  const it = scheduler(
    {},
    {
      informers,
      clock: systemClock,
      logger: silentLogger,
      metrics: metricsRegistry(),
      events: () => ({ event: () => undefined }),
    },
  );
  const nodes = Math.min(nodeCount, 1000);
  for (let at = 0; at < nodes; at++) await kube.resource(nodeRef).create(makeNode(at) as never);
  const stop = new AbortController();
  const running = Promise.allSettled([informers.run(stop.signal), it.run(stop.signal)]);
  let bound = 0;
  const all = new Promise<void>((resolve) =>
    informers.informer(podRef).on({
      updated: (pod, before) => {
        if (pod.spec.nodeName && !before.spec.nodeName && ++bound === podCount) resolve();
      },
    }),
  );
  const start = process.cpuUsage();
  for (let at = 0; at < podCount; at++) await kube.resource(podRef).create(makePod(at, {}) as never);
  await all;
  const { user, system } = process.cpuUsage(start);
  const rate = Math.round(podCount / ((user + system) / 1e6));
  process.stdout.write(
    `created, decided and bound in memory, ${nodes} nodes ${podCount} pods: ${rate} pods/s of processor time\n`,
  );
  stop.abort();
  await running;
}

for (const { name, spec, pods } of workloads) decide(name, pods ?? podCount, spec);
await whole();

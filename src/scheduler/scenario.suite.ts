// Owns playing scheduler scenarios: a line a step, against a whole scheduler on a virtual clock and an API server in memory.
import assert from 'node:assert/strict';
import { silentLogger } from '../base/log.ts';
import { metricsRegistry, type MetricsRegistry } from '../base/metrics.ts';
import { seededRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import type { KubeObject, ResourceRef } from '../api/meta.ts';
import * as resources from '../api/generated/resources.ts';
import { informerFactory } from '../client/informer-factory.ts';
import { client } from '../client/rest.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { scheduler, type SchedulerOptions } from './scheduler.ts';

/** Parts of objects in YAML-less shorthand: whatever the scenario gives is merged over these. */
type Fields = Record<string, unknown>;

type Patchable = 'pods' | 'nodes' | 'persistentvolumeclaims';

export interface World {
  readonly clock: VirtualClock;
  readonly metrics: MetricsRegistry;
  readonly api: ReturnType<typeof memoryApi>;
  readonly events: string[];
  node(
    name: string,
    allocatable?: Record<string, string>,
    more?: { labels?: Record<string, string>; spec?: Fields; status?: Fields },
  ): Promise<void>;
  pod(
    name: string,
    requests?: Record<string, string>,
    more?: { labels?: Record<string, string>; spec?: Fields; status?: Fields; namespace?: string },
  ): Promise<void>;
  create<T extends KubeObject>(ref: ResourceRef<T>, obj: object): Promise<void>;
  patch(what: Patchable, name: string, body: object, subresource?: string): Promise<void>;
  remove(what: 'pods' | 'nodes', name: string): Promise<void>;
  /** Lets everything that is due happen within `ms` of virtual time. */
  settle(ms?: number): Promise<void>;
  /** "a=n1 b=-" for the pods of all namespaces, by name. */
  placed(): Promise<string>;
  /** The message of the pod's PodScheduled=False condition, or "". */
  why(name: string): Promise<string>;
  nominated(name: string): Promise<string>;
}

/** Runs `play` in a fresh world and stops everything afterwards. */
export async function inWorld(play: (world: World) => Promise<void>, options: SchedulerOptions = {}): Promise<void> {
  const clock = new VirtualClock();
  const random = seededRandom(7);
  const api = memoryApi({ clock, random });
  const kube = client(api);
  const metrics = metricsRegistry();
  const informers = informerFactory(kube, { clock, random, logger: silentLogger });
  const events: string[] = [];
  const group = taskGroup();
  const it = scheduler(options, {
    informers,
    clock,
    logger: silentLogger,
    metrics,
    events: () => ({
      event: (pod, _related, type, reason, _action, note) =>
        events.push(`${type} ${reason} ${pod.metadata.name}: ${note}`),
    }),
  });
  group.run('informers', (signal) => informers.run(signal));
  group.run('scheduler', (signal) => it.run(signal));
  await clock.advance(0);
  assert.equal(it.ready, true);
  const pods = kube.resource(resources.pods);
  const refs = {
    pods: resources.pods,
    nodes: resources.nodes,
    persistentvolumeclaims: resources.persistentVolumeClaims,
  } as const;
  const keyFor = (what: Patchable, name: string) => ({ namespace: what === 'nodes' ? '' : 'default', name });
  const settle = async (ms = 0) => {
    for (let turn = 0; turn < 6; turn++) await clock.advance(turn === 0 ? ms : 0);
  };
  try {
    await play({
      clock,
      metrics,
      api,
      events,
      settle,
      async node(name, allocatable = { cpu: '4', memory: '8Gi', pods: '110' }, more = {}) {
        await kube.resource(resources.nodes).create({
          metadata: { name, labels: { 'kubernetes.io/hostname': name, ...more.labels } },
          spec: { ...more.spec },
          status: { allocatable: { pods: '110', ...allocatable }, ...more.status },
        } as never);
      },
      async pod(name, requests = {}, more = {}) {
        await pods.create({
          metadata: { name, namespace: more.namespace ?? 'default', labels: { ...more.labels } },
          spec: { containers: [{ name: 'c', image: 'app:v1', resources: { requests } }], ...more.spec },
          status: { phase: 'Pending', ...more.status },
        } as never);
      },
      async create(ref, obj) {
        await kube.resource(ref).create(obj as never);
      },
      async patch(what, name, body, subresource) {
        const target = kube.resource(refs[what] as ResourceRef);
        await target.patch(
          keyFor(what, name),
          { type: 'strategic', body },
          subresource === undefined ? {} : { subresource },
        );
      },
      async remove(what, name) {
        await kube.resource(refs[what] as ResourceRef).delete(keyFor(what, name), { gracePeriodSeconds: 0 });
      },
      async placed() {
        await settle();
        const { items } = await pods.list();
        const texts = items.map(({ metadata, spec }) => `${metadata.name}=${spec.nodeName ?? '-'}`);
        return texts.toSorted().join(' ');
      },
      async why(name) {
        await settle();
        const pod = await pods.get({ namespace: 'default', name });
        return (
          pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')?.message ??
          ''
        );
      },
      async nominated(name) {
        await settle();
        return (await pods.get({ namespace: 'default', name })).status?.nominatedNodeName ?? '';
      },
    });
  } finally {
    await group.stop();
  }
}

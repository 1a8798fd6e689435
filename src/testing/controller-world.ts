// Owns a small world for controller tests: the in-memory API, a virtual clock, and the chosen controllers running on them.
import { silentLogger } from '../base/log.ts';
import { metricsRegistry } from '../base/metrics.ts';
import { seededRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { type Frozen, keyOf, type KubeObject, type ResourceRef } from '../api/meta.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { pods } from '../api/generated/resources.ts';
import { timeOf } from '../api/time.ts';
import type { Client } from '../client/client.ts';
import { client as restClient } from '../client/rest.ts';
import { controllerManager } from '../controllers/manager/manager.ts';
import type { ControllerManagerOptions } from '../controllers/manager/options.ts';
import { type MemoryApi, memoryApi } from './memory-api.ts';

export interface ControllerWorld {
  readonly api: MemoryApi;
  readonly client: Client;
  readonly clock: VirtualClock;
  /** Creates from a plain manifest. */
  create<T extends KubeObject>(ref: ResourceRef<T>, manifest: object): Promise<Frozen<T>>;
  get<T extends KubeObject>(ref: ResourceRef<T>, name: string, namespace?: string): Promise<Frozen<T>>;
  list<T extends KubeObject>(ref: ResourceRef<T>, namespace?: string): Promise<readonly Frozen<T>[]>;
  /** Plays the kubelet: sets the pod's phase and readiness. */
  pod(pod: Frozen<Pod>, phase: string, isReady?: boolean): Promise<void>;
  merge<T extends KubeObject>(
    ref: ResourceRef<T>,
    obj: Frozen<T>,
    body: object,
    subresource?: string,
  ): Promise<Frozen<T>>;
  /** Lets the controllers work; moves the clock by `ms`. */
  settle(ms?: number): Promise<void>;
}

/** So many steps of this length are longer than controllers pause between two looks at one object. */
const settleStepMs = 5;

export async function withControllers(
  options: ControllerManagerOptions,
  run: (world: ControllerWorld) => Promise<void>,
): Promise<void> {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const api = memoryApi({ clock, random });
  const client = restClient(api);
  const deps = { client, clock, random, logger: silentLogger, metrics: metricsRegistry() };
  const group = taskGroup();
  const manager = controllerManager(options, deps);
  group.run('controllers', (signal) => manager.run(signal));
  const world: ControllerWorld = {
    api,
    client,
    clock,
    create: (ref, manifest) => client.resource(ref).create(manifest as never),
    get: (ref, name, namespace = 'default') =>
      client.resource(ref).get({ namespace: ref.namespaced ? namespace : '', name }),
    list: async (ref, namespace) => (await client.resource(ref).list(namespace ? { namespace } : {})).items,
    async pod(pod, phase, isReady = phase === 'Running') {
      const lastTransitionTime = timeOf(clock.now());
      const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime }];
      const body = { status: { phase, conditions } };
      await client.resource(pods).patch(keyOf(pod), { type: 'merge', body }, { subresource: 'status' });
    },
    merge: (ref, obj, body, subresource) =>
      client
        .resource(ref)
        .patch(keyOf(obj as unknown as KubeObject), { type: 'merge', body }, subresource ? { subresource } : {}),
    async settle(ms = 0) {
      for (let i = 0; i < 40; i++) await clock.advance(settleStepMs);
      await clock.advance(ms);
      for (let i = 0; i < 10; i++) await clock.advance(settleStepMs);
    },
  };
  try {
    await world.settle();
    await run(world);
  } finally {
    await group.stop();
  }
}

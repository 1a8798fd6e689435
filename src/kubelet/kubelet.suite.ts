// Owns the scenarios that a kubelet must pass over any container runtime, real or fake, with the API in memory.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Container, Event, Pod, PodSpec } from '../api/generated/core.v1.ts';
import { configMaps, events, nodes, pods } from '../api/generated/resources.ts';
import type { Frozen, New } from '../api/meta.ts';
import { isNotFound } from '../api/status-error.ts';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { metricsRegistry } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import { informerFactory } from '../client/informer-factory.ts';
import { client } from '../client/rest.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { cgroups } from './host/cgroups.ts';
import { connectCri, type Cri } from './cri.ts';
import { kubelet } from './kubelet.ts';
import type { KubeletOptions } from './options.ts';

export interface SuiteRuntime {
  readonly endpoint: string;
  /** An image with `sh`. */
  readonly image: string;
  readonly cni?: KubeletOptions['cni'];
  readonly podCidr: string;
  /** Empty: the runtime makes no cgroups. */
  readonly cgroupRoot: string;
  stop(): Promise<void>;
}

/** One node with its API: what each scenario works with. */
export class SuiteNode {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubelet-'));
  readonly runtime: SuiteRuntime;
  readonly api: Client;
  readonly cri: Cri;
  readonly #extra: Partial<KubeletOptions>;
  readonly #transport = memoryApi({ clock: systemClock, random: systemRandom });
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  port = 0;

  constructor(runtime: SuiteRuntime, cri: Cri, extra: Partial<KubeletOptions>) {
    this.runtime = runtime;
    this.cri = cri;
    this.api = client(this.#transport);
    this.#extra = extra;
  }

  static async open(runtime: SuiteRuntime, extra: Partial<KubeletOptions> = {}): Promise<SuiteNode> {
    const node = new SuiteNode(runtime, await connectCri(runtime.endpoint), extra);
    await node.api.resource(nodes).create({ metadata: { name: 'n1' }, spec: { podCIDR: runtime.podCidr } } as never);
    await node.start();
    return node;
  }

  async start(): Promise<void> {
    const base = { client: this.api, clock: systemClock, random: systemRandom, logger: silentLogger };
    const informers = informerFactory(this.api, base);
    this.#stop = new AbortController();
    const made = kubelet(
      {
        nodeName: 'n1',
        rootFolder: join(this.folder, 'kubelet'),
        runtimeEndpoint: this.runtime.endpoint,
        cgroupRoot: this.runtime.cgroupRoot,
        clusterDns: ['10.96.0.10'],
        ...(this.runtime.cni && { cni: this.runtime.cni }),
        ...this.#extra,
      },
      { ...base, informers, metrics: metricsRegistry() },
    );
    this.#running = Promise.all([informers.run(this.#stop.signal), made.run(this.#stop.signal)]);
    await made.ready;
    this.port = made.port;
    await this.until('the node is ready', async () => {
      const { status } = await this.api.resource(nodes).get({ namespace: '', name: 'n1' });
      return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    });
  }

  /** Ends the kubelet, not the containers. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async close(): Promise<void> {
    await this.stop();
    for (const { id } of (await this.cri.runtime.listPodSandbox({})).items) {
      await this.cri.runtime.stopPodSandbox({ podSandboxId: id });
      await this.cri.runtime.removePodSandbox({ podSandboxId: id });
    }
    this.cri.close();
    cgroups(this.runtime.cgroupRoot).remove(this.runtime.cgroupRoot);
    rmSync(this.folder, { recursive: true, force: true });
  }

  async create(
    name: string,
    spec: Partial<Omit<PodSpec, 'containers' | 'initContainers'>> & {
      containers: Partial<Container>[];
      initContainers?: Partial<Container>[];
    },
  ): Promise<void> {
    const full = {
      ...spec,
      nodeName: 'n1',
      containers: spec.containers.map((each) => ({ image: this.runtime.image, ...each })),
      ...(spec.initContainers && {
        initContainers: spec.initContainers.map((each) => ({ image: this.runtime.image, ...each })),
      }),
    };
    await this.api.resource(pods).create({ metadata: { name, namespace: 'default' }, spec: full } as New<Pod>);
  }

  async pod(name: string): Promise<Frozen<Pod> | undefined> {
    try {
      return await this.api.resource(pods).get({ namespace: 'default', name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Waits for the API's next change instead of for a time; fails after twenty seconds. */
  async until(what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> {
    const deadline = AbortSignal.timeout(20_000);
    while (!(await isTrue())) {
      if (deadline.aborted) {
        const { items } = await this.api.resource(pods).list();
        const said = (await this.api.resource(events).list()).items.slice(-5).map(({ message }) => message);
        throw new Error(
          `waited too long until ${what}: ${said.join('; ')} ${JSON.stringify(items.map(({ status }) => status))}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  untilPod(name: string, what: string, isTrue: (pod: Frozen<Pod>) => boolean): Promise<void> {
    return this.until(`${name} ${what}`, async () => {
      const pod = await this.pod(name);
      return pod !== undefined && isTrue(pod);
    });
  }

  untilPhase(name: string, phase: string): Promise<void> {
    return this.untilPod(name, `is ${phase}`, ({ status }) => status?.phase === phase);
  }

  async delete(name: string, gracePeriodSeconds = 1): Promise<void> {
    await this.api.resource(pods).delete({ namespace: 'default', name }, { gracePeriodSeconds });
    await this.until(`${name} is gone`, async () => (await this.pod(name)) === undefined);
  }

  async events(name: string): Promise<readonly Frozen<Event>[]> {
    return (await this.api.resource(events).list()).items.filter(({ involvedObject }) => involvedObject.name === name);
  }
}

export const sh = (script: string): Partial<Container> => ({ name: 'c', command: ['sh', '-c', script] });
/** Ends on SIGTERM, which init of a pid namespace ignores unless it says otherwise. */
const running = 'trap "exit 0" TERM; sleep 3600 & wait';
const forever = sh(running);

export function kubeletSuite(name: string, openRuntime: () => Promise<SuiteRuntime>, skip: string | undefined): void {
  describe(name, { skip: skip ?? false }, () => {
    if (skip !== undefined) return;
    let runtime: SuiteRuntime;
    let node: SuiteNode;
    // The system clock's timers keep no process alive.
    const alive = setInterval(() => undefined, 1000);
    before(async () => {
      runtime = await openRuntime();
      node = await SuiteNode.open(runtime);
    });
    after(async () => {
      await node?.close();
      await runtime?.stop();
      clearInterval(alive);
    });

    test('a pod runs, is ready, and leaves nothing when deleted', async () => {
      await node.create('web', { containers: [forever] });
      await node.untilPod('web', 'is ready', ({ status }) =>
        Boolean(status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')),
      );
      const pod = (await node.pod('web'))!;
      assert.equal(pod.status.phase, 'Running');
      assert.ok(pod.status.podIP);
      const [status] = pod.status.containerStatuses!;
      assert.deepEqual(
        [status!.ready, status!.started, status!.restartCount, Object.keys(status!.state!)],
        [true, true, 0, ['running']],
      );
      await node.delete('web');
      await node.until('the sandbox is gone', async () => {
        const { items } = await node.cri.runtime.listPodSandbox({});
        return items.every(({ labels }) => labels['io.kubernetes.pod.name'] !== 'web');
      });
      const reasons = (await node.events('web')).map(({ reason }) => reason);
      assert.deepEqual(reasons, ['Pulled', 'Created', 'Started', 'Killing']);
    });

    test('pods that do not restart succeed or fail by their exit codes', async () => {
      await node.create('good', { restartPolicy: 'Never', containers: [sh('exit 0')] });
      await node.create('bad', { restartPolicy: 'Never', containers: [sh('exit 7')] });
      await node.untilPhase('good', 'Succeeded');
      await node.untilPhase('bad', 'Failed');
      const bad = (await node.pod('bad'))!;
      assert.equal(bad.status.containerStatuses?.[0]?.state?.terminated?.exitCode, 7);
      assert.equal(bad.status.containerStatuses?.[0]?.state?.terminated?.reason, 'Error');
      await node.delete('good');
      await node.delete('bad');
    });

    test('a container that ends is restarted at once, then held back', async () => {
      await node.create('crash', { containers: [sh('exit 3')] });
      await node.untilPod('crash', 'is in back-off', ({ status }) => {
        const [container] = status?.containerStatuses ?? [];
        return container?.state?.waiting?.reason === 'CrashLoopBackOff' && container.restartCount === 1;
      });
      const { status } = (await node.pod('crash'))!;
      assert.equal(status.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 3);
      assert.equal(status.phase, 'Running');
      await node.delete('crash');
    });

    test('init containers run in order, a sidecar stays, and the sidecar ends last', async () => {
      await node.create('staged', {
        restartPolicy: 'Never',
        initContainers: [
          { name: 'first', command: ['sh', '-c', 'exit 0'] },
          { name: 'sidecar', command: ['sh', '-c', running], restartPolicy: 'Always' },
        ],
        containers: [sh('exit 0')],
      });
      await node.untilPhase('staged', 'Succeeded');
      const { status } = (await node.pod('staged'))!;
      const [first, sidecar] = status.initContainerStatuses!;
      assert.equal(first!.state?.terminated?.exitCode, 0);
      assert.ok(sidecar!.state?.terminated, 'the sidecar was stopped when the work was done');
      await node.delete('staged');
    });

    test('a restarted kubelet takes over what runs and misses no deletion', async () => {
      await node.create('kept', { containers: [forever] });
      await node.create('doomed', { containers: [forever] });
      await node.untilPhase('kept', 'Running');
      await node.untilPhase('doomed', 'Running');
      const before = (await node.pod('kept'))!.status.containerStatuses![0]!.containerID;
      await node.stop();
      await node.api.resource(pods).delete({ namespace: 'default', name: 'doomed' }, { gracePeriodSeconds: 0 });
      await node.start();
      await node.until('the forgotten pod is gone', async () => {
        const { items } = await node.cri.runtime.listPodSandbox({});
        return items.every(({ labels }) => labels['io.kubernetes.pod.name'] !== 'doomed');
      });
      const { status } = (await node.pod('kept'))!;
      assert.equal(status.containerStatuses![0]!.containerID, before);
      assert.equal(status.containerStatuses![0]!.restartCount, 0);
      await node.delete('kept');
    });

    test('what cannot be put together says why', async () => {
      await node.create('lost', {
        containers: [
          { ...forever, env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'absent', key: 'a' } } }] },
        ],
      });
      await node.create('imageless', {
        containers: [{ ...forever, image: 'k8ts.invalid/none:1', imagePullPolicy: 'Never' }],
      });
      const waiting = (pod: Frozen<Pod>) => pod.status?.containerStatuses?.[0]?.state?.waiting;
      await node.untilPod('lost', 'waits', (pod) => waiting(pod)?.reason === 'CreateContainerConfigError');
      assert.equal(waiting((await node.pod('lost'))!)?.message, 'configmap "absent" not found');
      await node.untilPod('imageless', 'waits', (pod) => waiting(pod)?.reason === 'ErrImageNeverPull');
      await node.api
        .resource(configMaps)
        .create({ metadata: { name: 'absent', namespace: 'default' }, data: { a: '1' } } as never);
      await node.untilPhase('lost', 'Running');
      await node.delete('lost');
      await node.delete('imageless');
    });

    test('a pod that is active for too long fails', async () => {
      await node.create('late', { activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 1, containers: [forever] });
      await node.untilPhase('late', 'Failed');
      assert.equal((await node.pod('late'))!.status.reason, 'DeadlineExceeded');
      await node.delete('late');
    });
  });
}

// Tests the status of pods in the stages of their life.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec, PodStatus } from '../../api/generated/core.v1.ts';
import type { RuntimeContainer, RuntimePod } from '../runtime/runtime-pod.ts';
import { planPod } from './plan.ts';
import type { PodMemory } from './pod-memory.ts';
import type { FrozenPod } from './pod-words.ts';
import { podStatus } from './status.ts';

const nowMs = Date.parse('2026-01-01T00:10:00Z');
const startedMs = nowMs - 60_000;

function container(
  name: string,
  state: RuntimeContainer['state'],
  rest: Partial<RuntimeContainer> = {},
): RuntimeContainer {
  return {
    id: `${name}-id`,
    name,
    sandboxId: 's',
    attempt: 0,
    state,
    createdAtMs: startedMs,
    startedAtMs: startedMs,
    finishedAtMs: state === 'exited' ? nowMs - 1000 : 0,
    exitCode: 0,
    reason: state === 'exited' ? 'Completed' : '',
    message: '',
    image: 'i',
    imageId: 'sha',
    hash: '',
    logPath: '',
    ...rest,
  };
}

interface Situation {
  readonly spec?: Partial<PodSpec>;
  readonly before?: PodStatus;
  readonly containers?: RuntimeContainer[];
  readonly hasSandbox?: boolean;
  readonly memory?: Partial<PodMemory>;
}

function statusOf({ spec, before, containers = [], hasSandbox = true, memory }: Situation): PodStatus {
  const pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u', generation: 3 },
    spec: { containers: [{ name: 'a', image: 'i' }], ...spec },
    status: before ?? {},
  } as unknown as FrozenPod;
  const runtime: RuntimePod = {
    uid: 'u',
    name: 'p',
    namespace: 'n',
    sandboxes: hasSandbox ? [{ id: 's', attempt: 0, ready: true, createdAtMs: startedMs, ips: ['10.0.0.1'] }] : [],
    containers,
  };
  const full: PodMemory = {
    startedAtMs: startedMs,
    prepared: true,
    tornDown: false,
    inFlight: new Set(),
    problems: new Map(),
    backoffs: new Map(),
    stoppedSandboxes: new Set(),
    applied: new Map(),
    probes: { started: () => true, ready: () => true, failed: () => undefined },
    ...memory,
  };
  const plan = planPod({ pod, runtime, memory: full, nowMs });
  return podStatus({ pod, runtime, memory: full, plan, hostIps: ['9.9.9.9'], nowMs });
}

const conditions = (status: PodStatus): Record<string, string> =>
  Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: is, reason }) => [type, reason ? `${is} ${reason}` : is]),
  );

test('waiting for its sandbox', () => {
  const status = statusOf({ hasSandbox: false });
  assert.equal(status.phase, 'Pending');
  assert.deepEqual(status.containerStatuses?.[0]?.state, { waiting: { reason: 'ContainerCreating' } });
  assert.equal(status.podIP, undefined);
  assert.equal(status.startTime, '2026-01-01T00:09:00Z');
  assert.deepEqual(conditions(status), {
    PodReadyToStartContainers: 'False',
    Initialized: 'True',
    Ready: 'False ContainersNotReady',
    ContainersReady: 'False ContainersNotReady',
    PodScheduled: 'True',
  });
});

test('running and ready', () => {
  const status = statusOf({ containers: [container('a', 'running')] });
  assert.deepEqual(
    [status.phase, status.podIP, status.hostIP, status.observedGeneration, status.qosClass],
    ['Running', '10.0.0.1', '9.9.9.9', 3, 'BestEffort'],
  );
  assert.deepEqual(
    [
      status.containerStatuses?.[0]?.ready,
      status.containerStatuses?.[0]?.started,
      status.containerStatuses?.[0]?.containerID,
    ],
    [true, true, 'containerd://a-id'],
  );
  assert.ok(Object.values(conditions(status)).every((each) => each === 'True'));
});

test('running and not ready', () => {
  const probes = { started: () => true, ready: () => false, failed: () => undefined };
  const status = statusOf({ containers: [container('a', 'running')], memory: { probes } });
  assert.equal(conditions(status)['Ready'], 'False ContainersNotReady');
  assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.message, 'containers with unready status: [a]');
});

test('readiness gates of others count', () => {
  const spec: Partial<PodSpec> = { readinessGates: [{ conditionType: 'lb' }] };
  const closed = statusOf({ spec, containers: [container('a', 'running')] });
  assert.equal(conditions(closed)['Ready'], 'False ReadinessGatesNotReady');
  assert.equal(conditions(closed)['ContainersReady'], 'True');
  const open = statusOf({
    spec,
    before: { conditions: [{ type: 'lb', status: 'True' }] },
    containers: [container('a', 'running')],
  });
  assert.equal(conditions(open)['Ready'], 'True');
  assert.equal(conditions(open)['lb'], 'True', "others' conditions are kept");
});

test('a transition time stays while the condition does', () => {
  const before: PodStatus = {
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z' }],
  };
  const time = (status: PodStatus) => status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  assert.equal(time(statusOf({ before, containers: [container('a', 'running')] })), '2020-01-01T00:00:00Z');
  assert.equal(time(statusOf({ before })), '2026-01-01T00:10:00Z');
});

test('initializing', () => {
  const spec: Partial<PodSpec> = { initContainers: [{ name: 'i1' } as Container, { name: 'i2' } as Container] };
  const status = statusOf({ spec, containers: [container('i1', 'exited'), container('i2', 'running')] });
  assert.equal(status.phase, 'Pending');
  assert.equal(
    status.conditions?.find(({ type }) => type === 'Initialized')?.message,
    'containers with incomplete status: [i2]',
  );
  assert.deepEqual(
    status.initContainerStatuses?.map(({ ready }) => ready),
    [true, false],
  );
  assert.deepEqual(status.containerStatuses?.[0]?.state, { waiting: { reason: 'PodInitializing' } });
});

test('in back-off, with the end before', () => {
  const status = statusOf({
    containers: [container('a', 'exited', { attempt: 4, exitCode: 2, reason: 'Error', message: 'bye' })],
    memory: { backoffs: new Map([['a', { delayMs: 40_000, startedMs: nowMs - 5000 }]]) },
  });
  const [only] = status.containerStatuses!;
  assert.equal(status.phase, 'Running');
  assert.equal(only!.restartCount, 4);
  assert.equal(only!.state?.waiting?.reason, 'CrashLoopBackOff');
  assert.deepEqual(only!.lastState?.terminated, {
    exitCode: 2,
    reason: 'Error',
    message: 'bye',
    startedAt: '2026-01-01T00:09:00Z',
    finishedAt: '2026-01-01T00:09:59Z',
    containerID: 'containerd://a-id',
  });
});

test('ends', () => {
  const spec: Partial<PodSpec> = { restartPolicy: 'Never' };
  const good = statusOf({ spec, containers: [container('a', 'exited')] });
  assert.equal(good.phase, 'Succeeded');
  assert.deepEqual(
    [conditions(good)['Ready'], conditions(good)['Initialized']],
    ['False PodCompleted', 'True PodCompleted'],
  );
  const bad = statusOf({ spec, containers: [container('a', 'exited', { exitCode: 1 })] });
  assert.deepEqual([bad.phase, conditions(bad)['Ready']], ['Failed', 'False PodFailed']);
  const still = statusOf({
    spec: { ...spec, initContainers: [{ name: 's', restartPolicy: 'Always' } as Container] },
    containers: [container('a', 'exited'), container('s', 'running')],
  });
  assert.equal(still.phase, 'Running', 'not before its sidecar has ended');
});

test('an end is for good, whatever the runtime has forgotten', () => {
  const ended = {
    name: 'a',
    state: { terminated: { exitCode: 0 } },
    ready: false,
    restartCount: 0,
    image: 'i',
    imageID: '',
  };
  const status = statusOf({
    before: { phase: 'Succeeded', containerStatuses: [ended] },
    hasSandbox: false,
    memory: { outcome: 'Succeeded' },
  });
  assert.equal(status.phase, 'Succeeded');
  assert.deepEqual(status.containerStatuses?.[0]?.state, { terminated: { exitCode: 0 } });
});

test('what ran and is unknown to the runtime was lost', () => {
  const ran = { name: 'a', state: { running: {} }, ready: true, restartCount: 1, image: 'i', imageID: '' };
  const status = statusOf({ before: { phase: 'Running', containerStatuses: [ran] }, hasSandbox: false });
  assert.equal(status.containerStatuses?.[0]?.state?.terminated?.reason, 'ContainerStatusUnknown');
});

test('an eviction says why', () => {
  const status = statusOf({
    containers: [container('a', 'exited', { exitCode: 137 })],
    memory: {
      stop: { reason: 'evicted', graceSeconds: 0, sinceMs: nowMs, statusReason: 'Evicted', message: 'low on memory' },
    },
  });
  assert.deepEqual([status.phase, status.reason, status.message], ['Failed', 'Evicted', 'low on memory']);
});

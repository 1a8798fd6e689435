// Tests the pod worker's decisions: what a pod in each situation does next.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container, PodSpec } from '../../api/generated/core.v1.ts';
import type { RuntimeContainer, RuntimePod, RuntimeSandbox } from '../runtime/runtime-pod.ts';
import { actionKey, outcomeOf, planPod } from './plan.ts';
import { firstBackoffMs, maxBackoffMs, nextBackoff, type PodMemory, type Stop } from './pod-memory.ts';
import { containerHash, type FrozenPod } from './pod-words.ts';

const nowMs = 1_000_000;

function podOf(spec: Partial<PodSpec>, metadata: object = {}): FrozenPod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '', ...metadata },
    spec: { containers: [{ name: 'a', image: 'i' }], ...spec },
    status: {},
  } as FrozenPod;
}

const sandbox: RuntimeSandbox = { id: 's', attempt: 0, ready: true, createdAtMs: 1, ips: ['10.0.0.1'] };

function containerOf(
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
    createdAtMs: 1,
    startedAtMs: 2,
    finishedAtMs: state === 'exited' ? nowMs - 1000 : 0,
    exitCode: 0,
    reason: '',
    message: '',
    image: 'i',
    imageId: 'sha',
    hash: '',
    logPath: '',
    ...rest,
  };
}

function runtimeOf(containers: RuntimeContainer[] = [], sandboxes: RuntimeSandbox[] = [sandbox]): RuntimePod {
  return { uid: 'u', name: 'p', namespace: 'n', sandboxes, containers };
}

function memoryOf(rest: Partial<PodMemory> = {}): PodMemory {
  return {
    startedAtMs: nowMs - 60_000,
    prepared: true,
    tornDown: false,
    inFlight: new Set(),
    problems: new Map(),
    backoffs: new Map(),
    stoppedSandboxes: new Set(),
    applied: new Map(),
    probes: { started: () => true, ready: () => true, failed: () => undefined },
    ...rest,
  };
}

const deleted: Stop = { reason: 'deleted', graceSeconds: 30, sinceMs: nowMs };
const sidecar = { name: 'side', image: 'i', restartPolicy: 'Always' } as Container;
const init = { name: 'init', image: 'i' } as Container;
const stopped = { ...sandbox, ready: false };

interface Case {
  readonly name: string;
  readonly spec?: Partial<PodSpec>;
  readonly runtime?: RuntimePod;
  readonly memory?: Partial<PodMemory>;
  /** Action keys, in order. */
  readonly does: readonly string[];
}

const cases: readonly Case[] = [
  { name: 'first prepares', runtime: runtimeOf([], []), memory: { prepared: false }, does: ['prepare'] },
  { name: 'then makes a sandbox', runtime: runtimeOf([], []), does: ['createSandbox'] },
  { name: 'then starts', does: ['start a'] },
  { name: 'does not start twice', memory: { inFlight: new Set(['start a']) }, does: [] },
  { name: 'starts one after the other', spec: { containers: [{ name: 'a' }, { name: 'b' }] }, does: ['start a'] },
  {
    name: 'starts the next',
    spec: { containers: [{ name: 'a' }, { name: 'b' }] },
    runtime: runtimeOf([containerOf('a', 'running')]),
    does: ['start b'],
  },
  { name: 'lets run', runtime: runtimeOf([containerOf('a', 'running')]), does: [] },
  { name: 'restarts what ended, by Always', runtime: runtimeOf([containerOf('a', 'exited')]), does: ['start a'] },
  {
    name: 'not what succeeded, by OnFailure: stops its sandbox',
    spec: { restartPolicy: 'OnFailure' },
    runtime: runtimeOf([containerOf('a', 'exited')]),
    does: ['stopSandbox s'],
  },
  {
    name: 'but what failed, by OnFailure',
    spec: { restartPolicy: 'OnFailure' },
    runtime: runtimeOf([containerOf('a', 'exited', { exitCode: 1 })]),
    does: ['start a'],
  },
  {
    name: "a container's own rule restarts in a Never pod",
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'a',
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
        },
      ],
    },
    runtime: runtimeOf([containerOf('a', 'exited', { exitCode: 42 })]),
    does: ['start a'],
  },
  {
    name: 'is held back while in back-off',
    runtime: runtimeOf([containerOf('a', 'exited')]),
    memory: { backoffs: new Map([['a', { delayMs: 10_000, startedMs: nowMs - 2000 }]]) },
    does: [],
  },
  { name: 'init first', spec: { initContainers: [init] }, does: ['start init'] },
  {
    name: 'main after init',
    spec: { initContainers: [init] },
    runtime: runtimeOf([containerOf('init', 'exited')]),
    does: ['start a'],
  },
  {
    name: 'a failed init is tried again',
    spec: { initContainers: [init] },
    runtime: runtimeOf([containerOf('init', 'exited', { exitCode: 1 })]),
    does: ['start init'],
  },
  {
    name: 'a failed init ends a Never pod',
    spec: { initContainers: [init], restartPolicy: 'Never' },
    runtime: runtimeOf([containerOf('init', 'exited', { exitCode: 1 })]),
    does: ['stopSandbox s'],
  },
  {
    name: 'init is not waited for again once main containers were there',
    spec: { initContainers: [init] },
    runtime: runtimeOf([containerOf('a', 'exited')]),
    does: ['start a'],
  },
  {
    name: 'a sidecar that has not started holds main back',
    spec: { initContainers: [sidecar] },
    runtime: runtimeOf([containerOf('side', 'running')]),
    memory: { probes: { started: () => false, ready: () => false, failed: () => undefined } },
    does: [],
  },
  {
    name: 'a sidecar that ended is restarted beside main',
    spec: { initContainers: [sidecar] },
    runtime: runtimeOf([containerOf('a', 'running'), containerOf('side', 'exited')]),
    does: ['start side'],
  },
  {
    name: 'kills for a failed liveness probe',
    runtime: runtimeOf([containerOf('a', 'running')]),
    memory: { probes: { started: () => true, ready: () => true, failed: () => 'liveness' } },
    does: ['kill a-id'],
  },
  {
    name: 'kills for a changed image',
    runtime: runtimeOf([containerOf('a', 'running', { hash: 'other' })]),
    does: ['kill a-id'],
  },
  {
    name: 'not for the same image',
    runtime: runtimeOf([containerOf('a', 'running', { hash: containerHash({ name: 'a', image: 'i' }) })]),
    does: [],
  },
  {
    name: 'a lost sandbox: the living are killed first',
    runtime: runtimeOf([containerOf('a', 'running')], [stopped]),
    does: ['kill a-id', 'stopSandbox s'],
  },
  {
    name: 'a lost sandbox: then a new one',
    runtime: runtimeOf([containerOf('a', 'exited')], [stopped]),
    memory: { stoppedSandboxes: new Set(['s']) },
    does: ['createSandbox'],
  },
  {
    name: 'in a new sandbox init runs again',
    spec: { initContainers: [init] },
    runtime: runtimeOf(
      [containerOf('init', 'exited'), containerOf('a', 'exited')],
      [{ ...sandbox, id: 's2', attempt: 1, createdAtMs: 5 }, stopped],
    ),
    memory: { stoppedSandboxes: new Set(['s']) },
    does: ['start init'],
  },
  {
    name: 'resizes in place',
    spec: { containers: [{ name: 'a', image: 'i', resources: { limits: { memory: '2Gi' } } }] },
    runtime: runtimeOf([containerOf('a', 'running')]),
    memory: { applied: new Map([['a-id', '{"memory":[null,"1Gi"]}']]) },
    does: ['resize a-id'],
  },
  {
    name: 'resizes by restart where the policy says so',
    spec: {
      containers: [
        {
          name: 'a',
          image: 'i',
          resources: { limits: { memory: '2Gi' } },
          resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
        },
      ],
    },
    runtime: runtimeOf([containerOf('a', 'running')]),
    memory: { applied: new Map([['a-id', '{"memory":[null,"1Gi"]}']]) },
    does: ['kill a-id'],
  },
  {
    name: 'deletion kills',
    runtime: runtimeOf([containerOf('a', 'running')]),
    memory: { stop: deleted },
    does: ['kill a-id'],
  },
  {
    name: 'deletion: sidecars after main, in reverse',
    spec: { initContainers: [sidecar, { ...sidecar, name: 'side2' }] },
    runtime: runtimeOf([containerOf('a', 'exited'), containerOf('side2', 'running'), containerOf('side', 'running')]),
    memory: { stop: deleted },
    does: ['kill side2-id'],
  },
  {
    name: 'deletion: then the sandbox',
    runtime: runtimeOf([containerOf('a', 'exited')]),
    memory: { stop: deleted },
    does: ['stopSandbox s'],
  },
  {
    name: 'deletion waits for a start that is called off',
    memory: { stop: deleted, inFlight: new Set(['start a']) },
    does: [],
  },
  {
    name: 'deletion: then volumes',
    runtime: runtimeOf([containerOf('a', 'exited')], [stopped]),
    memory: { stop: deleted, stoppedSandboxes: new Set(['s']) },
    does: ['teardown'],
  },
  {
    name: 'deletion: then the API',
    runtime: runtimeOf([containerOf('a', 'exited')], [stopped]),
    memory: { stop: deleted, stoppedSandboxes: new Set(['s']), tornDown: true },
    does: ['finish'],
  },
  { name: 'deletion of what never started', runtime: runtimeOf([], []), memory: { stop: deleted }, does: ['teardown'] },
  {
    name: 'an eviction keeps the API object',
    runtime: runtimeOf([containerOf('a', 'exited')], [stopped]),
    memory: { stop: { ...deleted, reason: 'evicted' }, stoppedSandboxes: new Set(['s']), tornDown: true },
    does: [],
  },
  {
    name: 'old instances are removed, the last two kept',
    runtime: runtimeOf([
      containerOf('a', 'running', { attempt: 3 }),
      containerOf('a', 'exited', { id: 'a2', attempt: 2 }),
      containerOf('a', 'exited', { id: 'a1', attempt: 1 }),
    ]),
    does: ['removeContainer a1'],
  },
];

describe('planPod', () => {
  for (const { name, spec, runtime, memory, does } of cases)
    test(name, () => {
      const plan = planPod({
        pod: podOf(spec ?? {}),
        runtime: runtime ?? runtimeOf(),
        memory: memoryOf(memory),
        nowMs,
      });
      assert.deepEqual(plan.actions.map(actionKey), does);
    });

  test('says why it waits, and when it goes on', () => {
    const plan = planPod({
      pod: podOf({}),
      runtime: runtimeOf([containerOf('a', 'exited')]),
      memory: memoryOf({ backoffs: new Map([['a', { delayMs: 80_000, startedMs: nowMs - 2000 }]]) }),
      nowMs,
    });
    assert.deepEqual(plan.waiting.get('a'), {
      reason: 'CrashLoopBackOff',
      message: 'back-off 1m20s restarting failed container=a pod=p_n(u)',
    });
    assert.equal(plan.wakeAtMs, nowMs - 1000 + 80_000);
  });

  test('a failed step is held back for its time', () => {
    const problem = { delayMs: 1000, untilMs: nowMs + 500, shown: () => ({ reason: 'ErrImagePull', message: 'm' }) };
    const input = {
      pod: podOf({}),
      runtime: runtimeOf(),
      memory: memoryOf({ problems: new Map([['start a', problem]]) }),
    };
    const held = planPod({ ...input, nowMs });
    assert.deepEqual(held.actions, []);
    assert.equal(held.wakeAtMs, nowMs + 500);
    assert.equal(held.waiting.get('a')?.reason, 'ErrImagePull');
    assert.deepEqual(planPod({ ...input, nowMs: nowMs + 500 }).actions.map(actionKey), ['start a']);
  });

  test('the grace period is what is left of it', () => {
    const plan = planPod({
      pod: podOf({}),
      runtime: runtimeOf([containerOf('a', 'running')]),
      memory: memoryOf({ stop: { ...deleted, sinceMs: nowMs - 20_000 } }),
      nowMs,
    });
    assert.deepEqual(plan.actions, [{ do: 'kill', id: 'a-id', name: 'a', graceMs: 10_000, reason: 'deleted' }]);
  });
});

test('the outcome is that of all containers', () => {
  const memory = memoryOf();
  const spec: Partial<PodSpec> = { restartPolicy: 'Never', containers: [{ name: 'a' }, { name: 'b' }] };
  const outcome = (...containers: RuntimeContainer[]) =>
    outcomeOf({ pod: podOf(spec), runtime: runtimeOf(containers), memory });
  assert.deepEqual(outcome(containerOf('a', 'exited')), { isOver: false, succeeded: false });
  assert.deepEqual(outcome(containerOf('a', 'exited'), containerOf('b', 'exited')), { isOver: true, succeeded: true });
  assert.deepEqual(outcome(containerOf('a', 'exited'), containerOf('b', 'exited', { exitCode: 1 })), {
    isOver: true,
    succeeded: false,
  });
});

test('back-off doubles to its maximum and begins anew after a quiet time', () => {
  let backoff = nextBackoff(undefined, 0);
  assert.equal(backoff.delayMs, firstBackoffMs);
  for (let round = 0; round < 10; round++) backoff = nextBackoff(backoff, backoff.startedMs + 1000);
  assert.equal(backoff.delayMs, maxBackoffMs);
  assert.equal(nextBackoff(backoff, backoff.startedMs + 2 * maxBackoffMs + 1).delayMs, firstBackoffMs);
});

// Owns what a simulated pod looks like at a moment: the runtime's picture that a real node would have. Pure.
import { createHash } from 'node:crypto';
import type { PodStatus } from '../../api/generated/core.v1.ts';
import type { PodMemory } from '../pod/pod-memory.ts';
import { containerHash, type FrozenContainer, type FrozenPod, initContainersOf, isSidecar } from '../pod/pod-words.ts';
import { podStatus } from '../pod/status.ts';
import type { RuntimeContainer, RuntimePod } from '../runtime/runtime-pod.ts';

/** How long a simulated pod's containers run before they end, in seconds. Absent: for ever, or no time at all for a Job's pod. */
export const durationAnnotation = 'simulation.k8ts.io/duration-seconds';
/** With which code they then end. Default 0. */
export const exitCodeAnnotation = 'simulation.k8ts.io/exit-code';
/** How long the pod takes to start, in seconds, instead of the node's own time. */
const startAnnotation = 'simulation.k8ts.io/start-seconds';

export type Stage = 'waiting' | 'running' | 'ended';

export interface SimulatedTimes {
  readonly startMs: number;
  /** Undefined: the containers do not end by themselves. */
  readonly durationMs?: number;
  readonly exitCode: number;
}

export function simulatedTimes(pod: FrozenPod, startMs: number, jobMs: number): SimulatedTimes {
  const seconds = (name: string): number | undefined => {
    const value = Number(pod.metadata.annotations?.[name] ?? Number.NaN);
    return Number.isFinite(value) && value >= 0 ? value * 1000 : undefined;
  };
  const isFinite = (pod.spec.restartPolicy ?? 'Always') !== 'Always';
  const duration = isFinite ? (seconds(durationAnnotation) ?? jobMs) : undefined;
  return {
    startMs: seconds(startAnnotation) ?? startMs,
    ...(duration !== undefined && { durationMs: duration }),
    exitCode: Number(pod.metadata.annotations?.[exitCodeAnnotation] ?? 0) & 0xff,
  };
}

export interface SimulatedMoment {
  readonly stage: Stage;
  readonly ip: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly exitCode: number;
  readonly isDeleted: boolean;
  readonly hostIp: string;
  readonly nowMs: number;
}

const nobody: PodMemory['probes'] = { started: () => true, ready: () => true, failed: () => undefined };

/** The status that a kubelet would write: made by the same function as on a real node. */
export function simulatedStatus(pod: FrozenPod, moment: SimulatedMoment): PodStatus {
  const runtime = simulatedRuntime(pod, moment);
  return podStatus({
    pod,
    runtime,
    memory: {
      startedAtMs: moment.startedMs,
      prepared: true,
      tornDown: moment.isDeleted,
      ...(moment.isDeleted && { stop: { reason: 'deleted' as const, graceSeconds: 0, sinceMs: moment.nowMs } }),
      inFlight: new Set(),
      problems: new Map(),
      backoffs: new Map(),
      stoppedSandboxes: new Set(),
      probes: nobody,
      applied: new Map(),
    },
    plan: {
      actions: [],
      waiting: new Map(),
      isOver: moment.stage === 'ended',
      initialized: moment.stage !== 'waiting',
    },
    hostIps: [moment.hostIp],
    nowMs: moment.nowMs,
  });
}

function simulatedRuntime(pod: FrozenPod, moment: SimulatedMoment): RuntimePod {
  const { uid, name, namespace = '' } = pod.metadata;
  if (moment.stage === 'waiting') return { uid, name, namespace, sandboxes: [], containers: [] };
  const inits = initContainersOf(pod);
  return {
    uid,
    name,
    namespace,
    sandboxes: [
      {
        id: idOf(uid, 'sandbox'),
        attempt: 0,
        ready: moment.stage === 'running',
        createdAtMs: moment.startedMs,
        ips: pod.spec.hostNetwork ? [] : [moment.ip],
      },
    ],
    containers: [
      ...pod.spec.containers.map((each) => container(pod, each, moment, moment.stage === 'ended', moment.exitCode)),
      ...inits.map((each) =>
        isSidecar(each)
          ? container(pod, each, moment, moment.stage === 'ended', 0)
          : container(pod, each, { ...moment, endedMs: moment.startedMs }, true, 0),
      ),
    ],
  };
}

function container(
  pod: FrozenPod,
  spec: FrozenContainer,
  moment: SimulatedMoment,
  hasEnded: boolean,
  exitCode: number,
): RuntimeContainer {
  return {
    id: idOf(pod.metadata.uid, spec.name),
    name: spec.name,
    sandboxId: idOf(pod.metadata.uid, 'sandbox'),
    attempt: 0,
    state: hasEnded ? 'exited' : 'running',
    createdAtMs: moment.startedMs,
    startedAtMs: moment.startedMs,
    finishedAtMs: hasEnded ? moment.endedMs : 0,
    exitCode: hasEnded ? exitCode : 0,
    reason: hasEnded ? (exitCode === 0 ? 'Completed' : 'Error') : '',
    message: '',
    image: spec.image ?? '',
    imageId: `sha256:${createHash('sha256')
      .update(spec.image ?? '')
      .digest('hex')}`,
    hash: containerHash(spec),
    logPath: '',
  };
}

function idOf(uid: string, name: string): string {
  return createHash('sha256').update(`${uid} ${name}`).digest('hex');
}

// Owns the making of a pod's status from spec, runtime and plan. Pure: equal inputs give equal statuses.
import type {
  ContainerState,
  ContainerStatus,
  PodCondition,
  PodStatus,
  ResourceRequirements,
  VolumeMountStatus,
} from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { thaw } from '../../api/meta.ts';
import { timeOf } from '../../api/time.ts';
import { newest, type RuntimeContainer, type RuntimePod } from '../runtime/runtime-pod.ts';
import { currentSandbox, outcomeOf, type Plan } from './plan.ts';
import type { PodMemory } from './pod-memory.ts';
import {
  allContainersOf,
  ephemeralContainersOf,
  type FrozenContainer,
  type FrozenPod,
  initContainersOf,
  isSidecar,
  restartsAfter,
} from './pod-words.ts';
import { qosClassOf } from '../../api/judge/pod-qos.ts';

export interface StatusInput {
  readonly pod: FrozenPod;
  readonly runtime: RuntimePod;
  readonly memory: PodMemory;
  readonly plan: Plan;
  readonly hostIps: readonly string[];
  readonly nowMs: number;
}

type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** The whole status as this kubelet sees it; conditions of others in the pod's present status are kept. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, memory, hostIps } = input;
  const before = pod.status;
  const phase = podPhase(input);
  const inits = initContainersOf(pod);
  const initContainerStatuses = inits.map((each) => containerStatus(input, each, true));
  const containerStatuses = pod.spec.containers.map((each) => containerStatus(input, each, false));
  const ephemeral = ephemeralContainersOf(pod).map((each) => containerStatus(input, each, false));
  const ips = podIps(input);
  const stop = memory.stop;
  return {
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    phase,
    conditions: conditions(input, phase, [...initContainerStatuses, ...containerStatuses]),
    ...(stop?.statusReason !== undefined
      ? { reason: stop.statusReason, message: stop.message ?? '' }
      : before?.phase === 'Failed' &&
        before.reason !== undefined && { reason: before.reason, message: before.message ?? '' }),
    ...(hostIps.length > 0 && { hostIP: hostIps[0]!, hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips.length > 0 && { podIP: ips[0]!, podIPs: ips.map((ip) => ({ ip })) }),
    startTime: before?.startTime ?? timeOf(memory.startedAtMs),
    ...(inits.length > 0 && { initContainerStatuses }),
    containerStatuses,
    qosClass: before?.qosClass ?? qosClassOf(pod.spec),
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
  };
}

function podIps({ pod, runtime, hostIps }: StatusInput): readonly string[] {
  if (pod.spec.hostNetwork) return runtime.sandboxes.length > 0 || pod.status?.podIP !== undefined ? hostIps : [];
  const current = currentSandbox(runtime)?.ips ?? [];
  return current.length > 0 ? current : (pod.status?.podIPs?.map(({ ip }) => ip ?? '') ?? []);
}

/** A terminal phase is never left (API documentation, "Pod phase"). */
function podPhase({ pod, runtime, memory, plan }: StatusInput): Phase {
  const before = pod.status?.phase;
  if (before === 'Succeeded' || before === 'Failed') return before;
  const outcome = outcomeOf({ pod, runtime, memory });
  const isRunning = runtime.containers.some(({ state }) => state === 'running' || state === 'created');
  // Sidecars may still be running down: the pod is not over before they are.
  if (outcome.isOver && !isRunning) return outcome.succeeded ? 'Succeeded' : 'Failed';
  if (memory.stop !== undefined && !isRunning) {
    const wasDeleted = memory.stop.reason === 'deleted';
    // A deleted pod whose containers all ended will not run again, whatever its restart policy.
    if (!wasDeleted || memory.tornDown) return deletedPhase(pod, runtime, wasDeleted);
  }
  const hasStarted = pod.spec.containers.some(({ name }) => (newest(runtime, name)?.startedAtMs ?? 0) > 0);
  const allKnown = pod.spec.containers.every(({ name }) => newest(runtime, name) !== undefined);
  if (plan.initialized && hasStarted && (allKnown || before === 'Running')) return 'Running';
  return before === 'Running' && hasStarted ? 'Running' : 'Pending';
}

function deletedPhase(pod: FrozenPod, runtime: RuntimePod, wasDeleted: boolean): Phase {
  if (!wasDeleted) return 'Failed';
  const ended = pod.spec.containers.map(({ name }) => newest(runtime, name));
  return ended.length > 0 && ended.every((each) => each?.state === 'exited' && each.exitCode === 0)
    ? 'Succeeded'
    : 'Failed';
}

function containerStatus(input: StatusInput, container: FrozenContainer, isInit: boolean): ContainerStatus {
  const { pod, runtime, memory } = input;
  const before = statusBefore(pod, container.name);
  const instances = runtime.containers.filter(({ name }) => name === container.name);
  const [last, previous] = instances;
  const states = containerStates(input, container, isInit, last, previous, before);
  const isRunning = states.state.running !== undefined;
  const started = isRunning && last !== undefined && memory.probes.started(last.id);
  const ready =
    isInit && !isSidecar(container)
      ? states.state.terminated?.exitCode === 0
      : started && memory.probes.ready(last?.id ?? '');
  const requests = container.resources?.requests;
  return {
    name: container.name,
    state: states.state,
    lastState: states.lastState,
    ready,
    restartCount: last?.attempt ?? before?.restartCount ?? 0,
    image: last?.image || before?.image || (container.image ?? ''),
    imageID: last?.imageId ?? before?.imageID ?? '',
    ...((last?.id ?? before?.containerID) !== undefined && {
      containerID: last ? `containerd://${last.id}` : before!.containerID!,
    }),
    started,
    ...(requests && Object.keys(requests).length > 0 && { allocatedResources: thaw(requests) }),
    resources: thaw<ResourceRequirements>(container.resources ?? {}),
    ...((container.volumeMounts?.length ?? 0) > 0 && { volumeMounts: mountStatuses(container) }),
    ...(last?.user && {
      user: {
        linux: {
          uid: last.user.uid,
          gid: last.user.gid,
          ...(last.user.supplementalGroups.length > 0 && { supplementalGroups: [...last.user.supplementalGroups] }),
        },
      },
    }),
  };
}

function mountStatuses(container: FrozenContainer): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly && { readOnly: true, recursiveReadOnly: 'Disabled' }),
  }));
}

function statusBefore(pod: FrozenPod, name: string): Frozen<ContainerStatus> | undefined {
  const { status } = pod;
  return [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((each) => each.name === name);
}

function containerStates(
  input: StatusInput,
  container: FrozenContainer,
  isInit: boolean,
  last: RuntimeContainer | undefined,
  previous: RuntimeContainer | undefined,
  before: Frozen<ContainerStatus> | undefined,
): { state: ContainerState; lastState: ContainerState } {
  const { pod, memory, plan } = input;
  const older: ContainerState = previous?.state === 'exited' ? terminated(previous) : thaw(before?.lastState ?? {});
  if (last === undefined) {
    if (before?.state?.terminated) return { state: thaw(before.state), lastState: thaw(before.lastState ?? {}) };
    if (before?.state?.running) return { state: lost(before), lastState: thaw(before.lastState ?? {}) };
    return { state: { waiting: waitingOf(input, container.name) }, lastState: {} };
  }
  if (last.state === 'running')
    return { state: { running: { startedAt: timeOf(last.startedAtMs) } }, lastState: older };
  if (last.state === 'created' || last.state === 'unknown') {
    const problem = plan.waiting.get(container.name);
    return { state: { waiting: problem ? waitingState(problem) : { reason: 'ContainerCreating' } }, lastState: older };
  }
  const waits = plan.waiting.get(container.name);
  const restarts = memory.stop === undefined && restartsAfter(pod, container, last.exitCode, isInit);
  if (waits && restarts) return { state: { waiting: waitingState(waits) }, lastState: terminated(last) };
  return { state: terminated(last), lastState: older };
}

/** The API server says that it ran, the runtime does not know it any more. */
function lost(before: Frozen<ContainerStatus>): ContainerState {
  return {
    terminated: {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
      ...(before.containerID !== undefined && { containerID: before.containerID }),
    },
  };
}

function waitingOf({ pod, plan }: StatusInput, name: string): NonNullable<ContainerState['waiting']> {
  const known = plan.waiting.get(name);
  if (known) return waitingState(known);
  const isMain = pod.spec.containers.some((each) => each.name === name);
  const waitsForInit = initContainersOf(pod).length > 0 && (isMain ? !plan.initialized : true);
  return { reason: waitsForInit ? 'PodInitializing' : 'ContainerCreating' };
}

function waitingState({ reason, message }: { readonly reason: string; readonly message: string }): {
  reason: string;
  message?: string;
} {
  return { reason, ...(message !== '' && { message }) };
}

function terminated(container: RuntimeContainer): ContainerState {
  return {
    terminated: {
      exitCode: container.exitCode,
      ...(container.reason !== '' && { reason: container.reason }),
      ...(container.message !== '' && { message: container.message }),
      startedAt: container.startedAtMs > 0 ? timeOf(container.startedAtMs) : timeOf(container.createdAtMs),
      finishedAt: timeOf(container.finishedAtMs),
      containerID: `containerd://${container.id}`,
    },
  };
}

type Judged = Omit<PodCondition, 'lastTransitionTime' | 'lastProbeTime'>;

const yes = (type: string): Judged => ({ type, status: 'True' });
const no = (type: string, reason: string, message = ''): Judged => ({
  type,
  status: 'False',
  reason,
  ...(message !== '' && { message }),
});

function conditions(input: StatusInput, phase: Phase, statuses: readonly ContainerStatus[]): PodCondition[] {
  const { pod, runtime, plan, nowMs } = input;
  const before = pod.status?.conditions ?? [];
  const sandboxReady = currentSandbox(runtime) !== undefined;
  const containersReady = containersReadyCondition(pod, phase, statuses);
  const judged: Judged[] = [
    sandboxReady && phase !== 'Succeeded' && phase !== 'Failed'
      ? yes('PodReadyToStartContainers')
      : { type: 'PodReadyToStartContainers', status: 'False' },
    initializedCondition(pod, phase, plan, statuses),
    readyCondition(pod, containersReady),
    containersReady,
    yes('PodScheduled'),
  ];
  const own = judged.map((condition): PodCondition => {
    const old = before.find(({ type }) => type === condition.type);
    const time = old?.status === condition.status ? old.lastTransitionTime : undefined;
    return {
      type: condition.type,
      ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
      status: condition.status,
      lastTransitionTime: time ?? timeOf(nowMs),
      ...(condition.reason !== undefined && { reason: condition.reason }),
      ...(condition.message !== undefined && { message: condition.message }),
    };
  });
  const others = before.filter(({ type }) => !own.some((condition) => condition.type === type));
  return [...own, ...others.map((condition) => thaw(condition))];
}

function initializedCondition(pod: FrozenPod, phase: Phase, plan: Plan, statuses: readonly ContainerStatus[]): Judged {
  if (phase === 'Succeeded') return { ...yes('Initialized'), reason: 'PodCompleted' };
  if (plan.initialized) return yes('Initialized');
  const names = initContainersOf(pod)
    .filter((container) => {
      const status = statuses.find(({ name }) => name === container.name);
      return isSidecar(container) ? !status?.started : !status?.ready;
    })
    .map(({ name }) => name);
  return no('Initialized', 'ContainersNotInitialized', `containers with incomplete status: [${names.join(' ')}]`);
}

function containersReadyCondition(pod: FrozenPod, phase: Phase, statuses: readonly ContainerStatus[]): Judged {
  if (phase === 'Succeeded') return no('ContainersReady', 'PodCompleted');
  if (phase === 'Failed') return no('ContainersReady', 'PodFailed');
  const unready = allContainersOf(pod)
    .filter((container) => {
      const isMain = pod.spec.containers.includes(container);
      return (isMain || isSidecar(container)) && !statuses.find(({ name }) => name === container.name)?.ready;
    })
    .map(({ name }) => name);
  return unready.length === 0
    ? yes('ContainersReady')
    : no('ContainersReady', 'ContainersNotReady', `containers with unready status: [${unready.join(' ')}]`);
}

function readyCondition(pod: FrozenPod, containersReady: Judged): Judged {
  if (containersReady.status !== 'True') return { ...containersReady, type: 'Ready' };
  const missing = (pod.spec.readinessGates ?? []).filter(
    ({ conditionType }) => pod.status?.conditions?.find(({ type }) => type === conditionType)?.status !== 'True',
  );
  if (missing.length === 0) return yes('Ready');
  const words = missing.map(({ conditionType }) => {
    const found = pod.status?.conditions?.some(({ type }) => type === conditionType);
    return found
      ? `the status of pod readiness gate "${conditionType}" is not "True", but False`
      : `corresponding condition of pod readiness gate "${conditionType}" does not exist.`;
  });
  return no('Ready', 'ReadinessGatesNotReady', words.join(', '));
}

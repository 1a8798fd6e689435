// Owns the node's own refusal of pods that cannot run here: placed by hand, or by a scheduler that knew less. Pure.
import { type FrozenPod, initContainersOf } from './pod/pod-words.ts';
import { podSums } from './pod/qos.ts';
import { amount, milliAmount } from './pod/quantities.ts';

export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

const isOver = (pod: FrozenPod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

export function refusal(
  pod: FrozenPod,
  others: readonly FrozenPod[],
  allocatable: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): Refusal | undefined {
  const active = others.filter((each) => !isOver(each));
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {}))
    if (labels[key] !== value)
      return {
        reason: 'NodeAffinity',
        message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
      };
  const ports = new Set(active.flatMap(hostPorts));
  const clash = hostPorts(pod).find((port) => ports.has(port));
  if (clash !== undefined)
    return {
      reason: 'NodePorts',
      message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    };
  const maxPods = amount(allocatable['pods']);
  if (active.length + 1 > maxPods) return outOf('pods', 1, active.length, maxPods);
  const sums = active.map(podSums);
  const wanted = podSums(pod);
  const cpu = sums.reduce((total, { cpuMilli }) => total + cpuMilli, 0);
  const cpuCapacity = milliAmount(allocatable['cpu']);
  if (wanted.cpuMilli > 0 && cpu + wanted.cpuMilli > cpuCapacity)
    return outOf('cpu', wanted.cpuMilli, cpu, cpuCapacity);
  const memory = sums.reduce((total, { memoryBytes }) => total + memoryBytes, 0);
  const memoryCapacity = amount(allocatable['memory']);
  if (wanted.memoryBytes > 0 && memory + wanted.memoryBytes > memoryCapacity)
    return outOf('memory', wanted.memoryBytes, memory, memoryCapacity);
  return undefined;
}

function outOf(resource: string, requested: number, used: number, capacity: number): Refusal {
  return {
    reason: `OutOf${resource}`,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}

function hostPorts(pod: FrozenPod): string[] {
  return [
    ...initContainersOf(pod).filter(({ restartPolicy }) => restartPolicy === 'Always'),
    ...pod.spec.containers,
  ].flatMap(({ ports }) =>
    (ports ?? [])
      .map((port) => (pod.spec.hostNetwork ? { ...port, hostPort: port.containerPort } : port))
      .filter(({ hostPort }) => (hostPort ?? 0) > 0)
      .map(({ hostPort, protocol, hostIP }) => `${hostIP ?? ''}/${protocol ?? 'TCP'}/${hostPort}`),
  );
}

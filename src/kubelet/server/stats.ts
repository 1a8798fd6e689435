// Owns the figures of what node, pods and containers use: /stats/summary and /metrics/resource.
import { readFileSync } from 'node:fs';
import type { ContainerStats } from '../../wire/generated/cri-runtime-v1.ts';
import type { NodeContext } from '../pod/node-context.ts';
import type { FrozenPod } from '../pod/pod-words.ts';
import { runtimeLabels } from '../runtime/runtime-pod.ts';

interface Usage {
  readonly cpuNanoseconds: number;
  readonly memoryBytes: number;
  readonly workingSetBytes: number;
  readonly atMs: number;
}

interface ContainerUsage extends Usage {
  readonly podUid: string;
  readonly pod: string;
  readonly namespace: string;
  readonly name: string;
}

async function containerUsages(node: NodeContext): Promise<ContainerUsage[]> {
  const { stats } = await node.cri.runtime.listContainerStats({}, { timeoutMs: 10_000 });
  return stats.map((each) => ({ ...usageOf(each, node), ...ownerOf(each) }));
}

function ownerOf({ attributes }: ContainerStats): Omit<ContainerUsage, keyof Usage> {
  const labels = attributes?.labels ?? {};
  return {
    podUid: labels[runtimeLabels.podUid] ?? '',
    pod: labels[runtimeLabels.podName] ?? '',
    namespace: labels[runtimeLabels.podNamespace] ?? '',
    name: labels[runtimeLabels.containerName] ?? '',
  };
}

function usageOf({ cpu, memory }: ContainerStats, node: NodeContext): Usage {
  const workingSet = Number(memory?.workingSetBytes?.value ?? 0n);
  return {
    cpuNanoseconds: Number(cpu?.usageCoreNanoSeconds?.value ?? 0n),
    memoryBytes: Number(memory?.usageBytes?.value ?? 0n) || workingSet,
    workingSetBytes: workingSet,
    atMs: cpu ? Number(cpu.timestamp / 1_000_000n) : node.clock.now(),
  };
}

/** Of the whole machine, from /proc. */
function nodeUsage(node: NodeContext): Usage {
  const cpu = /^cpu\s+(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]?.split(' ').map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = cpu;
  const memory = readFileSync('/proc/meminfo', 'utf8');
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
  return {
    // Ticks of a hundredth of a second.
    cpuNanoseconds: (user + nice + system + irq + softirq) * 1e7,
    memoryBytes: (kib('MemTotal') - kib('MemFree')) * 1024,
    workingSetBytes: Math.max(0, kib('MemTotal') - kib('MemAvailable')) * 1024,
    atMs: node.clock.now(),
  };
}

export interface RateMemory {
  readonly cpuNanoseconds: number;
  readonly atMs: number;
}

/** Keeps the last look at each thing, by which rates are told. Bounded by what runs. */
export function statsReporter(
  node: NodeContext,
  pods: () => readonly FrozenPod[],
): {
  summary(): Promise<object>;
  resourceMetrics(): Promise<string>;
} {
  let before = new Map<string, RateMemory>();

  function figures(key: string, usage: Usage, seen: Map<string, RateMemory>): object {
    const last = before.get(key);
    const spanMs = last ? usage.atMs - last.atMs : 0;
    const rate = last && spanMs > 0 ? Math.round(((usage.cpuNanoseconds - last.cpuNanoseconds) / spanMs) * 1000) : 0;
    seen.set(key, last && spanMs < 1000 ? last : { cpuNanoseconds: usage.cpuNanoseconds, atMs: usage.atMs });
    const time = new Date(usage.atMs).toISOString();
    return {
      cpu: { time, usageNanoCores: Math.max(0, rate), usageCoreNanoSeconds: usage.cpuNanoseconds },
      memory: { time, usageBytes: usage.memoryBytes, workingSetBytes: usage.workingSetBytes },
    };
  }

  return {
    async summary() {
      const containers = await containerUsages(node);
      const seen = new Map<string, RateMemory>();
      const result = {
        node: { nodeName: node.nodeName, ...figures('node', nodeUsage(node), seen) },
        pods: pods().map((pod) => {
          const own = containers.filter(({ podUid }) => podUid === pod.metadata.uid);
          const cgroup = node.cgroups.usage(node.cgroups.podPath(pod));
          const usage = cgroup ? { ...cgroup, atMs: node.clock.now() } : sum(own, node);
          return {
            podRef: { name: pod.metadata.name, namespace: pod.metadata.namespace, uid: pod.metadata.uid },
            startTime: pod.status?.startTime ?? null,
            containers: own.map((each) => ({ name: each.name, ...figures(`${each.podUid}/${each.name}`, each, seen) })),
            ...figures(pod.metadata.uid, usage, seen),
          };
        }),
      };
      before = seen;
      return result;
    },
    async resourceMetrics() {
      const containers = await containerUsages(node);
      const whole = nodeUsage(node);
      const labels = (each: ContainerUsage): string =>
        `{container="${each.name}",namespace="${each.namespace}",pod="${each.pod}"}`;
      return [
        '# TYPE container_cpu_usage_seconds_total counter',
        ...containers.map(
          (each) => `container_cpu_usage_seconds_total${labels(each)} ${each.cpuNanoseconds / 1e9} ${each.atMs}`,
        ),
        '# TYPE container_memory_working_set_bytes gauge',
        ...containers.map(
          (each) => `container_memory_working_set_bytes${labels(each)} ${each.workingSetBytes} ${each.atMs}`,
        ),
        '# TYPE node_cpu_usage_seconds_total counter',
        `node_cpu_usage_seconds_total ${whole.cpuNanoseconds / 1e9} ${whole.atMs}`,
        '# TYPE node_memory_working_set_bytes gauge',
        `node_memory_working_set_bytes ${whole.workingSetBytes} ${whole.atMs}`,
        '# TYPE resource_scrape_error gauge',
        'resource_scrape_error 0',
        '',
      ].join('\n');
    },
  };
}

function sum(parts: readonly Usage[], node: NodeContext): Usage {
  return parts.reduce<Usage>(
    (total, each) => ({
      cpuNanoseconds: total.cpuNanoseconds + each.cpuNanoseconds,
      memoryBytes: total.memoryBytes + each.memoryBytes,
      workingSetBytes: total.workingSetBytes + each.workingSetBytes,
      atMs: total.atMs,
    }),
    { cpuNanoseconds: 0, memoryBytes: 0, workingSetBytes: 0, atMs: node.clock.now() },
  );
}

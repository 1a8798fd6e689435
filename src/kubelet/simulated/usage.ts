// Owns what simulated pods use: said by annotations or made up from their requests, the same at each run, and told as a kubelet tells it.
import { approximate, type Quantity, tryParseQuantity } from '../../api/quantity.ts';
import type { FrozenPod } from '../pod/pod-words.ts';
import { hashOf } from '../../base/hash.ts';

/** Quantities of the whole pod, evenly shared by its containers. */
export const cpuUsageAnnotation = 'simulation.k8ts.io/cpu-usage';
export const memoryUsageAnnotation = 'simulation.k8ts.io/memory-usage';

interface Usage {
  readonly cores: number;
  readonly bytes: number;
}

/** Of what was requested, with a part of its own for each container so that they are not all alike. */
const share = { cpu: 0.5, memory: 0.7, spread: 0.2 };
const unasked = { cores: 0.005, bytes: 20 * 1024 ** 2 };
/** What a node uses for itself. */
const nodeItself = { cores: 0.1, bytes: 512 * 1024 ** 2 };

const amount = (quantity: Quantity | undefined): number | undefined =>
  quantity === undefined || quantity.nano < 0n ? undefined : approximate(quantity);

const parsed = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : amount(tryParseQuantity(text));

/** Between -1 and 1, by the text alone. */
const wobble = (text: string): number => (hashOf(text) / 0xffffffff) * 2 - 1;

export function containerUsage(pod: FrozenPod, name: string): Usage {
  const { containers } = pod.spec;
  const said = pod.metadata.annotations ?? {};
  const requests = containers.find((container) => container.name === name)?.resources?.requests ?? {};
  const own = 1 + share.spread * wobble(`${pod.metadata.namespace}/${pod.metadata.name}/${name}`);
  const cpu = parsed(said[cpuUsageAnnotation]);
  const memory = parsed(said[memoryUsageAnnotation]);
  const asked = { cores: parsed(requests['cpu']), bytes: parsed(requests['memory']) };
  return {
    cores: cpu === undefined ? (asked.cores ?? unasked.cores / share.cpu) * share.cpu * own : cpu / containers.length,
    bytes: Math.round(
      memory === undefined
        ? (asked.bytes ?? unasked.bytes / share.memory) * share.memory * own
        : memory / containers.length,
    ),
  };
}

interface Meter {
  cpuSeconds: number;
  atMs: number;
}

export interface MeteredPod {
  readonly pod: FrozenPod;
  readonly startedMs: number;
}

/** Counts the processor time of one node's pods. Bounded by the pods that run there when it is asked. */
export class UsageMeters {
  #meters = new Map<string, Meter>();
  #node: Meter | undefined;
  readonly #startedMs: number;

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  /** Before the pod becomes another: what it used until now counts as it was. */
  settle({ pod, startedMs }: MeteredPod, nowMs: number): void {
    for (const { name } of pod.spec.containers) {
      const meter = this.#meters.get(`${pod.metadata.uid}/${name}`);
      if (meter !== undefined) this.#advance(meter, containerUsage(pod, name).cores, startedMs, nowMs);
    }
  }

  #advance(meter: Meter, cores: number, startedMs: number, nowMs: number): void {
    meter.cpuSeconds += (cores * Math.max(0, nowMs - Math.max(startedMs, meter.atMs))) / 1000;
    meter.atMs = nowMs;
  }

  /** As /metrics/resource of a kubelet tells it. */
  text(running: Iterable<MeteredPod>, nowMs: number): string {
    const seen = new Map<string, Meter>();
    const cpu: string[] = [];
    const memory: string[] = [];
    const started: string[] = [];
    let [cores, bytes] = [nodeItself.cores, nodeItself.bytes];
    for (const one of running) {
      const { namespace, name: podName, uid } = one.pod.metadata;
      for (const { name } of one.pod.spec.containers) {
        const usage = containerUsage(one.pod, name);
        const key = `${uid}/${name}`;
        const meter = this.#meters.get(key) ?? { cpuSeconds: 0, atMs: one.startedMs };
        this.#advance(meter, usage.cores, one.startedMs, nowMs);
        seen.set(key, meter);
        cores += usage.cores;
        bytes += usage.bytes;
        const labels = `{container="${name}",namespace="${namespace}",pod="${podName}"}`;
        cpu.push(`container_cpu_usage_seconds_total${labels} ${meter.cpuSeconds} ${nowMs}`);
        memory.push(`container_memory_working_set_bytes${labels} ${usage.bytes} ${nowMs}`);
        started.push(`container_start_time_seconds${labels} ${one.startedMs / 1000}`);
      }
    }
    this.#meters = seen;
    this.#node ??= { cpuSeconds: 0, atMs: this.#startedMs };
    this.#advance(this.#node, cores, this.#startedMs, nowMs);
    return [
      '# TYPE container_cpu_usage_seconds_total counter',
      ...cpu,
      '# TYPE container_memory_working_set_bytes gauge',
      ...memory,
      '# TYPE container_start_time_seconds gauge',
      ...started,
      '# TYPE node_cpu_usage_seconds_total counter',
      `node_cpu_usage_seconds_total ${this.#node.cpuSeconds} ${nowMs}`,
      '# TYPE node_memory_working_set_bytes gauge',
      `node_memory_working_set_bytes ${bytes} ${nowMs}`,
      '# TYPE resource_scrape_error gauge',
      'resource_scrape_error 0',
      '',
    ].join('\n');
  }
}

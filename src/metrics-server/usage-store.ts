// Owns the last two looks at each node and container, and the rates between them. Bounded by what the last look at each node saw.
import type { Point, Scrape } from './scrape.ts';

export interface Usage {
  readonly nanoCores: number;
  readonly memoryBytes: number;
  readonly atMs: number;
  readonly windowMs: number;
}

interface Seen {
  readonly last: Point;
  readonly before: Point | undefined;
}

interface NodeSeen {
  readonly node: Seen | undefined;
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Seen>>;
}

export class UsageStore {
  readonly #nodes = new Map<string, NodeSeen>();
  /** Where a pod was last seen. */
  readonly #places = new Map<string, string>();

  take(nodeName: string, { node, pods }: Scrape): void {
    const before = this.#nodes.get(nodeName);
    const next = new Map<string, Map<string, Seen>>();
    for (const [key, containers] of pods) {
      const known = before?.pods.get(key);
      next.set(key, new Map([...containers].map(([name, point]) => [name, seen(point, known?.get(name))])));
      this.#places.set(key, nodeName);
    }
    for (const key of before?.pods.keys() ?? [])
      if (!next.has(key) && this.#places.get(key) === nodeName) this.#places.delete(key);
    this.#nodes.set(nodeName, { node: node === undefined ? undefined : seen(node, before?.node), pods: next });
  }

  /** Nodes that have gone take what ran there with them. */
  forgetAllBut(nodeNames: ReadonlySet<string>): void {
    for (const [name, { pods }] of this.#nodes) {
      if (nodeNames.has(name)) continue;
      for (const key of pods.keys()) if (this.#places.get(key) === name) this.#places.delete(key);
      this.#nodes.delete(name);
    }
  }

  /** Undefined until it has been looked at twice. */
  node(name: string): Usage | undefined {
    const found = this.#nodes.get(name)?.node;
    return found && usageOf(found);
  }

  /** By container; undefined unless all of them are known. `key`: "namespace/name". */
  pod(key: string): ReadonlyMap<string, Usage> | undefined {
    const containers = this.#nodes.get(this.#places.get(key) ?? '')?.pods.get(key);
    if (containers === undefined) return undefined;
    const usages = new Map<string, Usage>();
    for (const [name, found] of containers) {
      const usage = usageOf(found);
      if (usage === undefined) return undefined;
      usages.set(name, usage);
    }
    return usages;
  }
}

/** The same look twice (a kubelet that has not looked again) is no second one; a counter that fell began anew. */
function seen(point: Point, known: Seen | undefined): Seen {
  if (known === undefined) return { last: point, before: undefined };
  if (point.atMs <= known.last.atMs) return known;
  const isAnew = point.cpuSeconds < known.last.cpuSeconds || (point.startedMs ?? 0) > known.last.atMs;
  return { last: point, before: isAnew ? undefined : known.last };
}

function usageOf({ last, before }: Seen): Usage | undefined {
  const { atMs, cpuSeconds, memoryBytes, startedMs } = last;
  // What has run since its start tells a rate by itself.
  const from = before ?? (startedMs === undefined ? undefined : { atMs: startedMs, cpuSeconds: 0 });
  const windowMs = atMs - (from?.atMs ?? atMs);
  if (from === undefined || windowMs < 1) return undefined;
  return {
    nanoCores: Math.max(0, Math.round(((cpuSeconds - from.cpuSeconds) / windowMs) * 1e12)),
    memoryBytes: Math.round(memoryBytes),
    atMs,
    windowMs,
  };
}

// Owns reading what a kubelet says at /metrics/resource into usage at a moment. Asks nobody.

export interface Point {
  readonly atMs: number;
  /** Since the thing started. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** When a container started, if that was said. */
  readonly startedMs?: number;
}

export interface PodKey {
  readonly namespace: string;
  readonly name: string;
}

export interface Scrape {
  readonly node: Point | undefined;
  /** By "namespace/pod", then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Point>>;
}

type Partial = { -readonly [K in keyof Point]?: Point[K] };

const line = /^([a-z_]+)(?:\{([^}]*)\})? +(\S+)(?: +(-?\d+))?$/;
const label = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;
/** What a kubelet of a full node says is far below. */
const maxLines = 200_000;

const fields: Readonly<Record<string, keyof Partial>> = {
  cpu_usage_seconds_total: 'cpuSeconds',
  memory_working_set_bytes: 'memoryBytes',
  start_time_seconds: 'startedMs',
};

/** `nowMs` stands for times that are not said. Lines that mean nothing here are passed over. */
export function parseScrape(text: string, nowMs: number): Scrape {
  const node: Partial = {};
  const pods = new Map<string, Map<string, Partial>>();
  const lines = text.split('\n');
  if (lines.length > maxLines) throw new Error(`more than ${maxLines} lines`);
  for (const one of lines) {
    if (one === '' || one.startsWith('#')) continue;
    const [, metric = '', labels = '', valueText = '', time] = line.exec(one) ?? [];
    const [, of, rest] = /^(node|container)_(.+)$/.exec(metric) ?? [];
    const field = rest === undefined ? undefined : fields[rest];
    const value = Number(valueText);
    if (of === undefined || field === undefined || !Number.isFinite(value)) continue;
    const target = of === 'node' ? node : containerOf(pods, labels);
    if (target === undefined) continue;
    target[field] = field === 'startedMs' ? value * 1000 : value;
    if (field === 'cpuSeconds') target.atMs = time === undefined ? nowMs : Number(time);
  }
  return { node: complete(node), pods: completePods(pods) };
}

function containerOf(pods: Map<string, Map<string, Partial>>, labels: string): Partial | undefined {
  const said = new Map([...labels.matchAll(label)].map((match) => [match[1]!, match[2]!]));
  const [container, namespace, pod] = ['container', 'namespace', 'pod'].map((name) => said.get(name) ?? '');
  if (container === '' || namespace === '' || pod === '') return undefined;
  const key = `${namespace}/${pod}`;
  let containers = pods.get(key);
  if (containers === undefined) pods.set(key, (containers = new Map()));
  let found = containers.get(container!);
  if (found === undefined) containers.set(container!, (found = {}));
  return found;
}

function complete({ atMs, cpuSeconds, memoryBytes, startedMs }: Partial): Point | undefined {
  if (atMs === undefined || cpuSeconds === undefined || memoryBytes === undefined) return undefined;
  return { atMs, cpuSeconds, memoryBytes, ...(startedMs !== undefined && { startedMs }) };
}

/** A pod of which one container is not told whole is not told at all: its sum would be wrong. */
function completePods(pods: Map<string, Map<string, Partial>>): Map<string, Map<string, Point>> {
  const found = new Map<string, Map<string, Point>>();
  for (const [key, containers] of pods) {
    const points = [...containers].map(([name, partial]) => [name, complete(partial)] as const);
    if (points.every((point): point is readonly [string, Point] => point[1] !== undefined))
      found.set(key, new Map(points));
  }
  return found;
}

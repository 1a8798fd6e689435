// Owns metrics: counters, gauges and histograms with labels, and their Prometheus text form.
// Our own rather than prom-client: an observation is on every request's path (see docs/dependencies.md for the measurement).

export interface Counter {
  inc(by?: number): void;
}

export interface Gauge {
  set(value: number): void;
  add(by: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** A metric with labels: `of(...values)` gives the child for these label values, in the declared order. */
export interface Family<Child> {
  of(...labelValues: string[]): Child;
  delete(...labelValues: string[]): void;
}

export interface MetricsRegistry {
  counter(name: string, help: string): Counter;
  counters(name: string, help: string, labels: readonly string[]): Family<Counter>;
  gauge(name: string, help: string): Gauge;
  gauges(name: string, help: string, labels: readonly string[]): Family<Gauge>;
  histogram(name: string, help: string, buckets: readonly number[]): Histogram;
  histograms(name: string, help: string, labels: readonly string[], buckets: readonly number[]): Family<Histogram>;
  /** A gauge whose value is read at scrape time. */
  observed(name: string, help: string, read: () => number): void;
  /** Values that others keep, read at scrape time: label values in the declared order, and the value. */
  collected(
    name: string,
    kind: 'counter' | 'gauge',
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [labelValues: readonly string[], value: number]>,
  ): void;
  /** The Prometheus text exposition format, version 0.0.4. */
  text(): string;
}

type Kind = 'counter' | 'gauge' | 'histogram';

class Value implements Counter, Gauge {
  value = 0;
  inc(by = 1): void {
    this.value += by;
  }
  set(value: number): void {
    this.value = value;
  }
  add(by: number): void {
    this.value += by;
  }
}

class Buckets implements Histogram {
  readonly #bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }
  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    this.counts[at]! += 1;
    this.sum += value;
  }
  write(name: string, labels: string, lines: string[]): void {
    let total = 0;
    const prefix = labels === '' ? '' : `${labels},`;
    this.counts.forEach((count, at) => {
      total += count;
      lines.push(`${name}_bucket{${prefix}le="${at < this.#bounds.length ? this.#bounds[at] : '+Inf'}"} ${total}`);
    });
    lines.push(`${name}_sum${braced(labels)} ${this.sum}`, `${name}_count${braced(labels)} ${total}`);
  }
}

/** The label sets one metric may have before further ones share the child named "other": metrics never grow without bound. */
const maxChildren = 20_000;

class Metric<Child extends Value | Buckets> implements Family<Child> {
  /** By their labels' text. */
  readonly children = new Map<string, Child>();
  /** By the values themselves: the text is made once. */
  readonly #known = new Map<string, Child>();
  readonly name: string;
  readonly kind: Kind;
  readonly help: string;
  readonly #labels: readonly string[];
  readonly #make: () => Child;

  constructor(name: string, kind: Kind, help: string, labels: readonly string[], make: () => Child) {
    this.name = name;
    this.kind = kind;
    this.help = help;
    this.#labels = labels;
    this.#make = make;
  }

  of(...labelValues: string[]): Child {
    const values = labelValues.length === 1 ? labelValues[0]! : labelValues.join('\0');
    let child = this.#known.get(values);
    if (child === undefined) {
      let key = this.#text(labelValues);
      if (!this.children.has(key) && this.children.size >= maxChildren)
        key = this.#text(this.#labels.map(() => 'other'));
      child = this.children.get(key) ?? this.#make();
      this.children.set(key, child);
      if (this.#known.size < maxChildren) this.#known.set(values, child);
    }
    return child;
  }

  delete(...labelValues: string[]): void {
    this.children.delete(this.#text(labelValues));
    this.#known.delete(labelValues.join('\0'));
  }

  #text(values: readonly string[]): string {
    return labelText(this.#labels, values);
  }

  /** What has no values yet is not told of. */
  write(lines: string[]): void {
    if (this.children.size === 0) return;
    lines.push(...headOf(this.name, this.kind, this.help));
    for (const [labels, child] of this.children) {
      if (child instanceof Buckets) child.write(this.name, labels, lines);
      else lines.push(`${this.name}${braced(labels)} ${child.value}`);
    }
  }
}

interface Collected {
  readonly kind: Kind;
  readonly help: string;
  readonly labels: readonly string[];
  readonly read: () => Iterable<readonly [labelValues: readonly string[], value: number]>;
}

function headOf(name: string, kind: Kind, help: string): [string, string] {
  return [`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${kind}`];
}

function labelText(labels: readonly string[], values: readonly string[]): string {
  return labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? '')}"`).join(',');
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}

export function metricsRegistry(): MetricsRegistry {
  const metrics = new Map<string, Metric<Value> | Metric<Buckets>>();
  const collected = new Map<string, Collected>();

  /** Components of one process may share a registry: the second to ask for a name gets the first's metric. */
  function values(name: string, kind: Kind, help: string, labels: readonly string[]): Metric<Value> {
    const known = metrics.get(name) as Metric<Value> | undefined;
    const metric = known ?? new Metric(name, kind, help, labels, () => new Value());
    metrics.set(name, metric);
    return metric;
  }

  function buckets(name: string, help: string, labels: readonly string[], bounds: readonly number[]): Metric<Buckets> {
    const known = metrics.get(name) as Metric<Buckets> | undefined;
    const metric = known ?? new Metric(name, 'histogram', help, labels, () => new Buckets(bounds));
    metrics.set(name, metric);
    return metric;
  }

  return {
    counter: (name, help) => values(name, 'counter', help, []).of(),
    counters: (name, help, labels) => values(name, 'counter', help, labels),
    gauge: (name, help) => values(name, 'gauge', help, []).of(),
    gauges: (name, help, labels) => values(name, 'gauge', help, labels),
    histogram: (name, help, bounds) => buckets(name, help, [], bounds).of(),
    histograms: (name, help, labels, bounds) => buckets(name, help, labels, bounds),
    observed: (name, help, read) =>
      void collected.set(name, { kind: 'gauge', help, labels: [], read: () => [[[], read()]] }),
    collected: (name, kind, help, labels, read) => void collected.set(name, { kind, help, labels, read }),
    text() {
      const lines: string[] = [];
      for (const metric of metrics.values()) metric.write(lines);
      for (const [name, { kind, help, labels, read }] of collected) {
        const rows = [...read()];
        if (rows.length > 0) lines.push(...headOf(name, kind, help));
        for (const [values, value] of rows) lines.push(`${name}${braced(labelText(labels, values))} ${value}`);
      }
      return `${lines.join('\n')}\n`;
    },
  };
}

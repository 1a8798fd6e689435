// Owns metrics: counters, gauges and histograms with labels, and their Prometheus text form.
// Families and their children are told in the order of their names. Our own rather than prom-client: an observation is on every request's path (see docs/dependencies.md for the measurement).
import { RecentValues } from './recent-values.ts';

export interface Counter {
  inc(by?: number): void;
}

export interface Gauge {
  set(value: number): void;
  add(by: number): void;
}

export interface Histogram {
  /** `times`: as if it had been observed so often (a value that lasted, weighted by how long). */
  observe(value: number, times?: number): void;
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
  /** Shares of what was observed lately, of which each is told within 1 %. */
  summaries(name: string, help: string, labels: readonly string[], options: SummaryOptions): Family<Histogram>;
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
  /** As `collected` for one set of label values, of which several may be told under one name. Answers with what ends it. */
  reading(name: string, help: string, labels: Readonly<Record<string, string>>, read: () => number): () => void;
  /** The Prometheus text exposition format, version 0.0.4. */
  text(): string;
}

export interface SummaryOptions {
  /** Between 0 and 1. */
  readonly quantiles: readonly number[];
  /** What is older is not counted among them. */
  readonly maxAgeMs: number;
  /** Milliseconds on a scale that only grows. */
  readonly now: () => number;
}

type Kind = 'counter' | 'gauge' | 'histogram' | 'summary';

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
  observe(value: number, times = 1): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    this.counts[at]! += times;
    this.sum += value * times;
  }
  write(name: string, labels: string, lines: string[]): void {
    let total = 0;
    const prefix = labels === '' ? '' : `${labels},`;
    this.counts.forEach((count, at) => {
      total += count;
      const bound = at < this.#bounds.length ? numberText(this.#bounds[at]!) : '+Inf';
      lines.push(`${name}_bucket{${prefix}le="${bound}"} ${numberText(total)}`);
    });
    lines.push(`${name}_sum${braced(labels)} ${numberText(this.sum)}`);
    lines.push(`${name}_count${braced(labels)} ${numberText(total)}`);
  }
}

class Summary implements Histogram {
  readonly #options: SummaryOptions;
  readonly #recent: RecentValues;
  #count = 0;
  #sum = 0;
  constructor(options: SummaryOptions) {
    this.#options = options;
    this.#recent = new RecentValues(options.maxAgeMs, options.now);
  }
  observe(value: number, times = 1): void {
    this.#count += times;
    this.#sum += value * times;
    this.#recent.add(value, times);
  }
  write(name: string, labels: string, lines: string[]): void {
    const prefix = labels === '' ? '' : `${labels},`;
    const values = this.#recent.quantiles(this.#options.quantiles);
    this.#options.quantiles.forEach((share, at) =>
      lines.push(`${name}{${prefix}quantile="${numberText(share)}"} ${numberText(values[at]!)}`),
    );
    lines.push(`${name}_sum${braced(labels)} ${numberText(this.#sum)}`);
    lines.push(`${name}_count${braced(labels)} ${numberText(this.#count)}`);
  }
}

/** The label sets one metric may have before further ones share the child named "other": metrics never grow without bound. */
const maxChildren = 20_000;

class Metric<Child extends Value | Buckets | Summary> implements Family<Child> {
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
    for (const [labels, child] of [...this.children].sort(byFirst)) {
      if (child instanceof Value) lines.push(`${this.name}${braced(labels)} ${numberText(child.value)}`);
      else child.write(this.name, labels, lines);
    }
  }
}

interface Collected {
  readonly kind: Kind;
  readonly help: string;
  readonly labels: readonly string[];
  readonly read: () => Iterable<readonly [labelValues: readonly string[], value: number]>;
}

interface Reading {
  readonly values: readonly string[];
  readonly read: () => number;
}

function byFirst([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** As Prometheus' own library writes it: exponents beyond six digits, of at least two digits. */
export function numberText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const exponential = value.toExponential();
  const at = exponential.indexOf('e');
  const exponent = Number(exponential.slice(at + 1));
  // From here to there JavaScript writes no exponent, either.
  if (exponent >= -4 && exponent < 6) return String(value);
  const digits = String(Math.abs(exponent)).padStart(2, '0');
  return `${exponential.slice(0, at)}e${exponent < 0 ? '-' : '+'}${digits}`;
}

function headOf(name: string, kind: Kind, help: string): [string, string] {
  return [`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${kind}`];
}

function labelText(labels: readonly string[], values: readonly string[]): string {
  return labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? '')}"`).join(',');
}

function writeCollected(name: string, { kind, help, labels, read }: Collected, lines: string[]): void {
  const rows = [...read()].map(([values, value]) => [labelText(labels, values), value] as const);
  if (rows.length > 0) lines.push(...headOf(name, kind, help));
  for (const [text, value] of rows.sort(byFirst)) lines.push(`${name}${braced(text)} ${numberText(value)}`);
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}

export function metricsRegistry(): MetricsRegistry {
  const metrics = new Map<string, Metric<Value> | Metric<Buckets> | Metric<Summary>>();
  const collected = new Map<string, Collected>();
  const readings = new Map<string, Set<Reading>>();

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
    summaries(name, help, labels, options) {
      const known = metrics.get(name) as Metric<Summary> | undefined;
      const metric = known ?? new Metric(name, 'summary', help, labels, () => new Summary(options));
      metrics.set(name, metric);
      return metric;
    },
    observed: (name, help, read) =>
      void collected.set(name, { kind: 'gauge', help, labels: [], read: () => [[[], read()]] }),
    collected: (name, kind, help, labels, read) => void collected.set(name, { kind, help, labels, read }),
    reading(name, help, labels, read) {
      let all = readings.get(name);
      if (all === undefined) {
        const mine = new Set<Reading>();
        readings.set(name, (all = mine));
        collected.set(name, {
          kind: 'gauge',
          help,
          labels: Object.keys(labels),
          read: () => [...mine].map((one) => [one.values, one.read()] as const),
        });
      }
      const one: Reading = { values: Object.values(labels), read };
      const of = all;
      of.add(one);
      return () => void of.delete(one);
    },
    text() {
      const lines: string[] = [];
      const all: (readonly [name: string, write: () => void])[] = [
        ...[...metrics].map(([name, metric]) => [name, () => metric.write(lines)] as const),
        ...[...collected].map(([name, one]) => [name, () => writeCollected(name, one, lines)] as const),
      ];
      for (const [, write] of all.sort(byFirst)) write();
      return `${lines.join('\n')}\n`;
    },
  };
}

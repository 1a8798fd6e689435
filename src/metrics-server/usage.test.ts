// Tests what is made of kubelets' words: looks, rates between them, and what is not told because it is not known.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseScrape } from './scrape.ts';
import { UsageStore } from './usage-store.ts';

const said = (atMs: number, cpu: number, started?: number, pod = 'web'): string =>
  [
    '# TYPE container_cpu_usage_seconds_total counter',
    `container_cpu_usage_seconds_total{container="c",namespace="n",pod="${pod}"} ${cpu} ${atMs}`,
    `container_memory_working_set_bytes{container="c",namespace="n",pod="${pod}"} 1.048576e+06 ${atMs}`,
    ...(started === undefined
      ? []
      : [`container_start_time_seconds{container="c",namespace="n",pod="${pod}"} ${started}`]),
    `node_cpu_usage_seconds_total ${cpu * 2} ${atMs}`,
    `node_memory_working_set_bytes 2097152 ${atMs}`,
    'scrape_error 0',
    'not a line at all {',
  ].join('\n');

describe('what a kubelet says', () => {
  it('is read by container and for the node', () => {
    const { node, pods } = parseScrape(said(1000, 5, 0.5), 9);
    assert.deepEqual(node, { atMs: 1000, cpuSeconds: 10, memoryBytes: 2_097_152 });
    assert.deepEqual(pods.get('n/web')?.get('c'), {
      atMs: 1000,
      cpuSeconds: 5,
      memoryBytes: 1_048_576,
      startedMs: 500,
    });
  });

  it('is left out for a pod of which a container is not told whole', () => {
    const text = `${said(1000, 5)}\ncontainer_cpu_usage_seconds_total{container="d",namespace="n",pod="web"} 1 1000`;
    assert.equal(parseScrape(text, 9).pods.size, 0);
  });
});

describe('usage', () => {
  it('is the rate between two looks', () => {
    const store = new UsageStore();
    store.take('a', parseScrape(said(10_000, 5), 0));
    assert.equal(store.pod('n/web'), undefined);
    assert.equal(store.node('a'), undefined);
    store.take('a', parseScrape(said(20_000, 7.5), 0));
    assert.deepEqual(store.pod('n/web')?.get('c'), {
      nanoCores: 250_000_000,
      memoryBytes: 1_048_576,
      atMs: 20_000,
      windowMs: 10_000,
    });
    assert.equal(store.node('a')?.nanoCores, 500_000_000);
  });

  it('begins anew with a container, and is known at once when its start is', () => {
    const store = new UsageStore();
    store.take('a', parseScrape(said(10_000, 5), 0));
    store.take('a', parseScrape(said(20_000, 1), 0));
    assert.equal(store.pod('n/web'), undefined);
    store.take('a', parseScrape(said(30_000, 2, 28), 0));
    assert.equal(store.pod('n/web')?.get('c')?.nanoCores, 1_000_000_000);
  });

  it('is kept when a kubelet says the same twice, and goes with its pod or node', () => {
    const store = new UsageStore();
    for (const [atMs, cpu] of [
      [10_000, 5],
      [20_000, 6],
      [20_000, 6],
    ] as const)
      store.take('a', parseScrape(said(atMs, cpu), 0));
    assert.equal(store.pod('n/web')?.get('c')?.nanoCores, 100_000_000);
    store.take('a', parseScrape(said(30_000, 7, undefined, 'other'), 0));
    assert.equal(store.pod('n/web'), undefined);
    store.forgetAllBut(new Set());
    assert.equal(store.node('a'), undefined);
  });
});

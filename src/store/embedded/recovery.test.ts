// Owns the proof that nothing acknowledged is lost: seeded runs on a disk that loses power, runs full or flips bits.
// A failing seed is in the test's message; K8TS_SEED=n runs only that one, K8TS_SEEDS=n so many.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { randomInteger, seededRandom } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { Compacted, LeaseNotFound, StoreCorrupt, StoreFull, StoreUnavailable, prefixRange } from '../store.ts';
import type { Operation } from '../store.ts';
import { openEmbeddedStore } from './embedded.ts';
import type { EmbeddedStore } from './embedded.ts';
import { SimulatedDisk } from './simulated-disk.ts';

const seeds = process.env['K8TS_SEED']
  ? [Number(process.env['K8TS_SEED'])]
  : Array.from({ length: Number(process.env['K8TS_SEEDS'] ?? 60) }, (_, at) => at + 1);

type State = ReadonlyMap<string, string>;

/** What may have become of a submitted change. */
interface Submitted {
  readonly after: (state: State) => State;
  outcome: 'pending' | 'acknowledged' | 'refused' | 'unknown';
  revision: number;
}

/** Drives one store through random work and remembers, in order, all that was asked of it. */
class Run {
  readonly random: Random;
  readonly disk: SimulatedDisk;
  readonly clock = new VirtualClock();
  store!: EmbeddedStore;
  /** Since the last opening; before it, `base` is what the store held at `baseRevision`. */
  submitted: Submitted[] = [];
  base: State = new Map();
  baseRevision = 1;
  compacted = 0;
  refused = 0;
  readonly leases = new Set<number>();
  inFlight: Promise<void>[] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.disk = new SimulatedDisk(this.random);
  }

  async open(): Promise<void> {
    const sizes = { segmentBytes: 2000, reclaimBytes: 1000, cacheBytes: 500 };
    const deps = { clock: this.clock, log: silentLogger, random: this.random, files: this.disk.files(), ...sizes };
    this.store = await openEmbeddedStore('simulated', deps);
  }

  submit(): void {
    const roll = this.random.next();
    if (roll < 0.03) this.inFlight.push(this.#compact());
    else if (roll < 0.06) this.inFlight.push(this.#grant());
    else this.inFlight.push(this.#change());
  }

  async #change(): Promise<void> {
    const then: Operation[] = [];
    const effects: [string, string | undefined][] = [];
    const count = 1 + randomInteger(this.random, 3);
    for (let i = 0; i < count; i++) {
      const key = `k${i}-${randomInteger(this.random, 6)}`;
      if (this.random.next() < 0.2) {
        then.push({ type: 'delete', range: { start: key } });
        effects.push([key, undefined]);
        continue;
      }
      const value = `${this.submitted.length}:${'x'.repeat(randomInteger(this.random, 300))}`;
      then.push({ type: 'put', key, value: Buffer.from(value) });
      effects.push([key, value]);
    }
    // An own key, so that every transaction takes a revision.
    then.push({ type: 'put', key: 'z', value: Buffer.from(String(this.submitted.length)) });
    effects.push(['z', String(this.submitted.length)]);
    const after = (state: State): State => {
      const next = new Map(state);
      for (const [key, value] of effects)
        if (value === undefined) next.delete(key);
        else next.set(key, value);
      return next;
    };
    const one: Submitted = { after, outcome: 'pending', revision: 0 };
    this.submitted.push(one);
    try {
      one.revision = (await this.store.transact({ compare: [], then })).revision;
      one.outcome = 'acknowledged';
    } catch (error) {
      this.#expected(error);
      one.outcome = error instanceof StoreFull ? 'refused' : 'unknown';
      if (error instanceof StoreFull) this.refused++;
    }
  }

  async #compact(): Promise<void> {
    const { revision } = await this.store.status().catch(() => ({ revision: 0 }));
    try {
      const to = revision - randomInteger(this.random, 10);
      await this.store.compact(to);
      this.compacted = Math.max(this.compacted, to);
    } catch (error) {
      this.#expected(error);
    }
  }

  async #grant(): Promise<void> {
    try {
      const [old] = this.leases;
      if (old !== undefined && this.random.next() < 0.5) {
        this.leases.delete(old);
        await this.store.revokeLease(old);
      } else this.leases.add((await this.store.grantLease(1000)).id);
    } catch (error) {
      this.#expected(error);
    }
  }

  #expected(error: unknown): void {
    const fine = [StoreFull, StoreUnavailable, Compacted, LeaseNotFound].some((kind) => error instanceof kind);
    if (!fine) throw error as Error;
  }

  async settle(): Promise<void> {
    await Promise.all(this.inFlight.splice(0));
  }

  /** The store must hold exactly a prefix of what was asked, with all that was acknowledged in it. */
  async check(): Promise<void> {
    const { revision, compactRevision } = await this.store.status();
    const effective = this.submitted.filter(({ outcome }) => outcome !== 'refused');
    for (const [at, { outcome, revision: said }] of effective.entries())
      if (outcome === 'acknowledged') {
        assert.equal(said, this.baseRevision + at + 1, 'revisions follow the order of calls');
        assert.ok(said <= revision, `acknowledged revision ${said} is lost, the store is at ${revision}`);
      }
    assert.ok(revision <= this.baseRevision + effective.length, 'nothing was invented');
    assert.ok(compactRevision >= this.compacted, 'compaction is durable');
    let state = this.base;
    for (let at = 0; ; at++) {
      const past = this.baseRevision + at;
      if (past === revision || (past >= compactRevision && this.random.next() < 0.2)) await this.#compare(state, past);
      if (past === revision) break;
      state = effective[at]!.after(state);
    }
    const leases = new Set(await this.store.leases());
    for (const id of this.leases) assert.ok(leases.has(id), `lease ${id} is lost`);
    this.base = state;
    this.baseRevision = revision;
    this.submitted = [];
  }

  async #compare(state: State, revision: number): Promise<void> {
    const { items } = await this.store.range(prefixRange(''), { revision });
    const found = items.map(({ key, value }) => [key, Buffer.from(value).toString()]);
    assert.deepEqual(
      found,
      [...state].sort(([a], [b]) => (a < b ? -1 : 1)),
      `state at revision ${revision}`,
    );
  }
}

it('recovers everything acknowledged after power loss, whatever of the rest reached the disk', async (t) => {
  let losses = 0;
  for (const seed of seeds) {
    const run = new Run(seed);
    try {
      await run.open();
      for (let round = 0; round < 4; round++) {
        const steps = 5 + randomInteger(run.random, 120);
        for (let step = 0; step < steps; step++) {
          run.submit();
          const pause = run.random.next();
          if (pause < 0.3) await new Promise((resolve) => setImmediate(resolve));
          else if (pause < 0.4) await run.settle();
        }
        if (run.random.next() < 0.2) {
          await run.settle();
          await run.store.close();
        }
        run.disk.losePower();
        losses++;
        await run.settle();
        await run.open();
        await run.check();
      }
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack}`, { cause: error });
    }
  }
  t.diagnostic(`${losses} power losses, seeds ${seeds[0]} to ${seeds.at(-1)}`);
});

it('refuses writes while the disk is full, reads on, loses nothing, and recovers', async (t) => {
  let refused = 0;
  for (const seed of seeds.slice(0, 30)) {
    const run = new Run(seed);
    try {
      await run.open();
      for (let round = 0; round < 4; round++) {
        const used = [...run.disk.sizes().values()].reduce((sum, size) => sum + size, 0);
        run.disk.capacity = used + randomInteger(run.random, 3000);
        for (let step = 0; step < 30; step++) {
          run.submit();
          if (run.random.next() < 0.4) await new Promise((resolve) => setImmediate(resolve));
          if (step % 10 === 0) await run.store.range(prefixRange(''));
        }
        await run.settle();
        run.disk.capacity = Infinity;
        await run.check();
        await run.store.transact({ compare: [], then: [{ type: 'delete', range: { start: 'none' } }] });
        if (run.random.next() < 0.5) {
          run.disk.losePower();
          await run.open();
          await run.check();
        }
      }
      refused += run.refused;
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack}`, { cause: error });
    }
  }
  assert.ok(refused > 0);
  t.diagnostic(`${refused} writes refused`);
});

it('detects and names every flipped bit in acknowledged data, or has it in no answer', async (t) => {
  let named = 0;
  let cut = 0;
  for (const seed of seeds.slice(0, 40)) {
    const run = new Run(seed);
    try {
      await run.open();
      for (let step = 0; step < 40; step++) {
        run.submit();
        if (run.random.next() < 0.5) await run.settle();
      }
      await run.settle();
      await run.store.close();
      const [name, size] = [...run.disk.sizes()][randomInteger(run.random, run.disk.sizes().size)]!;
      run.disk.flipBit(name, randomInteger(run.random, size));
      try {
        await run.open();
        // Only the closing mark itself, or bytes that nobody wants, may go unnoticed: all data must be right.
        await run.check();
        cut++;
      } catch (error) {
        if (!(error instanceof StoreCorrupt)) throw error;
        assert.ok(error.message.includes(name), error.message);
        named++;
      }
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack}`, { cause: error });
    }
  }
  assert.ok(named > 0);
  t.diagnostic(`${named} flips named, ${cut} in bytes that hold no data`);
});

it('after a failed sync takes no more writes, and opening again keeps what was acknowledged', async () => {
  const run = new Run(1);
  await run.open();
  for (let step = 0; step < 20; step++) run.submit();
  await run.settle();
  await run.store.reclaimed();
  // One may hit the beginning of a new segment, which only goes on in the old one.
  run.disk.failSyncs = 2;
  const write = () => run.store.transact({ compare: [], then: [{ type: 'put', key: 'a', value: Buffer.from('x') }] });
  await assert.rejects(write(), StoreUnavailable);
  await assert.rejects(write(), StoreUnavailable);
  assert.ok((await run.store.range(prefixRange(''))).count > 0);
  await run.store.close();
  await run.open();
  await run.check();
});

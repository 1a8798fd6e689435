// Owns the tests of the relay: the suite over it, histories of two users at once, and what happens when an end goes away.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { memoryStore } from '../memory.ts';
import { Compacted, InvalidRequest, StoreFull, StoreUnavailable, prefixRange } from '../store.ts';
import type { Store, WatchBatch } from '../store.ts';
import { storeSuite } from '../store.suite.ts';
import { frameOf, frameReader } from './frames.ts';
import { receivedError, sentError } from './messages.ts';
import { relayedStore } from './relayed-store.ts';
import { serveStore } from './serve.ts';

/** The two ends of a stream between processes, here within one. */
async function streamPair(): Promise<{ readonly ours: Socket; readonly theirs: Socket }> {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-relay-'));
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(directory, 's'), resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const theirs = connect(join(directory, 's'));
  const ours = await accepted;
  server.close();
  rmSync(directory, { recursive: true });
  return { ours, theirs };
}

function behind(): { readonly store: Store; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  return { clock, store: memoryStore({ clock, log: silentLogger, random: seededRandom(1) }) };
}

storeSuite('memory, relayed to another process', {
  remote: true,
  async open() {
    const { store, clock } = behind();
    const { ours, theirs } = await streamPair();
    const served = serveStore(store, ours);
    return {
      store: relayedStore(theirs),
      elapse: (ms) => clock.advance(ms),
      async cleanup() {
        await served;
        await store.close();
      },
    };
  },
});

it('frames come whole however the bytes are cut', () => {
  const values = [{ a: Buffer.from('x'.repeat(5000)) }, ['y', 1, undefined], 'z', 0];
  const bytes = Buffer.concat(values.map(frameOf));
  for (const size of [1, 3, 4, 5, 1000, bytes.length]) {
    const got: unknown[] = [];
    const read = frameReader((value) => got.push(value));
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
    assert.deepEqual(got, values, `in chunks of ${size}`);
  }
});

it('errors keep their kind and what they tell', () => {
  const back = (error: Error) => receivedError(sentError(error));
  const compacted = back(new Compacted(7));
  assert.ok(compacted instanceof Compacted && compacted.compactRevision === 7);
  const invalid = back(new InvalidRequest('too large', 'tooLarge'));
  assert.ok(invalid instanceof InvalidRequest && invalid.tooLarge && invalid.message === 'too large');
  const full = back(new StoreFull('no space'));
  assert.ok(full instanceof StoreFull && full.message === 'no space');
  assert.equal(back(new RangeError('odd')).message, 'RangeError: odd');
});

it('calls under way and watches fail when the process with the store is gone', async () => {
  const { store } = behind();
  const { ours, theirs } = await streamPair();
  const served = serveStore(store, ours);
  const relayed = relayedStore(theirs);
  const watch = relayed.watch(prefixRange('/'), { signal: new AbortController().signal })[Symbol.asyncIterator]();
  await watch.next();
  const next = watch.next();
  const call = relayed.range({ start: '/a' });
  ours.destroy();
  await assert.rejects(call, StoreUnavailable);
  await assert.rejects(next, StoreUnavailable);
  await assert.rejects(relayed.status(), StoreUnavailable);
  await served;
  await store.close();
});

it('a watch that is not read holds few batches, and leaves nothing behind when its process goes', async () => {
  const { store } = behind();
  let asked = 0;
  let open = 0;
  const counting: Store = Object.assign(Object.create(store) as Store, {
    transact: store.transact.bind(store),
    async *watch(...args: Parameters<Store['watch']>): AsyncGenerator<WatchBatch> {
      open++;
      try {
        for await (const batch of store.watch(...args)) {
          asked++;
          yield batch;
        }
      } finally {
        open--;
      }
    },
  });
  const { ours, theirs } = await streamPair();
  const served = serveStore(counting, ours);
  const relayed = relayedStore(theirs);
  const signal = new AbortController().signal;
  const watch = relayed.watch(prefixRange('/'), { fromRevision: 2, signal })[Symbol.asyncIterator]();
  const put = (at: number) =>
    relayed.transact({ compare: [], then: [{ type: 'put', key: '/a', value: Buffer.from(`${at}`) }] });
  const first = watch.next();
  for (let at = 0; at < 1000; at++) await put(at);
  assert.equal((await first).value?.events.length, 1);
  assert.ok(asked < 100, `${asked} batches were taken from the store`);
  let seen = 1;
  while (seen < 1000) seen += (await watch.next()).value!.events.length;
  assert.equal(seen, 1000);
  theirs.destroy();
  await served;
  await store.transact({ compare: [], then: [{ type: 'put', key: '/b', value: Buffer.from('x') }] });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(open, 0);
  await store.close();
});

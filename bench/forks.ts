// Owns the question: how long do forks, rewinds and snapshots take, and how large does the directory grow?
// Run: node dist/bench/forks.js [keys] [updates]. In memory and embedded; a whole cluster last.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { startCluster } from '../src/main/cluster.ts';
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts';
import { restoreSnapshot } from '../src/store/embedded/restore.ts';
import { forkStore } from '../src/store/fork.ts';
import { memoryStore } from '../src/store/memory.ts';
import { saveSnapshot } from '../src/store/snapshot.ts';
import type { Store } from '../src/store/store.ts';

const deps = { clock: systemClock, log: silentLogger, random: systemRandom };
const [keys = 10_000, updates = 100_000] = process.argv.slice(2).map(Number);
const value = Buffer.alloc(1024, 'x');
const directory = mkdtempSync(join(tmpdir(), 'k8ts-bench-'));
const alive = setInterval(() => undefined, 1000);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The median of five. */
async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const took: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const begun = systemClock.monotonic();
    await work();
    took.push(systemClock.monotonic() - begun);
  }
  took.sort((a, b) => a - b);
  say(`${what}: ${took[2]!.toFixed(1)} ms`);
}

const put = (store: Store, at: number) =>
  store.transact({ compare: [], then: [{ type: 'put', key: `/registry/configmaps/a/${at}`, value }] });

async function many(store: Store, count: number, of: number): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) await put(store, next++ % of);
  };
  await Promise.all(Array.from({ length: 256 }, writer));
}

for (const [name, open] of [
  ['memory', async () => memoryStore(deps)],
  ['embedded', () => openEmbeddedStore(join(directory, 'store'), deps)],
] as const) {
  const store = await open();
  await many(store, keys, keys);
  const { revision } = await store.status();
  await many(store, 1000, keys);
  await timed(`${name}: fork of ${keys} keys`, async () => (await forkStore(store, 0, deps)).close());
  await timed(`${name}: fork as it was 1 000 changes ago`, async () =>
    (await forkStore(store, revision, deps)).close(),
  );
  if (name === 'embedded') {
    const file = join(directory, 'snapshot');
    await timed('embedded: snapshot saved', () => saveSnapshot(store, file));
    let turn = 0;
    await timed('embedded: snapshot restored', () =>
      restoreSnapshot(file, join(directory, `restored-${turn++}`), deps),
    );
  }
  await store.close();
}

const store = await openEmbeddedStore(join(directory, 'updates'), deps);
const begun = systemClock.monotonic();
await many(store, updates, 1000);
const tookMs = systemClock.monotonic() - begun;
await store.compact((await store.status()).revision);
// Space is given back in the background.
const patientUntil = systemClock.monotonic() + 30_000;
let { sizeBytes, sizeInUseBytes } = await store.status();
while (sizeBytes > 2 * sizeInUseBytes && systemClock.monotonic() < patientUntil) {
  await sleep(systemClock, 200);
  ({ sizeBytes, sizeInUseBytes } = await store.status());
}
say(`${updates} updates of 1000 keys of 1 KiB by 256 writers: ${(tookMs / 1000).toFixed(1)} s`);
say(`directory then: ${(sizeBytes / 1e6).toFixed(2)} MB, of it in use ${(sizeInUseBytes / 1e6).toFixed(2)} MB`);
await store.close();

const cluster = await startCluster({ node: 'none' });
await timed('startCluster()', async () => (await startCluster({ node: 'none' })).stop());
await timed('startCluster({ from })', async () => (await startCluster({ node: 'none', from: cluster })).stop());
await cluster.stop();
clearInterval(alive);
rmSync(directory, { recursive: true, force: true });
process.exit(0);

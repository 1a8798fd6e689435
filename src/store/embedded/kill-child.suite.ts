// Owns the process that is killed: writes with many clients at once and says on stdout what was acknowledged. Started by kill.suite.ts.
import { writeSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { openEmbeddedStore } from './embedded.ts';

const writers = 16;

const [directory, firstCount] = process.argv.slice(2) as [string, string];
const sizes = { segmentBytes: 256 * 1024, reclaimBytes: 128 * 1024 };
const store = await openEmbeddedStore(directory, {
  clock: systemClock,
  log: silentLogger,
  random: systemRandom,
  ...sizes,
});
writeSync(1, 'open\n');

async function write(writer: number): Promise<never> {
  for (let count = Number(firstCount); ; count++) {
    const key = `w${writer}/${count % 10}`;
    const value = Buffer.from(`${count}:`.padEnd(20 + ((count * 37) % 900), 'x'));
    const { revision } = await store.transact({ compare: [], then: [{ type: 'put', key, value }] });
    writeSync(1, `${key} ${count} ${revision}\n`);
    if (writer === 0 && count % 50 === 0) await store.compact(revision - 20).catch(() => undefined);
  }
}

await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));

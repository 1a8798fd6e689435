// Owns the ear inside the measured server: told over the parent's channel, it says what its process has spent and holds, and records
// profiles. Loaded before the program (node --import); does nothing unless asked.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { GCProfiler, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export type Question =
  | { readonly type: 'spent' }
  /** After collecting all garbage. */
  | { readonly type: 'held' }
  | { readonly type: 'allocations'; readonly begin: boolean }
  /** Begins a processor (or heap) profile; without a file ends it, written to the one named before. */
  | { readonly type: 'profile'; readonly kind: 'cpu' | 'heap'; readonly file?: string };

export interface Figures {
  /** Processor time of all threads so far, in µs. */
  readonly cpuUs: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** Beside the heap: buffers. */
  readonly externalBytes: number;
  /** JavaScript heap allocated while `allocations` was on. */
  readonly allocatedBytes: number;
}

/** All that is allocated, not only what is left in the end. */
const everything = {
  samplingInterval: 16_384,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
};

let profiler: GCProfiler | undefined;
let session: Session | undefined;
let file: string | undefined;

function figures(allocatedBytes = 0): Figures {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { cpuUs: user + system, residentBytes: rss, heapBytes: heapUsed, externalBytes: external, allocatedBytes };
}

function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  gc();
}

/** What each collection found beyond what the one before had left. */
function allocated(): number {
  const { statistics } = profiler!.stop();
  let bytes = 0;
  for (let at = 1; at < statistics.length; at++)
    bytes +=
      statistics[at]!.beforeGC.heapStatistics.usedHeapSize - statistics[at - 1]!.afterGC.heapStatistics.usedHeapSize;
  return bytes;
}

async function profile({ kind, file: to }: Question & { readonly type: 'profile' }): Promise<void> {
  if (to !== undefined) {
    session = new Session();
    session.connect();
    file = to;
    if (kind === 'heap') await session.post('HeapProfiler.startSampling', everything);
    else {
      await session.post('Profiler.enable');
      await session.post('Profiler.setSamplingInterval', { interval: 200 });
      await session.post('Profiler.start');
    }
    return;
  }
  const result = kind === 'heap' ? session!.post('HeapProfiler.stopSampling') : session!.post('Profiler.stop');
  writeFileSync(file!, JSON.stringify(((await result) as { profile: unknown }).profile));
  session!.disconnect();
}

async function answer(question: Question): Promise<Figures> {
  if (question.type === 'held') collect();
  if (question.type === 'profile') await profile(question);
  if (question.type === 'allocations') {
    collect();
    if (!question.begin) return figures(allocated());
    profiler = new GCProfiler();
    profiler.start();
    collect();
  }
  return figures();
}

process.on('message', (question: Question) => {
  void answer(question).then((told) => process.send!(told));
});
// The channel alone keeps no program alive.
process.channel?.unref();

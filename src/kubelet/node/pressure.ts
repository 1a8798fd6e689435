// Owns watching memory, disk and process ids, and ending pods before the node itself suffers.
import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { sleep } from '../../base/clock.ts';
import { evictionMessage, memoryVictim, type Pressure, pressureOf, type Signals } from '../eviction.ts';
import type { NodeContext } from '../pod/node-context.ts';
import type { NodePods } from '../pods.ts';

export interface PressureWatch {
  readonly present: Pressure;
  run(signal: AbortSignal): Promise<void>;
}

const roundMs = 10_000;
/** A condition stays for this long after the pressure went, so that it does not flap. */
const lingerMs = 300_000;

export function pressureWatch(node: NodeContext, pods: NodePods, folder: string, changed: () => void): PressureWatch {
  let present: Pressure = { memory: false, disk: false, pid: false };
  const until = { memory: 0, disk: 0, pid: 0 };

  async function round(): Promise<void> {
    const signals = await readSignals(folder);
    const found = pressureOf(signals);
    const now = node.clock.now();
    for (const name of ['memory', 'disk', 'pid'] as const) if (found[name]) until[name] = now + lingerMs;
    const next = { memory: until.memory > now, disk: until.disk > now, pid: until.pid > now };
    const isOther = next.memory !== present.memory || next.disk !== present.disk || next.pid !== present.pid;
    present = next;
    if (isOther) changed();
    if (found.memory) evict(signals.memoryAvailableBytes);
  }

  /** One pod a round: what it frees shows by the next. */
  function evict(availableBytes: number): void {
    const used = (pod: Parameters<typeof node.cgroups.podPath>[0]): number =>
      node.cgroups.usage(node.cgroups.podPath(pod))?.workingSetBytes ?? 0;
    const candidates = pods.list().filter(({ metadata }) => pods.worker(metadata.uid)?.isStopping === false);
    const victim = memoryVictim(candidates, used);
    if (!victim) return;
    const message = evictionMessage(victim, 'memory', availableBytes);
    node.events.event(victim, 'Warning', 'Evicted', message);
    pods.worker(victim.metadata.uid)?.stop({
      reason: 'evicted',
      graceSeconds: 0,
      sinceMs: node.clock.now(),
      statusReason: 'Evicted',
      message,
    });
  }

  return {
    get present() {
      return present;
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          await round();
        } catch (error) {
          node.logger.warn('cannot look at memory and disk', { error });
        }
        try {
          await sleep(node.clock, roundMs, signal);
        } catch (error) {
          if (signal.aborted) return;
          throw error;
        }
      }
    },
  };
}

async function readSignals(folder: string): Promise<Signals> {
  const disk = await statfs(folder);
  const memory = readFileSync('/proc/meminfo', 'utf8');
  const threads = Number(/\d+\/(\d+)/.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1] ?? 0);
  const maxPids = Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8'));
  return {
    memoryAvailableBytes: Number(/^MemAvailable:\s+(\d+)/m.exec(memory)?.[1] ?? Number.POSITIVE_INFINITY) * 1024,
    diskAvailableRatio: disk.blocks === 0 ? 1 : disk.bavail / disk.blocks,
    // Some file systems have no fixed number of inodes.
    inodesFreeRatio: disk.files === 0 ? 1 : disk.ffree / disk.files,
    pidsFreeRatio: 1 - threads / maxPids,
  };
}

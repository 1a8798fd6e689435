// Owns the life of our containerd: started detached so that it outlives us, taken over at restart, stopped when asked. Touches no other.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { type Clock, sleep } from '../../base/clock.ts';
import { snapshotterFor } from './kernel.ts';
import { connectCri } from '../cri.ts';
import {
  type ContainerdPaths,
  containerdConfig,
  type ContainerdSettings,
  maxSocketPathBytes,
} from './containerd-config.ts';

export interface ContainerdOptions extends ContainerdSettings {
  readonly paths: ContainerdPaths;
  /** The executable's absolute path. */
  readonly binary: string;
  /** What its shims find runc and iptables by. */
  readonly path: string;
  readonly clock: Clock;
}

export interface RunningContainerd {
  readonly pid: number;
  /** "unix:/…", for gRPC. */
  readonly endpoint: string;
  /** False when one from an earlier run was found and kept. */
  readonly started: boolean;
}

/** How long containerd may take to answer before it counts as failed. */
const startTimeoutMs = 20_000;

/**
 * Takes over a running one, or writes the configuration and starts it. Throws with the log's last lines when it does not come up.
 * The configuration of a running one is left as it is, for its containers' sake.
 */
export async function ensureContainerd(options: ContainerdOptions, signal?: AbortSignal): Promise<RunningContainerd> {
  const { paths } = options;
  if (Buffer.byteLength(paths.socket) > maxSocketPathBytes)
    throw new Error(`the data directory's path is too long for a socket: ${paths.socket}; choose a shorter one`);
  const endpoint = `unix:${paths.socket}`;
  const found = containerdPid(paths);
  if (found !== undefined && (await answers(endpoint, 5000))) return { pid: found, endpoint, started: false };
  if (found !== undefined) await stopContainerd(paths, options.clock);
  for (const folder of [paths.folder, paths.root, paths.state, paths.cniConfFolder, paths.cniDataFolder])
    mkdirSync(folder, { recursive: true, mode: 0o711 });
  rmSync(paths.socket, { force: true });
  rmSync(`${paths.socket}.ttrpc`, { force: true });
  const snapshotter = options.snapshotter ?? snapshotterFor(paths.root, readFileSync('/proc/self/mountinfo', 'utf8'));
  writeFileSync(paths.config, containerdConfig(paths, { ...options, snapshotter }));
  const pid = start(options);
  const deadline = options.clock.monotonic() + startTimeoutMs;
  while (!(await answers(endpoint, 2000))) {
    if (!isOurs(pid, paths) || options.clock.monotonic() > deadline)
      throw new Error(`containerd did not start; the end of ${paths.log}:\n${lastLines(paths.log, 5)}`);
    await sleep(options.clock, 20, signal);
  }
  return { pid, endpoint, started: true };
}

function start(options: ContainerdOptions): number {
  const { paths } = options;
  const log = openSync(paths.log, 'a');
  try {
    const child = spawn(options.binary, ['--config', paths.config], {
      detached: true,
      stdio: ['ignore', log, log],
      env: { PATH: options.path },
    });
    child.on('error', () => undefined);
    if (child.pid === undefined) throw new Error(`cannot start ${options.binary}`);
    child.unref();
    writeFileSync(paths.pid, String(child.pid));
    return child.pid;
  } finally {
    closeSync(log);
  }
}

/** The pid of our containerd when it lives. A number that another process got since is not ours. */
export function containerdPid(paths: ContainerdPaths): number | undefined {
  let pid: number;
  try {
    pid = Number(readFileSync(paths.pid, 'utf8'));
  } catch {
    // No file: none was started here.
    return undefined;
  }
  return Number.isInteger(pid) && pid > 1 && isOurs(pid, paths) ? pid : undefined;
}

function isOurs(pid: number, paths: ContainerdPaths): boolean {
  try {
    const isZombie = /^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return !isZombie && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(paths.config);
  } catch {
    // Gone between the two looks, or never there.
    return false;
  }
}

async function answers(endpoint: string, timeoutMs: number): Promise<boolean> {
  const cri = await connectCri(endpoint);
  try {
    await cri.runtime.version({}, { timeoutMs });
    return true;
  } catch {
    // Not yet, or no longer: the caller decides how long to go on asking.
    return false;
  } finally {
    cri.close();
  }
}

/** Starts it anew when it dies; containers go on meanwhile under their shims. Resolves when the signal aborts. */
export async function watchContainerd(
  options: ContainerdOptions,
  told: { readonly restarted: () => void; readonly failed: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sleep(options.clock, watchMs, signal);
      if (containerdPid(options.paths) !== undefined) continue;
      await ensureContainerd(options, signal);
      told.restarted();
    } catch (error) {
      if (signal.aborted) return;
      told.failed(error);
    }
  }
}

const watchMs = 1000;

/** Stops it with SIGTERM, then SIGKILL; containers and their shims go on. Resolves when it is gone. */
export async function stopContainerd(paths: ContainerdPaths, clock: Clock): Promise<void> {
  const pid = containerdPid(paths);
  if (pid !== undefined) {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (isOurs(pid, paths)) process.kill(pid, signal);
      for (let waited = 0; waited < 10_000 && isOurs(pid, paths); waited += 20) await sleep(clock, 20);
    }
  }
  rmSync(paths.pid, { force: true });
}

/**
 * Process ids of shims whose state lies below our folder, each after what it started: all that is left of containers. A container's
 * first process must be ended itself: it outlives a killed shim.
 */
export function shimPids(paths: ContainerdPaths, pids: readonly string[]): number[] {
  const shims = pids.filter((pid) => isShim(pid, paths)).map(Number);
  const started = pids.filter((pid) => shims.includes(parentOf(pid))).map(Number);
  return [...started.filter((pid) => !shims.includes(pid)), ...shims];
}

function isShim(pid: string, paths: ContainerdPaths): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(paths.socket) &&
      readlinkSync(`/proc/${pid}/exe`).includes('containerd-shim')
    );
  } catch {
    // It ended meanwhile.
    return false;
  }
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    // It ended meanwhile.
    return 0;
  }
}

function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  } catch {
    return '(no log)';
  }
}

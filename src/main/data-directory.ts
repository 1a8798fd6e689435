// Owns where a cluster lives on disk, who has it open, and the format of the directory.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from './user-error.ts';

/** Raised when the layout changes; an older number is upgraded at open, a newer one refused. */
const formatVersion = 1;

/** What must stay the same from one start to the next. */
export interface ClusterRecord {
  readonly format: number;
  readonly name: string;
  readonly createdAt: string;
  readonly serviceSubnet: string;
  readonly podSubnet: string;
  readonly node: 'real' | 'simulated' | 'none';
  readonly nodes: number;
  /** 0 until the first start has chosen one. */
  readonly port: number;
}

/** Written by a running process, so that others find it. */
export interface RunningRecord {
  readonly pid: number;
  /** From /proc/PID/stat where there is one: tells a reused pid from ours. */
  readonly startTicks: string;
  readonly server: string;
  readonly context: string;
  readonly kubeconfig: string;
}

export interface DataDirectory {
  readonly path: string;
  readonly record: ClusterRecord;
  readonly pki: string;
  readonly store: string;
  readonly logs: string;
  readonly node: string;
  writeRecord(record: ClusterRecord): void;
  writeRunning(running: Omit<RunningRecord, 'pid' | 'startTicks'>): void;
  /** Lets the next process in. */
  release(): void;
}

/** Opens or makes the directory and takes it for this process. Throws UserError when another has it or it cannot be used. */
export function openDataDirectory(path: string, fresh: Omit<ClusterRecord, 'format'>): DataDirectory {
  guard(path, () => mkdirSync(path, { recursive: true, mode: 0o700 }));
  const running = readRunning(path);
  if (running !== undefined) {
    throw new UserError(
      `cluster "${running.context}" already runs from ${path} (process ${running.pid})`,
      'stop it with `k8ts down`, or start another with --name',
    );
  }
  const record = readRecord(path) ?? { format: formatVersion, ...fresh };
  const directory = {
    path,
    record,
    pki: join(path, 'pki'),
    store: join(path, 'store'),
    logs: join(path, 'logs'),
    node: join(path, 'node'),
  };
  for (const part of [directory.pki, directory.store, directory.logs]) {
    guard(path, () => mkdirSync(part, { recursive: true, mode: 0o700 }));
  }
  const writeRecord = (next: ClusterRecord) => guard(path, () => replaceFile(join(path, 'cluster.json'), toJson(next)));
  writeRecord(record);
  const runningFile = join(path, 'running.json');
  const self = { pid: process.pid, startTicks: startTicks(process.pid) };
  const writeRunning: DataDirectory['writeRunning'] = (now) =>
    guard(path, () => replaceFile(runningFile, toJson({ ...self, ...now })));
  writeRunning({ server: '', context: record.name, kubeconfig: '' });
  return { ...directory, writeRecord, writeRunning, release: () => rmSync(runningFile, { force: true }) };
}

/** The process that has the directory open; undefined when none is alive. */
export function readRunning(path: string): RunningRecord | undefined {
  const text = readText(join(path, 'running.json'));
  if (text === undefined) return undefined;
  const running = parse<RunningRecord>(join(path, 'running.json'), text);
  return isAlive(running) ? running : undefined;
}

/** The cluster that a directory holds; undefined when there is none. Throws UserError for a damaged or newer one. */
export function readRecord(path: string): ClusterRecord | undefined {
  const file = join(path, 'cluster.json');
  const text = readText(file);
  if (text === undefined) return undefined;
  const record = parse<ClusterRecord>(file, text);
  if (typeof record.format !== 'number' || typeof record.name !== 'string') throw damaged(file);
  if (record.format > formatVersion) {
    throw new UserError(
      `${path} was written by a newer k8ts (format ${record.format})`,
      'use that version, or another --data-dir',
    );
  }
  return record;
}

function isAlive({ pid, startTicks: recorded }: RunningRecord): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return pid !== process.pid && !isZombie(pid) && (recorded === '' || startTicks(pid) === recorded);
}

/** Killed, but its parent has not asked for its exit code yet: it holds nothing any more. */
function isZombie(pid: number): boolean {
  const stat = readText(`/proc/${pid}/stat`);
  return stat !== undefined && stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

/** When a process started, in clock ticks since boot; empty where there is no /proc. */
function startTicks(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`);
  return stat === undefined ? '' : (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '');
}

function readText(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  return guard(file, () => readFileSync(file, 'utf8'));
}

function parse<T>(file: string, text: string): T {
  try {
    const value = JSON.parse(text) as T;
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    throw damaged(file);
  }
  throw damaged(file);
}

function damaged(file: string): UserError {
  return new UserError(`${file} is damaged`, 'restore it from a backup, or start afresh with `k8ts reset`');
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Writes a file so that a crash leaves the old or the new one. */
export function replaceFile(file: string, text: string, mode = 0o600): void {
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, text, { mode, flush: true });
  renameSync(draft, file);
}

/** Turns the system's complaints about files into one clear line. */
export function guard<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    switch (code) {
      case 'ENOSPC':
      case 'EDQUOT':
        throw new UserError(`no space left for ${path}`, 'free some space or choose another --data-dir');
      case 'EACCES':
      case 'EPERM':
      case 'EROFS':
        throw new UserError(
          `${path} cannot be written: ${code === 'EROFS' ? 'read-only file system' : 'permission denied'}`,
          'choose another --data-dir',
        );
      case 'ENOTDIR':
      case 'EEXIST':
        throw new UserError(`${path} is not a directory`, 'choose another --data-dir');
      case undefined:
        throw error;
      default:
        throw new UserError(`${path}: ${message}`, 'choose another --data-dir');
    }
  }
}

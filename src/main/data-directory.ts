// Owns where a cluster lives on disk, who has it open, and the format of the directory.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LockHeld, takeLockFile } from '../base/lock-file.ts';
import { isAlive, type ProcessIdentity, thisProcess } from '../base/process-identity.ts';
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
  /** Where its context was put at the last start. */
  readonly kubeconfig?: string;
}

/** Written by a running process, so that others find it. */
export interface RunningRecord extends ProcessIdentity {
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
  guard(path, () => makeDirectory(path));
  const runningFile = join(path, 'running.json');
  const release = guard(path, () => takeRunning(path, runningFile, fresh.name));
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
  const self = thisProcess();
  const writeRunning: DataDirectory['writeRunning'] = (now) =>
    guard(path, () => replaceFile(runningFile, toJson({ ...self, ...now })));
  return { ...directory, writeRecord, writeRunning, release };
}

/** Node's recursive mkdir never returns where a parent exists and takes no directories, as in /proc: hence one by one. */
function makeDirectory(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory()) return;
  if (!existsSync(dirname(path))) makeDirectory(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** The record of a running process is also its lock. Returns the release. */
function takeRunning(path: string, file: string, context: string): () => void {
  const own: RunningRecord = { ...thisProcess(), server: '', context, kubeconfig: '' };
  try {
    takeLockFile(file, toJson(own), () => readRunning(path) !== undefined);
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    const running = readRunning(path);
    throw new UserError(
      `a cluster already runs from ${path}${running === undefined ? '' : ` (process ${running.pid})`}`,
      'stop it with `k8ts down`, or start another with --name',
    );
  }
  return () => rmSync(file, { force: true });
}

/** The process that has the directory open; undefined when none is alive. */
export function readRunning(path: string): RunningRecord | undefined {
  const text = readText(join(path, 'running.json'));
  if (text === undefined) return undefined;
  const running = parse<RunningRecord>(join(path, 'running.json'), text);
  // A record with our own number was left by one that had it before.
  return running.pid !== process.pid && isAlive(running) ? running : undefined;
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
export function guard<T>(path: string, action: () => T, other = 'choose another --data-dir'): T {
  try {
    return action();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    switch (code) {
      case 'ENOSPC':
      case 'EDQUOT':
        throw new UserError(`no space left for ${path}`, `free some space or ${other}`);
      case 'EACCES':
      case 'EPERM':
      case 'EROFS':
        throw new UserError(
          `${path} cannot be written: ${code === 'EROFS' ? 'read-only file system' : 'permission denied'}`,
          other,
        );
      case 'ENOTDIR':
      case 'EEXIST':
        throw new UserError(`${path} is not a directory`, other);
      case undefined:
        throw error;
      default:
        throw new UserError(`${path}: ${message}`, other);
    }
  }
}

// Owns the file operations that the embedded engine needs, as an interface: tests put power loss, full disks and flipped
// bits behind it. Knows nothing of what is in the files.
import { constants, closeSync, fdatasync, fstatSync, ftruncateSync, mkdirSync, openSync } from 'node:fs';
import { readSync, readdirSync, renameSync, rmSync, writeSync, fsync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from './directory-lock.ts';

export interface StoreFile {
  size(): number;
  /** Fills `into` from `position` as far as the file goes; returns the bytes read. */
  read(into: Uint8Array, position: number): number;
  /** Hands all bytes to the system, and keeps none; not durable before `sync`. May have written a part when it throws. */
  write(bytes: Uint8Array, position: number): void;
  truncate(size: number): void;
  /** Resolves when content and size are durable. */
  sync(): Promise<void>;
  close(): void;
}

/** Names are plain file names in the one directory. Errors carry Node's `code`. */
export interface FileLayer {
  /** For messages: where the files are. */
  readonly directory: string;
  list(): string[];
  open(name: string): StoreFile;
  /** The file must not exist. */
  create(name: string): StoreFile;
  rename(from: string, to: string): void;
  /** A file that is gone already is fine. Open files stay readable. */
  remove(name: string): void;
  /** Resolves when creations, renames and removals are durable. */
  syncDirectory(): Promise<void>;
  /** Throws `StoreLocked` when another holds the directory. Returns the release. */
  lock(): () => void;
}

export interface DiskOptions {
  /** False: nothing is waited for, and what was written last is lost when the host (not just the process) dies. */
  readonly durable?: boolean;
}

export function diskFiles(directory: string, { durable = true }: DiskOptions = {}): FileLayer {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const at = (name: string) => join(directory, name);
  return {
    directory,
    list: () => readdirSync(directory),
    open: (name) => diskFile(openSync(at(name), constants.O_RDWR), durable),
    create: (name) =>
      diskFile(openSync(at(name), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600), durable),
    rename: (from, to) => renameSync(at(from), at(to)),
    remove: (name) => rmSync(at(name), { force: true }),
    async syncDirectory() {
      if (!durable) return;
      const fd = openSync(directory, constants.O_RDONLY);
      try {
        await settled((done) => fsync(fd, done));
      } finally {
        closeSync(fd);
      }
    },
    lock: () => lockDirectory(directory),
  };
}

function diskFile(fd: number, durable: boolean): StoreFile {
  return {
    size: () => fstatSync(fd).size,
    read(into, position) {
      let total = 0;
      while (total < into.length) {
        const count = readSync(fd, into, total, into.length - total, position + total);
        if (count === 0) break;
        total += count;
      }
      return total;
    },
    write(bytes, position) {
      for (let done = 0; done < bytes.length; )
        done += writeSync(fd, bytes, done, bytes.length - done, position + done);
    },
    truncate: (size) => ftruncateSync(fd, size),
    sync: durable ? () => settled((done) => fdatasync(fd, done)) : () => Promise.resolve(),
    close: () => closeSync(fd),
  };
}

function settled(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve())));
}

// `k8ts logs`: a component's log file, whole or its end, and what is added to it.
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { dataDirectoryOf, thisEnvironment } from '../places.ts';
import { UserError } from '../user-error.ts';

export interface LogsOptions {
  readonly name?: string;
  readonly dataDir?: string;
  readonly follow?: boolean;
  readonly tail?: number;
}

const chunkBytes = 64 * 1024;

export async function logs(component: string | undefined, options: LogsOptions): Promise<void> {
  const path = dataDirectoryOf(options, thisEnvironment());
  const folder = join(path, 'logs');
  if (!existsSync(folder)) throw new UserError(`there is no cluster in ${path}`, 'name it with --name or --data-dir');
  const known = readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => name.slice(0, -4));
  if (component === undefined) {
    process.stdout.write(known.map((name) => `${name}\n`).join(''));
    return;
  }
  if (!known.includes(component))
    throw new UserError(
      `${component} has logged nothing, or is not known`,
      `there are logs of: ${known.join(', ') || 'none yet'}`,
    );
  const file = join(folder, `${component}.log`);
  const descriptor = openSync(file, 'r');
  let at = options.tail === undefined ? 0 : startOfTail(descriptor, options.tail);
  const copy = () => {
    if (statSync(file).size < at) at = 0;
    const buffer = Buffer.alloc(chunkBytes);
    for (
      let read = readSync(descriptor, buffer, 0, chunkBytes, at);
      read > 0;
      read = readSync(descriptor, buffer, 0, chunkBytes, at)
    ) {
      process.stdout.write(Buffer.from(buffer.subarray(0, read)));
      at += read;
    }
  };
  copy();
  if (options.follow !== true) {
    closeSync(descriptor);
    return;
  }
  const watcher = watch(file, copy);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
    process.stdout.once('error', () => resolve());
  });
  watcher.close();
  closeSync(descriptor);
}

/** Where the last `lines` lines begin. */
function startOfTail(descriptor: number, lines: number): number {
  const buffer = Buffer.alloc(chunkBytes);
  let end = fstatSync(descriptor).size;
  let seen = 0;
  while (end > 0) {
    const start = Math.max(0, end - chunkBytes);
    const read = readSync(descriptor, buffer, 0, end - start, start);
    for (let i = read - 1; i >= 0; i--) {
      if (buffer[i] === 10 && seen++ === lines) return start + i + 1;
    }
    end = start;
  }
  return 0;
}

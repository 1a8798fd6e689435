// Owns the components' log files: one each in the cluster's directory, started anew when it has grown too large.
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { logger, type Logger, type LogLevel } from '../base/log.ts';

/** At this size a log moves to `<component>.log.1`, whose old content is dropped. */
const maxBytes = 16 * 1024 * 1024;

export interface ComponentLogs {
  readonly of: (component: string) => Logger;
  close(): void;
}

export function componentLogs(folder: string, level: LogLevel): ComponentLogs {
  const open = new Map<string, { descriptor: number; bytes: number }>();

  function write(component: string, line: string): void {
    const file = join(folder, `${component}.log`);
    let log = open.get(component);
    if (log !== undefined && log.bytes > maxBytes) {
      closeSync(log.descriptor);
      renameSync(file, `${file}.1`);
      log = undefined;
    }
    if (log === undefined) {
      const descriptor = openSync(file, 'a', 0o600);
      log = { descriptor, bytes: fstatSync(descriptor).size };
      open.set(component, log);
    }
    try {
      log.bytes += writeSync(log.descriptor, line);
    } catch (error) {
      // A full disk must not stop the cluster: the line is lost, later ones are tried again.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  return {
    of: (component) => logger(level, (line) => write(component, line)),
    close() {
      for (const { descriptor } of open.values()) closeSync(descriptor);
      open.clear();
    },
  };
}

// Owns reading what a finished container left as its last words.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { parseCriLine } from './log-format.ts';
import { runtimeAnnotations } from './runtime-pod.ts';

const maxMessageBytes = 4096;
/** From the log where the container left no message and failed (API documentation, terminationMessagePolicy). */
const maxLogBytes = 2048;
const maxLogLines = 80;

export function terminationMessage(
  annotations: Readonly<Record<string, string>>,
  exitCode: number,
  logPath: string,
  mounts: readonly { readonly containerPath: string; readonly hostPath: string }[],
): string {
  const path = annotations[runtimeAnnotations.terminationMessagePath];
  const file = mounts.find(({ containerPath }) => containerPath === path)?.hostPath;
  const message = file === undefined ? '' : readEnd(file, maxMessageBytes, true);
  const policy = annotations[runtimeAnnotations.terminationMessagePolicy];
  if (message !== '' || policy !== 'FallbackToLogsOnError' || exitCode === 0 || logPath === '') return message;
  return readEnd(logPath, maxLogBytes * 4, false)
    .split('\n')
    .map((line) => parseCriLine(line)?.content)
    .filter((content) => content !== undefined)
    .slice(-maxLogLines)
    .join('')
    .slice(-maxLogBytes);
}

function readEnd(file: string, maxBytes: number, fromStart: boolean): string {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    // The container's folder is gone: there is no message to tell.
    return '';
  }
  try {
    const { size } = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, maxBytes));
    readSync(fd, buffer, 0, buffer.length, fromStart ? 0 : Math.max(0, size - maxBytes));
    return buffer.toString('utf8');
  } finally {
    closeSync(fd);
  }
}

// Owns telling the process that wrote a file from another that has its number now. Linux knows more than other systems.
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in clock ticks since boot, from /proc/PID/stat; empty where there is no /proc. */
  readonly startTicks: string;
}

export function thisProcess(): ProcessIdentity {
  return { pid: process.pid, startTicks: statFields(process.pid)[19] ?? '' };
}

/** A process that was killed but not yet waited for holds nothing any more: it does not count as alive. */
export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const fields = statFields(pid);
  return fields[0] !== 'Z' && (startTicks === '' || fields[19] === startTicks);
}

/** What stands in /proc/PID/stat behind the command in parentheses, which may hold anything; none without /proc. */
function statFields(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return [];
    throw error;
  }
}

// Owns noticing that the process which started this one has ended. Ends nothing itself.
import { type Clock } from '../base/clock.ts';
import { isAlive } from '../base/process-identity.ts';

const everyMs = 500;

/** Calls `ended` once when the parent of this process is gone. Elsewhere than on Windows an orphan gets another parent. */
export function whenParentEnds(clock: Clock, ended: () => void): void {
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid !== parent || !isAlive({ pid: parent, startTicks: '' })) ended();
    else clock.after(everyMs, look);
  };
  clock.after(everyMs, look);
}

// Owns the stopping of a cluster's process from outside: asks, waits, and says when it does not end.
import { sleep, systemClock } from '../base/clock.ts';
import { readRunning } from './data-directory.ts';
import { UserError } from './user-error.ts';

const patienceMs = 60_000;

/** Asks the process that has the directory open to stop and waits until it is gone. False when none runs. */
export async function stopRunning(path: string): Promise<boolean> {
  const running = readRunning(path);
  if (running === undefined) return false;
  try {
    process.kill(running.pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw new UserError(
      `process ${running.pid} may not be stopped by this user`,
      'run the command as the user who started it',
    );
  }
  const deadline = systemClock.monotonic() + patienceMs;
  const alive = () => readRunning(path)?.pid === running.pid;
  while (alive()) {
    if (systemClock.monotonic() > deadline) {
      throw new UserError(
        `process ${running.pid} has not stopped after ${patienceMs / 1000} s`,
        `look at its logs, or end it with: kill -9 ${running.pid}`,
      );
    }
    await sleep(systemClock, 50);
  }
  return true;
}

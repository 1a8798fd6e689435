// Owns the workers of a queue of names: each is reconciled until the signal aborts. What a failure means is its caller's.
import { isAbort, taskGroup } from '../../base/task-group.ts';
import type { WorkQueue } from '../../client/work-queue.ts';

export interface Work {
  reconcile(name: string, signal: AbortSignal): Promise<void>;
  /** Of failures other than the end. What it throws ends the workers. */
  failed(name: string, error: unknown): void;
}

export async function workThrough(
  queue: WorkQueue,
  workers: number,
  { reconcile, failed }: Work,
  signal: AbortSignal,
): Promise<void> {
  const work = async (ended: AbortSignal): Promise<void> => {
    for (let name = await queue.take(); name !== undefined; name = await queue.take()) {
      try {
        await reconcile(name, ended);
        queue.forget(name);
      } catch (error) {
        if (isAbort(error) || ended.aborted) return;
        failed(name, error);
      } finally {
        queue.done(name);
      }
    }
  };
  const group = taskGroup(signal);
  signal.addEventListener('abort', () => queue.close(), { once: true });
  if (signal.aborted) queue.close();
  for (let at = 0; at < workers; at++) group.run(`worker ${at}`, work);
  try {
    await group.done;
  } finally {
    queue.close();
  }
}

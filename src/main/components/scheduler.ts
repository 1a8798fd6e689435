// Composes kube-scheduler: informers, events and the scheduler itself over one client.
import { taskGroup } from '../../base/task-group.ts';
import { eventBroadcaster } from '../../client/events.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { lead, type LeaderElectionOptions } from '../../client/leader-election.ts';
import { scheduler, type SchedulerOptions } from '../../scheduler/scheduler.ts';
import type { ComponentDeps } from './component.ts';

export interface SchedulerComponentOptions extends SchedulerOptions {
  /** Who this one is among several; absent: the only one. */
  readonly identity?: string;
  readonly election?: Partial<Pick<LeaderElectionOptions, 'leaseMs' | 'renewMs' | 'retryMs'>>;
}

export async function runScheduler(
  options: SchedulerComponentOptions,
  deps: ComponentDeps,
  signal: AbortSignal,
): Promise<void> {
  const runAll = async (stop: AbortSignal): Promise<void> => {
    const group = taskGroup(stop);
    const informers = informerFactory(deps.client, deps);
    const events = eventBroadcaster(deps);
    const self = scheduler(options, {
      ...deps,
      informers,
      events: (name) => events.seriesRecorder(name, options.identity ?? name),
    });
    group.run('events', (inner) => events.run(inner));
    group.run('scheduler', (inner) => self.run(inner));
    group.run('informers', (inner) => informers.run(inner));
    await group.done;
  };
  const { identity } = options;
  if (identity === undefined) return runAll(signal);
  return lead(
    { ...deps, ...options.election, identity, lease: { namespace: 'kube-system', name: 'kube-scheduler' } },
    runAll,
    signal,
  );
}

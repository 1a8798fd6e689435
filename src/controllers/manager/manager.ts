// Owns running the chosen controllers as one component: election, shared informers, events. Knows no single controller.
import { taskGroup } from '../../base/task-group.ts';
import { eventBroadcaster } from '../../client/events.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { lead } from '../../client/leader-election.ts';
import { type ControllerContext, runController } from '../framework/controller.ts';
import { selectControllers } from '../framework/selection.ts';
import { serviceAccountOf } from './accounts.ts';
import { controllers } from './controllers.ts';
import type { ControllerManagerDeps, ControllerManagerOptions } from './options.ts';

export interface ControllerManager {
  /** The names of the controllers that will run. */
  readonly names: readonly string[];
  /** Runs until the signal aborts. Rejects with LeadershipLost when another took over. */
  run(signal: AbortSignal): Promise<void>;
}

/** Throws when --controllers names one that does not exist. */
export function controllerManager(options: ControllerManagerOptions, deps: ControllerManagerDeps): ControllerManager {
  const chosen = selectControllers(controllers, options.controllers ?? ['*']);
  const logger = deps.logger.child('kube-controller-manager');

  async function runAll(signal: AbortSignal): Promise<void> {
    const group = taskGroup(signal);
    const informers = deps.informers ?? informerFactory(deps.client, { ...deps, logger });
    const events = eventBroadcaster({ ...deps, logger });
    const context: ControllerContext = { ...deps, logger, informers, events };
    group.run('events', (stop) => events.run(stop));
    for (const { name, make } of chosen) {
      const controller = make(ownContext(name, context, deps), options);
      if (controller) group.run(name, (stop) => runController(controller, context, stop));
    }
    if (!deps.informers) group.run('informers', (stop) => informers.run(stop));
    await group.done;
  }

  return {
    names: chosen.map(({ name }) => name),
    run(signal) {
      const { leaderElection } = options;
      if (!leaderElection) return runAll(signal);
      const { namespace = 'kube-system', name = 'kube-controller-manager', ...durations } = leaderElection;
      return lead({ ...deps, logger, ...durations, lease: { namespace, name } }, runAll, signal);
    },
  };
}

/** Each controller may do only what its own account's role says. */
function ownContext(name: string, context: ControllerContext, { clientOf }: ControllerManagerDeps): ControllerContext {
  const account = serviceAccountOf(name);
  if (clientOf === undefined || account === undefined) return context;
  const client = clientOf(account);
  return { ...context, client, informers: context.informers.as(client) };
}

// Owns PrioritySort: the more important pod first, then the one that waits longer.
import type { SchedulerPlugin } from '../framework/plugin.ts';

export function prioritySort(): SchedulerPlugin<undefined> {
  return {
    name: 'PrioritySort',
    compare: (a, b) => b.info.priority - a.info.priority || a.queuedMs - b.queuedMs || a.order - b.order,
  };
}

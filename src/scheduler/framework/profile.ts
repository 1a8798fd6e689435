// Owns a profile: the plugins that one schedulerName runs, in order, with weights, sorted by extension point once.
import type { SchedulerPlugin } from './plugin.ts';

export interface WeightedPlugin {
  readonly plugin: SchedulerPlugin;
  /** Applies to score; 0 is read as 1. */
  readonly weight?: number;
}

export type With<K extends keyof SchedulerPlugin> = SchedulerPlugin & Required<Pick<SchedulerPlugin, K>>;

export class Profile {
  readonly schedulerName: string;
  readonly plugins: readonly SchedulerPlugin[];
  /** 0: adaptive. */
  readonly percentageOfNodesToScore: number;
  readonly preEnqueue: readonly With<'preEnqueue'>[];
  readonly preFilter: readonly With<'preFilter'>[];
  readonly filter: readonly With<'filter'>[];
  readonly postFilter: readonly With<'postFilter'>[];
  readonly score: readonly { readonly plugin: With<'score'>; readonly weight: number; readonly at: number }[];
  readonly reserve: readonly SchedulerPlugin[];
  readonly permit: readonly With<'permit'>[];
  readonly preBind: readonly With<'preBind'>[];
  readonly bind: readonly With<'bind'>[];
  readonly postBind: readonly With<'postBind'>[];
  /** Where a plugin's state is kept. */
  readonly indexOf: ReadonlyMap<SchedulerPlugin, number>;

  constructor(schedulerName: string, plugins: readonly WeightedPlugin[], percentageOfNodesToScore = 0) {
    const all = plugins.map(({ plugin }) => plugin);
    const having = <K extends keyof SchedulerPlugin>(key: K): With<K>[] =>
      all.filter((plugin): plugin is With<K> => plugin[key] !== undefined);
    this.schedulerName = schedulerName;
    this.plugins = all;
    this.percentageOfNodesToScore = percentageOfNodesToScore;
    this.indexOf = new Map(all.map((plugin, at) => [plugin, at]));
    this.preEnqueue = having('preEnqueue');
    this.preFilter = having('preFilter');
    this.filter = having('filter');
    this.postFilter = having('postFilter');
    this.score = plugins.flatMap(({ plugin, weight }, at) =>
      plugin.score === undefined ? [] : [{ plugin: plugin as With<'score'>, weight: weight || 1, at }],
    );
    this.reserve = all.filter((plugin) => plugin.reserve !== undefined || plugin.unreserve !== undefined);
    this.permit = having('permit');
    this.preBind = having('preBind');
    this.bind = having('bind');
    this.postBind = having('postBind');
    if (this.bind.length === 0) throw new Error(`profile ${schedulerName} has no bind plugin`);
  }

  /** Undoes in reverse order whatever reserve claimed. */
  unreserve(...[pod, nodeName]: Parameters<NonNullable<SchedulerPlugin['unreserve']>>): void {
    for (const plugin of this.reserve.toReversed()) plugin.unreserve?.(pod, nodeName);
  }
}

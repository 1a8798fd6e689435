// Owns KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): which plugins a profile runs, with which weights and arguments.
import { Profile, type WeightedPlugin } from './framework/profile.ts';
import type { SchedulerPlugin } from './framework/plugin.ts';
import { builtIns, type PluginDeps } from './plugins.ts';

export interface PluginSet {
  readonly enabled?: readonly { readonly name: string; readonly weight?: number }[];
  /** "*" disables all. */
  readonly disabled?: readonly { readonly name: string }[];
}

/** The extension points as the configuration names them. */
const extensionPoints = [
  'multiPoint',
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
] as const;
export type ExtensionPoint = (typeof extensionPoints)[number];

export interface ProfileConfiguration {
  readonly schedulerName?: string;
  readonly percentageOfNodesToScore?: number;
  readonly plugins?: Partial<Readonly<Record<ExtensionPoint, PluginSet>>>;
  readonly pluginConfig?: readonly { readonly name: string; readonly args?: unknown }[];
}

export interface KubeSchedulerConfiguration {
  readonly percentageOfNodesToScore?: number;
  readonly podInitialBackoffSeconds?: number;
  readonly podMaxBackoffSeconds?: number;
  readonly profiles?: readonly ProfileConfiguration[];
}

type Makers = Readonly<Record<string, (args: unknown, deps: PluginDeps) => SchedulerPlugin>>;

/** What each extension point of the configuration means in a plugin; disabling a point takes these away. */
const membersOf: Readonly<Record<Exclude<ExtensionPoint, 'multiPoint'>, readonly (keyof SchedulerPlugin)[]>> = {
  preEnqueue: ['preEnqueue'],
  queueSort: ['compare'],
  preFilter: ['preFilter'],
  filter: ['filter'],
  postFilter: ['postFilter'],
  preScore: ['preScore'],
  score: ['score', 'normalize'],
  reserve: ['reserve', 'unreserve'],
  permit: ['permit'],
  preBind: ['preBind', 'preBindNeeded'],
  bind: ['bind'],
  postBind: ['postBind'],
};

/** Throws an Error that names the profile and plugin for what cannot be. */
export function profilesOf(
  configuration: KubeSchedulerConfiguration,
  own: Makers,
  deps: PluginDeps,
): ReadonlyMap<string, Profile> {
  const profiles = new Map<string, Profile>();
  const configured = configuration.profiles?.length ? configuration.profiles : [{}];
  for (const profile of configured) {
    const name = profile.schedulerName ?? 'default-scheduler';
    if (profiles.has(name)) throw new Error(`two profiles are named ${name}`);
    const percentage = profile.percentageOfNodesToScore ?? configuration.percentageOfNodesToScore ?? 0;
    profiles.set(name, new Profile(name, pluginsOf(name, profile, own, deps), percentage));
  }
  return profiles;
}

interface Chosen {
  readonly weight: number | undefined;
  /** undefined: all that it has. */
  readonly points: Set<ExtensionPoint> | undefined;
  readonly without: Set<ExtensionPoint>;
}

function pluginsOf(
  profileName: string,
  profile: ProfileConfiguration,
  own: Makers,
  deps: PluginDeps,
): WeightedPlugin[] {
  const makers = new Map<string, (args: unknown, deps: PluginDeps) => SchedulerPlugin>(Object.entries(own));
  for (const { name, make } of builtIns) makers.set(name, make);
  const args = new Map(profile.pluginConfig?.map((config) => [config.name, config.args]));
  for (const name of args.keys())
    if (!makers.has(name)) throw new Error(`profile ${profileName}: no plugin named ${name}`);
  return [...choose(profileName, profile, makers)].map(([name, { weight, points, without }]) => {
    const plugin = makers.get(name)!(args.get(name), deps);
    return { plugin: restrict(plugin, points, without), ...(weight !== undefined && { weight }) };
  });
}

function choose(
  profileName: string,
  { plugins = {} }: ProfileConfiguration,
  makers: ReadonlyMap<string, unknown>,
): Map<string, Chosen> {
  const disabled = (point: ExtensionPoint) => new Set(plugins[point]?.disabled?.map(({ name }) => name));
  const offEverywhere = disabled('multiPoint');
  const chosen = new Map<string, Chosen>();
  const enabled = new Map(plugins.multiPoint?.enabled?.map(({ name, weight }) => [name, weight]));
  for (const { name, weight } of builtIns)
    if (!offEverywhere.has('*') && !offEverywhere.has(name))
      chosen.set(name, { weight: enabled.get(name) || weight, points: undefined, without: new Set() });
  for (const [name, weight] of enabled)
    if (!chosen.has(name))
      chosen.set(name, {
        weight: weight || builtIns.find((builtIn) => builtIn.name === name)?.weight,
        points: undefined,
        without: new Set(),
      });
  for (const point of extensionPoints) {
    if (point === 'multiPoint') continue;
    const off = disabled(point);
    for (const [name, { without }] of chosen) if (off.has('*') || off.has(name)) without.add(point);
    for (const { name, weight } of plugins[point]?.enabled ?? []) {
      const known = chosen.get(name);
      known?.without.delete(point);
      known?.points?.add(point);
      chosen.set(name, {
        weight: weight || known?.weight,
        points: known === undefined ? new Set([point]) : known.points,
        without: known?.without ?? new Set(),
      });
    }
  }
  for (const name of chosen.keys())
    if (!makers.has(name)) throw new Error(`profile ${profileName}: no plugin named ${name}`);
  return chosen;
}

function restrict(
  plugin: SchedulerPlugin,
  points: ReadonlySet<ExtensionPoint> | undefined,
  without: ReadonlySet<ExtensionPoint>,
): SchedulerPlugin {
  if (points === undefined && without.size === 0) return plugin;
  const restricted: SchedulerPlugin = { ...plugin };
  for (const [point, members] of Object.entries(membersOf) as [ExtensionPoint, readonly (keyof SchedulerPlugin)[]][])
    if (without.has(point) || (points !== undefined && !points.has(point)))
      for (const member of members) delete (restricted as unknown as Record<string, unknown>)[member];
  return restricted;
}

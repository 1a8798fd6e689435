// Owns programming nftables: one transaction a sync, with only what changed.
import type { RunCommand } from '../../base/run-command.ts';
import type { Proxier } from '../proxier.ts';
import type { ServicePlan } from '../service-plan.ts';
import {
  addPort,
  changeInput,
  emptyRuleset,
  fullInput,
  type NftOptions,
  type Ruleset,
  tableName,
  verdictMaps,
} from './ruleset.ts';

export interface NftablesOptions extends NftOptions {
  /** Put before each command: works in another network namespace. */
  readonly prefix?: readonly string[];
}

export function nftablesProxier(options: NftablesOptions, run: RunCommand): Proxier {
  const table = tableName(options.family);
  /** False when the kernel may hold anything. */
  let known = false;
  const nft = (args: readonly string[], input?: string) => {
    const words = [...(options.prefix ?? []), 'nft', ...args];
    return run(words[0]!, words.slice(1), { ...(input !== undefined && { input }), timeoutMs: 60_000 });
  };
  const apply = async (input: string) => {
    const { code, stderr } = await nft(['-f', '-'], input);
    if (code !== 0) throw new Error(`nft failed: ${stderr.trim().slice(0, 1000)}`);
  };
  const fragments = new Map<string, Ruleset>();
  /** How many services want each key of each map: two may ask for the same external address. */
  const owners = new Map<string, number>();
  const own = (fragment: Ruleset | undefined, by: 1 | -1): boolean => {
    let contested = false;
    for (const map of verdictMaps)
      for (const key of fragment?.maps[map].keys() ?? []) {
        const count = (owners.get(`${map} ${key}`) ?? 0) + by;
        if (count === 0) owners.delete(`${map} ${key}`);
        else owners.set(`${map} ${key}`, count);
        // Also when one of two gives up: the other's verdict must come in its place.
        if (count > (by === 1 ? 1 : 0)) contested = true;
      }
    return contested;
  };

  /** Brings the fragments up to date. Answers what to write, or undefined when only the whole will do. */
  function change(plans: ReadonlyMap<string, ServicePlan>, changed: ReadonlySet<string>): string | undefined {
    const before = emptyRuleset();
    const after = emptyRuleset();
    let contested = false;
    const keys = fragments.size === 0 ? new Set([...plans.keys(), ...changed]) : changed;
    for (const key of keys) {
      const plan = plans.get(key);
      const old = fragments.get(key);
      const next = plan && fragmentOf(plan, options);
      contested = own(old, -1) || contested;
      contested = own(next, 1) || contested;
      if (old) merge(before, old);
      if (next) merge(after, next);
      if (next) fragments.set(key, next);
      else fragments.delete(key);
    }
    return contested || !known ? undefined : changeInput(before, after, options);
  }

  return {
    async sync(plans: ReadonlyMap<string, ServicePlan>, changed: ReadonlySet<string>) {
      const small = change(plans, changed);
      const input = small ?? fullInput(wholeOf(fragments), options);
      known = false;
      if (input !== '') await apply(input);
      known = true;
    },
    async intact() {
      const { code } = await nft(['list', 'chain', ...table.split(' '), 'nat-prerouting']);
      if (code !== 0) known = false;
      return code === 0;
    },
    async cleanup() {
      known = false;
      await apply(`add table ${table}\ndelete table ${table}\n`);
    },
  };
}

function fragmentOf({ ports }: ServicePlan, options: NftOptions): Ruleset {
  const fragment = emptyRuleset();
  for (const port of ports) addPort(fragment, port, options);
  return fragment;
}

function merge(into: Ruleset, from: Ruleset): void {
  for (const map of verdictMaps) for (const [key, verdict] of from.maps[map]) into.maps[map].set(key, verdict);
  for (const [name, rules] of from.chains) into.chains.set(name, rules);
  for (const [name, seconds] of from.affinitySets) into.affinitySets.set(name, seconds);
}

function wholeOf(fragments: ReadonlyMap<string, Ruleset>): Ruleset {
  const whole = emptyRuleset();
  for (const fragment of fragments.values()) merge(whole, fragment);
  return whole;
}

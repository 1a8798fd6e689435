// Owns programming nftables: one transaction a sync, with only what changed.
import type { RunCommand } from '../../base/run-command.ts';
import type { Proxier } from '../proxier.ts';
import type { ServicePlan } from '../service-plan.ts';
import { addPort, changeInput, emptyRuleset, fullInput, type NftOptions, type Ruleset, tableName } from './ruleset.ts';

export interface NftablesOptions extends NftOptions {
  /** Put before each command: works in another network namespace. */
  readonly prefix?: readonly string[];
}

export function nftablesProxier(options: NftablesOptions, run: RunCommand): Proxier {
  const table = tableName(options.family);
  /** What the kernel holds; undefined: unknown. */
  let current: Ruleset | undefined;
  const nft = (args: readonly string[], input?: string) => {
    const words = [...(options.prefix ?? []), 'nft', ...args];
    return run(words[0]!, words.slice(1), { ...(input !== undefined && { input }), timeoutMs: 60_000 });
  };
  const apply = async (input: string) => {
    const { code, stderr } = await nft(['-f', '-'], input);
    if (code !== 0) throw new Error(`nft failed: ${stderr.trim().slice(0, 1000)}`);
  };
  return {
    async sync(plans: ReadonlyMap<string, ServicePlan>) {
      const next = emptyRuleset();
      for (const { ports } of plans.values()) for (const port of ports) addPort(next, port, options);
      const before = current;
      const input = before === undefined ? fullInput(next, options) : changeInput(before, next, options);
      current = undefined;
      if (input !== '') await apply(input);
      current = next;
    },
    async intact() {
      const { code } = await nft(['list', 'chain', ...table.split(' '), 'nat-prerouting']);
      if (code !== 0) current = undefined;
      return code === 0;
    },
    async cleanup() {
      current = undefined;
      await apply(`add table ${table}\ndelete table ${table}\n`);
    },
  };
}

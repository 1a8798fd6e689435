// Owns programming iptables: one restore a sync, with only the chains that changed.
import type { RunCommand } from '../../base/run-command.ts';
import type { Proxier } from '../proxier.ts';
import type { ServicePlan } from '../service-plan.ts';
import { type PortRules, portRules, type RuleOptions } from './port-rules.ts';
import {
  buildTables,
  canary,
  cleanupInput,
  parseSave,
  restoreInput,
  type TableOptions,
  type Tables,
} from './tables.ts';

export interface IptablesOptions extends RuleOptions, TableOptions {
  /** Prefix of the tools: "iptables" (or "ip6tables", "iptables-legacy", "iptables-nft"). */
  readonly command: string;
  /** Put before each command: ["nsenter", "--net=…"] to work in another network namespace. */
  readonly prefix?: readonly string[];
}

export function iptablesProxier(options: IptablesOptions, run: RunCommand): Proxier {
  return new IptablesProxier(options, run);
}

class IptablesProxier implements Proxier {
  readonly #options: IptablesOptions;
  readonly #run: RunCommand;
  /** What the kernel holds; undefined: unknown. */
  #current: Tables | undefined;
  readonly #rules = new Map<string, readonly PortRules[]>();

  constructor(options: IptablesOptions, run: RunCommand) {
    this.#options = options;
    this.#run = run;
  }

  async sync(plans: ReadonlyMap<string, ServicePlan>, changed: ReadonlySet<string>): Promise<void> {
    // In place: a service that moved within KUBE-SERVICES would have that chain written anew.
    for (const key of changed) if (!plans.has(key)) this.#rules.delete(key);
    for (const [key, plan] of plans)
      if (changed.has(key) || !this.#rules.has(key))
        this.#rules.set(
          key,
          plan.ports.map((port) => portRules(port, this.#options)),
        );
    const healthChecks = [...plans.values()]
      .filter(({ healthCheckNodePort }) => healthCheckNodePort > 0)
      .map(({ namespace, name, healthCheckNodePort }) => ({ id: `${namespace}/${name}`, port: healthCheckNodePort }));
    const next = buildTables([...this.#rules.values()].flat(), healthChecks, this.#options);
    const before = this.#current;
    const present = before === undefined ? parseSave(await this.#save()) : undefined;
    const input = restoreInput(before, next, present);
    this.#current = undefined;
    if (input !== '') await this.#restore(input);
    this.#current = next;
  }

  async intact(): Promise<boolean> {
    const results = await Promise.all(
      ['mangle', 'nat', 'filter'].map((table) => this.#tool('', ['-w', '5', '-t', table, '-S', canary])),
    );
    const intact = results.every(({ code }) => code === 0);
    if (!intact) this.#current = undefined;
    return intact;
  }

  cleanup(): Promise<void> {
    this.#current = undefined;
    this.#rules.clear();
    return cleanUpIptables(this.#options, this.#run);
  }

  #save(): Promise<string> {
    return save(this.#options, this.#run);
  }

  #restore(input: string): Promise<void> {
    return restore(this.#options, this.#run, input);
  }

  #tool(suffix: string, args: readonly string[]) {
    return tool(this.#options, this.#run, suffix, args);
  }
}

/** Removes every chain and rule of kube-proxy, whichever process made them. */
export async function cleanUpIptables(tools: Tools, run: RunCommand): Promise<void> {
  const input = cleanupInput(parseSave(await save(tools, run)));
  if (input !== '') await restore(tools, run, input);
}

type Tools = Pick<IptablesOptions, 'command' | 'prefix'>;

async function save(tools: Tools, run: RunCommand): Promise<string> {
  const { code, stdout, stderr } = await tool(tools, run, '-save', []);
  if (code !== 0) throw new Error(`${tools.command}-save failed: ${stderr.trim()}`);
  return stdout;
}

async function restore(tools: Tools, run: RunCommand, input: string): Promise<void> {
  const { code, stderr } = await tool(tools, run, '-restore', ['-w', '5', '--noflush'], input);
  if (code === 0) return;
  const line = Number(/line:? (\d+)/.exec(stderr)?.[1] ?? 0);
  const at = line > 0 ? ` (${input.split('\n')[line - 1]})` : '';
  throw new Error(`${tools.command}-restore failed: ${stderr.trim().slice(0, 1000)}${at}`);
}

function tool(tools: Tools, run: RunCommand, suffix: string, args: readonly string[], input?: string) {
  const words = [...(tools.prefix ?? []), `${tools.command}${suffix}`, ...args];
  return run(words[0]!, words.slice(1), { ...(input !== undefined && { input }), timeoutMs: 60_000 });
}

// Owns what plugins worked out for one pod in one scheduling cycle, and running the filters with it.
import type { NodeInfo } from '../node-info.ts';
import type { PodInfo } from '../pod-info.ts';
import type { Diagnosis, RefusedBy, Snapshot } from './plugin.ts';
import type { Profile, With } from './profile.ts';

export interface RefusedFilter {
  readonly plugin: string;
  readonly refused: RefusedBy;
}

export class Cycle {
  readonly profile: Profile;
  readonly pod: PodInfo;
  /** By the plugin's index in the profile. */
  readonly states: unknown[];
  /** The filters that have something to check. */
  filters: readonly With<'filter'>[];
  readonly #filterAt: number[] = [];

  constructor(profile: Profile, pod: PodInfo, states?: unknown[], filters?: readonly With<'filter'>[]) {
    this.profile = profile;
    this.pod = pod;
    this.states = states ?? Array.from({ length: profile.plugins.length });
    this.filters = filters ?? profile.filter;
    this.#index();
  }

  #index(): void {
    this.#filterAt.length = 0;
    for (const plugin of this.filters) this.#filterAt.push(this.profile.indexOf.get(plugin)!);
  }

  state(plugin: { readonly name: string }): unknown {
    return this.states[this.profile.plugins.findIndex(({ name }) => name === plugin.name)];
  }

  /** Runs preFilter. `only` is what all plugins together leave; `refused` ends the cycle. */
  preFilter(all: Snapshot): { only?: ReadonlySet<string>; onlyBy: string[]; refused?: RefusedFilter } {
    const skipped = new Set<string>();
    const onlyBy: string[] = [];
    let only: ReadonlySet<string> | undefined;
    for (const plugin of this.profile.preFilter) {
      const result = plugin.preFilter(this.pod, all);
      if ('refused' in result) return { onlyBy, refused: { plugin: plugin.name, refused: result.refused } };
      if ('skip' in result) {
        skipped.add(plugin.name);
        continue;
      }
      this.states[this.profile.indexOf.get(plugin)!] = result.state;
      if (result.only === undefined) continue;
      onlyBy.push(plugin.name);
      const before: ReadonlySet<string> | undefined = only;
      only = before === undefined ? result.only : new Set([...result.only].filter((name) => before.has(name)));
    }
    if (skipped.size > 0) {
      this.filters = this.profile.filter.filter((plugin) => !skipped.has(plugin.name));
      this.#index();
    }
    return { ...(only !== undefined && { only }), onlyBy };
  }

  /** The first plugin that refuses, or undefined. */
  filter(node: NodeInfo): RefusedFilter | undefined {
    const { filters, states, pod } = this;
    for (let at = 0; at < filters.length; at++) {
      const plugin = filters[at]!;
      const refused = plugin.filter(pod, node, states[this.#filterAt[at]!]);
      if (refused !== undefined) return { plugin: plugin.name, refused };
    }
    return undefined;
  }

  /** A cycle whose states may be changed by addPod and removePod without touching this one's. */
  clone(): Cycle {
    const states = this.profile.plugins.map((plugin, at) =>
      plugin.cloneState !== undefined && this.states[at] !== undefined
        ? plugin.cloneState(this.states[at])
        : this.states[at],
    );
    return new Cycle(this.profile, this.pod, states, this.filters);
  }

  /** Puts a pod on a (cloned) node and tells the states of a cloned cycle. */
  addPod(other: PodInfo, node: NodeInfo): void {
    node.addPod(other);
    for (let at = 0; at < this.filters.length; at++)
      this.filters[at]!.addPod?.(this.states[this.#filterAt[at]!], this.pod, other, node);
  }

  removePod(other: PodInfo, node: NodeInfo): void {
    node.removePod(other.uid);
    for (let at = 0; at < this.filters.length; at++)
      this.filters[at]!.removePod?.(this.states[this.#filterAt[at]!], this.pod, other, node);
  }
}

/** "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s)." */
export function diagnosisMessage(total: number, diagnosis: Diagnosis): string {
  if (total === 0) return 'no nodes available to schedule pods';
  const head = `0/${total} nodes are available`;
  if (diagnosis.all !== undefined) return `${head}: ${diagnosis.all.reasons.join(', ')}.`;
  const counts = new Map<string, number>();
  const count = (refused: RefusedBy, by: number) => {
    for (const reason of refused.reasons) counts.set(reason, (counts.get(reason) ?? 0) + by);
  };
  for (const { refused } of diagnosis.byNode.values()) count(refused, 1);
  const absent = total - diagnosis.byNode.size;
  if (diagnosis.absent !== undefined && absent > 0) count(diagnosis.absent, absent);
  const texts = [...counts].map(([reason, number]) => `${number} ${reason}`).toSorted();
  return texts.length === 0 ? `${head}.` : `${head}: ${texts.join(', ')}.`;
}

// Owns the order in which groups and versions are shown: priorities first, then names as Kubernetes compares them. Pure.

export interface Ranked {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
}

export interface RankedGroup {
  readonly name: string;
  /** Preferred first. */
  readonly versions: readonly string[];
}

const form = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const stages: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/** Negative when `a` is preferred: stable before beta before alpha, newer before older, other names behind in the order of the alphabet. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [form.exec(a), form.exec(b)];
  if (left === null || right === null) {
    if (left !== null) return -1;
    if (right !== null) return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  const rank = (found: RegExpExecArray): number[] => [
    stages[found[2] ?? ''] ?? 2,
    Number(found[1]),
    Number(found[3] ?? 0),
  ];
  const [one, other] = [rank(left), rank(right)];
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return other[at]! - one[at]!;
  return 0;
}

/** The group of API services themselves stands before all others, whatever their priorities. */
const first = 'apiregistration.k8s.io';

/** A group counts as much as the most important of its versions says. */
export function orderGroups(ranked: Iterable<Ranked>): RankedGroup[] {
  const groups = new Map<string, Ranked[]>();
  for (const one of ranked) {
    const known = groups.get(one.group);
    if (known === undefined) groups.set(one.group, [one]);
    else if (!known.some(({ version }) => version === one.version)) known.push(one);
  }
  const priority = (all: readonly Ranked[]): number => Math.max(...all.map(({ groupPriority }) => groupPriority));
  return [...groups]
    .map(([name, all]) => ({ name, all, priority: name === first ? Number.MAX_SAFE_INTEGER : priority(all) }))
    .sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))
    .map(({ name, all }) => ({
      name,
      versions: all
        .sort((a, b) => b.versionPriority - a.versionPriority || compareVersions(a.version, b.version))
        .map(({ version }) => version),
    }));
}

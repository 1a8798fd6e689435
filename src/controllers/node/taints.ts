// Owns the taints and labels that follow from a node's conditions and fields. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Node, NodeCondition, Taint } from '../../api/generated/core.v1.ts';
import { timeOf } from '../../api/time.ts';

export const notReady = 'node.kubernetes.io/not-ready';
export const unreachable = 'node.kubernetes.io/unreachable';

/** Condition type → status → taint. */
const byCondition: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReady, Unknown: unreachable },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
};
const unschedulable = 'node.kubernetes.io/unschedulable';
const ours: ReadonlySet<string> = new Set([...Object.values(byCondition).flatMap(Object.values), unschedulable]);

export function nodeCondition(node: Frozen<Node>, type: string): Frozen<NodeCondition> | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** All taints the node should have; the NoExecute ones only as `evict` says (they are paced). Undefined: as they are. */
export function planTaints(node: Frozen<Node>, evict: boolean, nowMs: number): Frozen<Taint>[] | undefined {
  const before = node.spec.taints ?? [];
  const wanted = new Set<string>();
  for (const { type, status } of node.status?.conditions ?? []) {
    const key = byCondition[type]?.[status];
    if (key) wanted.add(key);
  }
  if (node.spec.unschedulable) wanted.add(unschedulable);
  const executing = [notReady, unreachable].find((key) => wanted.has(key));
  const keeps = (taint: Frozen<Taint>) => {
    if (taint.effect === 'NoSchedule' && ours.has(taint.key)) return wanted.has(taint.key);
    if (taint.effect === 'NoExecute' && (taint.key === notReady || taint.key === unreachable))
      return taint.key === executing;
    return true;
  };
  const kept = before.filter(keeps);
  const has = (key: string, effect: string) => kept.some((taint) => taint.key === key && taint.effect === effect);
  const timeAdded = timeOf(nowMs);
  const added: Taint[] = [...wanted]
    .filter((key) => !has(key, 'NoSchedule'))
    .map((key) => ({ key, effect: 'NoSchedule', timeAdded }));
  if (evict && executing && !has(executing, 'NoExecute'))
    added.push({ key: executing, effect: 'NoExecute', timeAdded });
  return added.length === 0 && kept.length === before.length ? undefined : [...kept, ...added];
}

/** Old labels follow the new ones. Undefined: as they are. */
export function planLabels(node: Frozen<Node>): Record<string, string> | undefined {
  const labels = node.metadata.labels ?? {};
  const changes: Record<string, string> = {};
  for (const name of ['os', 'arch']) {
    const value = labels[`kubernetes.io/${name}`];
    if (value !== undefined && labels[`beta.kubernetes.io/${name}`] !== value)
      changes[`beta.kubernetes.io/${name}`] = value;
  }
  return Object.keys(changes).length > 0 ? changes : undefined;
}

const monitored = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The conditions of a node whose kubelet is silent. */
export function unknownConditions(node: Frozen<Node>, nowMs: number): Frozen<NodeCondition>[] {
  const now = timeOf(nowMs);
  const conditions = [...(node.status?.conditions ?? [])];
  for (const type of monitored) {
    const at = conditions.findIndex((condition) => condition.type === type);
    const known = conditions[at];
    if (!known)
      conditions.push({
        type,
        status: 'Unknown',
        lastHeartbeatTime: node.metadata.creationTimestamp,
        lastTransitionTime: now,
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
      });
    else if (known.status !== 'Unknown')
      conditions[at] = {
        ...known,
        status: 'Unknown',
        lastTransitionTime: now,
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
      };
  }
  return conditions;
}

export interface ZoneCount {
  readonly ready: number;
  readonly notReady: number;
}

/** Evictions a second in a zone: none when everything everywhere is down, for then it is us who cannot see (documentation: "Nodes, Rate limits on eviction"). */
export function evictionRate(zone: ZoneCount, zones: readonly ZoneCount[]): number {
  const isFull = ({ ready, notReady: down }: ZoneCount) => ready === 0 && down > 0;
  if (zones.every(isFull)) return 0;
  const total = zone.ready + zone.notReady;
  const isPartial = !isFull(zone) && zone.notReady > 2 && zone.notReady / total >= 0.55;
  if (!isPartial) return 0.1;
  return total > 50 ? 0.01 : 0;
}

export function zoneOf(node: Frozen<Node>): string {
  const labels = node.metadata.labels ?? {};
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

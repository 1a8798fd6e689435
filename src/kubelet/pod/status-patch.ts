// Owns what is sent of a pod's status: a strategic merge patch of the fields that changed. Pure.
import type { PodStatus } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';

/** The fields that a kubelet writes; others are not its own to change or clear. */
const owned = [
  'observedGeneration',
  'phase',
  'conditions',
  'message',
  'reason',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'qosClass',
] as const satisfies readonly (keyof PodStatus)[];

const keyedByIp: ReadonlySet<string> = new Set(['podIPs', 'hostIPs']);

/** Undefined when nothing differs. */
export function statusPatch(
  uid: string,
  before: Frozen<PodStatus> | undefined,
  next: PodStatus,
): { metadata: { uid: string }; status: Record<string, unknown> } | undefined {
  const status: Record<string, unknown> = {};
  for (const name of owned) {
    const old = before?.[name];
    const value: unknown = next[name];
    if (canonical(old) === canonical(value)) continue;
    if (value === undefined) status[name] = null;
    else if (name === 'conditions') status[name] = changedConditions(before, next);
    // These lists merge by address: an address that went away would stay.
    else if (keyedByIp.has(name) && Array.isArray(old) && old.length > 0)
      status[name] = [...(value as object[]), { $patch: 'replace' }];
    else status[name] = value;
  }
  return Object.keys(status).length === 0 ? undefined : { metadata: { uid }, status };
}

/** Conditions merge by type: only those that differ are sent, so that others' are left alone; what a condition lost is null. */
function changedConditions(before: Frozen<PodStatus> | undefined, next: PodStatus): object[] {
  return (next.conditions ?? []).flatMap((condition) => {
    const old = before?.conditions?.find(({ type }) => type === condition.type);
    if (canonical(old) === canonical(condition)) return [];
    const lost = Object.keys(old ?? {}).filter((key) => !(key in condition) && key !== 'lastProbeTime');
    return [{ ...condition, ...Object.fromEntries(lost.map((key) => [key, null])) }];
  });
}

/** Equal for equal values whatever the order of keys; nulls are absent. */
export function canonical(value: unknown): string {
  return (
    (JSON.stringify(value, (_key, inner: unknown) => {
      if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner ?? undefined;
      return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }) as string | undefined) ?? ''
  );
}

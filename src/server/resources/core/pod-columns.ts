// Owns how pods are printed: the one word that sums up a pod's state, and the counts around it.
import type { ContainerStatus, Pod } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import type { Column } from '../../resource.ts';
import { ageColumn, humanDuration, nameColumn, none } from '../columns.ts';

interface Summary {
  readonly ready: number;
  readonly total: number;
  readonly reason: string;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
}

/** Several cells of a row need the same summary. */
const summaries = new WeakMap<Frozen<Pod>, Summary>();

function summaryOf(pod: Frozen<Pod>): Summary {
  let summary = summaries.get(pod);
  if (summary === undefined) summaries.set(pod, (summary = summarize(pod)));
  return summary;
}

type Statuses = readonly Frozen<ContainerStatus>[];

const endText = (status: Frozen<ContainerStatus>): string => {
  const { reason, signal, exitCode } = status.state!.terminated!;
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);
};

function lastEnd(statuses: Statuses): number | undefined {
  const ends = statuses
    .map(({ lastState }) => lastState?.terminated?.finishedAt as unknown as string | undefined)
    .filter((time) => time)
    .map((time) => Date.parse(time!));
  return ends.length === 0 ? undefined : Math.max(...ends);
}

const sumRestarts = (statuses: Statuses): number =>
  statuses.reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0);

function summarize(pod: Frozen<Pod>): Summary {
  const { spec, status = {} } = pod;
  const sidecars = new Set(
    (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name),
  );
  const init = initState(pod, sidecars);
  const initialized = (status.conditions ?? []).some(({ type, status: on }) => type === 'Initialized' && on === 'True');
  let reason = init.reason ?? phaseText(pod);
  let { ready, seen } = init;
  if (init.reason === undefined || initialized) {
    const statuses = status.containerStatuses ?? [];
    const main = mainState(pod, init.reason === undefined ? reason : phaseText(pod), statuses);
    reason = init.reason !== undefined && main.reason === phaseText(pod) ? reason : main.reason;
    ready += main.ready;
    seen = [...seen.filter(({ name }) => sidecars.has(name)), ...statuses];
  }
  return {
    ready,
    total: (spec.containers?.length ?? 0) + sidecars.size,
    reason: deletionText(pod, reason),
    restarts: sumRestarts(seen),
    lastRestartMs: lastEnd(seen),
  };
}

function phaseText({ status = {} }: Frozen<Pod>): string {
  const gated = (status.conditions ?? []).some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  return gated ? 'SchedulingGated' : status.reason || (status.phase ?? '');
}

function deletionText(pod: Frozen<Pod>, reason: string): string {
  if (!pod.metadata.deletionTimestamp) return reason;
  if (pod.status?.reason === 'NodeLost') return 'Unknown';
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed' ? reason : 'Terminating';
}

/** The first init container that is not done decides; sidecars count as ready containers. */
function initState(
  pod: Frozen<Pod>,
  sidecars: ReadonlySet<string>,
): { reason: string | undefined; ready: number; seen: Statuses } {
  const statuses = pod.status?.initContainerStatuses ?? [];
  let ready = 0;
  for (let at = 0; at < statuses.length; at++) {
    const status = statuses[at]!;
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecars.has(status.name) && status.started) {
      if (status.ready) ready++;
      continue;
    }
    const seen = statuses.slice(0, at + 1);
    if (terminated) return { reason: `Init:${endText(status)}`, ready, seen };
    if (waiting?.reason && waiting.reason !== 'PodInitializing')
      return { reason: `Init:${waiting.reason}`, ready, seen };
    return { reason: `Init:${at}/${pod.spec.initContainers?.length ?? 0}`, ready, seen };
  }
  return { reason: undefined, ready, seen: statuses };
}

/** The first container with something to tell decides. */
function mainState(pod: Frozen<Pod>, phase: string, statuses: Statuses): { reason: string; ready: number } {
  let reason = phase;
  let ready = 0;
  let running = false;
  for (const status of statuses.toReversed()) {
    const { waiting, terminated, running: runs } = status.state ?? {};
    if (waiting?.reason) reason = waiting.reason;
    else if (terminated) reason = endText(status);
    else if (status.ready && runs) {
      running = true;
      ready++;
    }
  }
  if (reason === 'Completed' && running) {
    const isReady = (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
    reason = isReady ? 'Running' : 'NotReady';
  }
  return { reason, ready };
}

function restartsText({ restarts, lastRestartMs }: Summary, nowMs: number): string {
  if (restarts === 0 || lastRestartMs === undefined) return String(restarts);
  return `${restarts} (${humanDuration(nowMs - lastRestartMs)} ago)`;
}

function gatesText({ spec, status }: Frozen<Pod>): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return none;
  const open = gates.filter(({ conditionType }) =>
    status?.conditions?.some(({ type, status: on }) => type === conditionType && on === 'True'),
  );
  return `${open.length}/${gates.length}`;
}

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  { name: 'Ready', type: 'string', cell: (pod) => `${summaryOf(pod).ready}/${summaryOf(pod).total}` },
  { name: 'Status', type: 'string', cell: (pod) => summaryOf(pod).reason },
  { name: 'Restarts', type: 'string', cell: (pod, nowMs) => restartsText(summaryOf(pod), nowMs) },
  ageColumn,
  { name: 'IP', type: 'string', priority: 1, cell: ({ status }) => status?.podIPs?.[0]?.ip || none },
  { name: 'Node', type: 'string', priority: 1, cell: ({ spec }) => spec.nodeName || none },
  { name: 'Nominated Node', type: 'string', priority: 1, cell: ({ status }) => status?.nominatedNodeName || none },
  { name: 'Readiness Gates', type: 'string', priority: 1, cell: gatesText },
];

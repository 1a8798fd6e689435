// Owns /debug/api_priority_and_fairness/*: what waits where, as tables that people read. Changes nothing.
import { plainText } from '../paths.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Seats, Ticket } from './levels.ts';
import type { WorkEstimate } from './estimate.ts';

const prefix = '/debug/api_priority_and_fairness/';

/** What is told of one that waits. */
export interface WaitingRequest extends Ticket {
  readonly schema: string;
  readonly distinguisher: string;
  readonly arrivedMs: number;
  readonly work: WorkEstimate;
  readonly request: ApiRequest;
}

type Cell = string | number | boolean;

/** Columns stand under each other. */
function table(rows: readonly (readonly Cell[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, String(cell).length + 2)));
  const line = (row: readonly Cell[]): string =>
    row
      .map((cell, at) => (at === row.length - 1 ? String(cell) : `${cell},`.padEnd(widths[at]!)))
      .join('')
      .trimEnd();
  return `${rows.map(line).join('\n')}\n`;
}

function levels(seats: Seats<WaitingRequest>): Cell[][] {
  const header =
    'PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests';
  return [
    header.split(' '),
    ...[...seats.levels.values()].map((level) => [
      level.config.name,
      ...(level.config.exempt
        ? ['<none>', '<none>', '<none>', '<none>', '<none>', '<none>', '<none>', '<none>', '<none>']
        : [
            level.queues.filter(({ waiting }) => waiting.length > 0).length,
            level.inUse === 0 && level.waiting === 0,
            seats.isLeaving(level),
            level.waiting,
            level.executing,
            level.dispatched,
            level.rejected,
            level.timedOut,
            level.cancelled,
          ]),
    ]),
  ];
}

function queues(seats: Seats<WaitingRequest>): Cell[][] {
  const header =
    'PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum';
  const sum = (list: readonly WaitingRequest[], of: (one: WaitingRequest) => number): number =>
    list.reduce((total, one) => total + of(one), 0);
  return [
    header.split(' '),
    ...[...seats.levels.values()].flatMap((level) => {
      const { config, queues: all, executing, inUse } = level;
      return config.exempt
        ? [[config.name, ...Array.from({ length: 8 }, () => '<none>')]]
        : all.map(({ waiting }, at) => {
            const present = waiting.filter(({ state }) => state === 'waiting');
            return [
              config.name,
              at,
              present.length,
              // Seats are counted by level: they are one queue's no more once they are taken.
              at === 0 ? executing : 0,
              at === 0 ? inUse : 0,
              `${level.servedTo(present[0]?.flow ?? '').toFixed(8)}ss`,
              sum(present, ({ work }) => work.initialSeats),
              sum(present, ({ work }) => Math.max(work.initialSeats, work.finalSeats)),
              `${sum(present, ({ work }) => work.initialSeats + (work.finalSeats * work.additionalLatencyMs) / 1000).toFixed(8)}ss`,
            ];
          });
    }),
  ];
}

function requests(seats: Seats<WaitingRequest>, detailed: boolean): Cell[][] {
  const header =
    'PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency';
  const details = 'UserName Verb APIPath Namespace Name APIVersion Resource SubResource';
  const of = ({ request: { user, info } }: WaitingRequest): Cell[] => [
    user.name,
    info.verb,
    info.path,
    info.namespace,
    info.name,
    info.group === '' ? info.version : `${info.group}/${info.version}`,
    info.resource,
    info.subresource,
  ];
  return [
    [...header.split(' '), ...(detailed ? details.split(' ') : [])],
    ...[...seats.levels.values()].flatMap(({ config, queues: all }) =>
      all.flatMap(({ waiting }, at) =>
        waiting
          .filter(({ state }) => state === 'waiting')
          .map((one, index): Cell[] => [
            config.name,
            one.schema,
            at,
            index,
            one.distinguisher,
            new Date(one.arrivedMs).toISOString(),
            one.work.initialSeats,
            one.work.finalSeats,
            `${one.work.additionalLatencyMs}ms`,
            ...(detailed ? of(one) : []),
          ]),
      ),
    ),
  ];
}

export function dump(seats: Seats<WaitingRequest>, { info, query }: ApiRequest): ApiAnswer | undefined {
  if (!info.path.startsWith(prefix)) return undefined;
  switch (info.path.slice(prefix.length)) {
    case 'dump_priority_levels':
      return plainText(table(levels(seats)));
    case 'dump_queues':
      return plainText(table(queues(seats)));
    case 'dump_requests':
      return plainText(table(requests(seats, (query.get('includeRequestDetails') ?? '') !== '')));
    default:
      return undefined;
  }
}

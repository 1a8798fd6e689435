// Owns the condition Dangling of FlowSchemas: whether the priority level that each names exists. Follows both kinds, applies statuses.
import type { FlowSchema } from '../../api/generated/flowcontrol.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { deferred, isAbort } from '../../base/task-group.ts';
import type { Transport } from '../../client/transport.ts';
import { followCache } from '../cache/follow.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { timeText } from '../verbs/metadata.ts';

const manager = 'api-priority-and-fairness-config-consumer-v1';

export interface FlowSchemaConditionsOptions {
  readonly schemas: WatchCache;
  readonly levels: WatchCache;
  /** As the server itself. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Wanted {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

function wantedFor(level: string, exists: boolean): Wanted {
  const subject = `This FlowSchema references the PriorityLevelConfiguration object named "${level}"`;
  return exists
    ? { status: 'False', reason: 'Found', message: `${subject} and it exists` }
    : { status: 'True', reason: 'NotFound', message: `${subject} but there is no such object` };
}

/** Undefined when the condition says so already. */
export function planCondition(schema: Frozen<FlowSchema>, exists: boolean, now: string): object | undefined {
  const wanted = wantedFor(schema.spec.priorityLevelConfiguration?.name ?? '', exists);
  const present = schema.status?.conditions?.find(({ type }) => type === 'Dangling');
  if (present?.status === wanted.status && present.reason === wanted.reason && present.message === wanted.message)
    return undefined;
  const since = present?.status === wanted.status ? present.lastTransitionTime : undefined;
  return { type: 'Dangling', ...wanted, lastTransitionTime: since ?? now };
}

/** Runs until `signal` is aborted. A write that fails is told, and tried again with the next change. */
export async function keepFlowSchemaConditions(
  { schemas, levels, transport, clock, log }: FlowSchemaConditionsOptions,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, Frozen<FlowSchema>>();
  const existing = new Set<string>();
  const pending = new Set<string>();
  let wake = deferred();
  const mark = (name: string): void => {
    pending.add(name);
    wake.resolve();
  };
  const markThoseOf = (level: string): void => {
    for (const [name, { spec }] of known) if (spec.priorityLevelConfiguration?.name === level) mark(name);
  };
  const stops = [
    followCache(levels, {
      put: ({ object: { metadata } }, previous) => {
        existing.add(metadata.name);
        if (previous === undefined) markThoseOf(metadata.name);
      },
      removed: ({ object: { metadata } }) => {
        existing.delete(metadata.name);
        markThoseOf(metadata.name);
      },
      reset: () => existing.clear(),
    }),
    followCache(schemas, {
      put: ({ object }) => {
        known.set(object.metadata.name, object as unknown as Frozen<FlowSchema>);
        mark(object.metadata.name);
      },
      removed: ({ object }) => void known.delete(object.metadata.name),
      reset: () => known.clear(),
    }),
  ];
  const onAbort = (): void => wake.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      const [name] = pending;
      if (name === undefined) {
        await wake.promise;
        wake = deferred();
        continue;
      }
      pending.delete(name);
      const schema = known.get(name);
      const level = schema?.spec.priorityLevelConfiguration?.name ?? '';
      const condition = schema && planCondition(schema, existing.has(level), timeText(clock.now()));
      if (condition !== undefined) await write(name, condition);
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const stop of stops) stop();
  }

  async function write(name: string, condition: object): Promise<void> {
    const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
    try {
      await transport.call({
        method: 'PATCH',
        path: `/apis/${apiVersion}/flowschemas/${encodeURIComponent(name)}/status`,
        query: new URLSearchParams({ fieldManager: manager, force: 'true' }),
        contentType: 'application/apply-patch+yaml',
        body: { apiVersion, kind: 'FlowSchema', metadata: { name }, status: { conditions: [condition] } },
        signal,
      });
    } catch (error) {
      if (isAbort(error) || signal.aborted || !known.has(name)) return;
      log.warn('the condition of a flow schema cannot be written', { error, name });
    }
  }
}

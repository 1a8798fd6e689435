// Owns what the options make of auditing: the policy, its sinks and their run.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { TaskGroup } from '../../base/task-group.ts';
import type { Callout } from '../callout.ts';
import { audit } from './audit.ts';
import type { Audit } from './audit.ts';
import type { AuditPolicy } from './policy.ts';
import { logFileSink, webhookSink } from './sinks.ts';
import type { LogFileOptions, WebhookSinkOptions } from './sinks.ts';

export interface AuditOptions {
  /** --audit-policy-file. */
  readonly policy: AuditPolicy;
  /** --audit-log-*. */
  readonly log?: LogFileOptions;
  /** --audit-webhook-*. */
  readonly webhook?: WebhookSinkOptions;
}

export interface ComposedAudit extends Audit {
  run(group: TaskGroup): void;
}

export function composeAudit(
  options: AuditOptions | undefined,
  deps: {
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Logger;
    readonly callout: Callout;
    readonly metrics?: MetricsRegistry;
  },
): ComposedAudit | undefined {
  if (options === undefined) return undefined;
  const log = deps.log.child('audit');
  const sinks = [
    ...(options.log === undefined ? [] : [logFileSink(options.log, deps.clock, log)]),
    ...(options.webhook === undefined ? [] : [webhookSink(options.webhook, deps.callout, deps.clock, log)]),
  ];
  return {
    ...audit(options.policy, sinks, deps),
    run(group) {
      for (const sink of sinks) group.run(`audit ${sink.name}`, (signal) => sink.run(signal));
    },
  };
}

// `k8ts kube-scheduler`: the scheduler alone, told by upstream's flags.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { load } from 'js-yaml';
import { randomSuffix } from '../../base/random.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import type { SchedulerOptions } from '../../scheduler/scheduler.ts';
import { runScheduler } from '../components/scheduler.ts';
import { UserError } from '../user-error.ts';
import {
  type AloneDeps,
  commonFlags,
  depsFromKubeconfig,
  electionFlags,
  given,
  kubeconfigFlags,
  upstreamFlags,
} from './alone.ts';
import { pagesFlags, runComponentPages, withPages } from './component-pages.ts';

const usualPort = 10_259;

export const schedulerFlags = {
  ...commonFlags,
  ...kubeconfigFlags,
  ...electionFlags,
  ...pagesFlags,
  ...upstreamFlags,
  'feature-gates': { type: 'map', help: 'features to turn on or off', ignored: 'no plugin is behind a gate' },
  config: { type: 'text', help: 'KubeSchedulerConfiguration' },
} as const satisfies FlagTable;

export async function runSchedulerAlone(flags: Values<typeof schedulerFlags>, alone: AloneDeps): Promise<void> {
  const { configuration } = schedulerSettings(flags);
  const deps = await depsFromKubeconfig(
    { ...flags, kubeconfig: flags.kubeconfig ?? configuration?.clientConnection?.kubeconfig },
    'kube-scheduler',
    alone,
  );
  const options = {
    ...(configuration && { configuration }),
    ...(flags['leader-elect'] && { identity: `${hostname()}_${randomSuffix(deps.random, 8)}` }),
    election: {
      leaseMs: flags['leader-elect-lease-duration']!,
      renewMs: flags['leader-elect-renew-deadline']!,
      retryMs: flags['leader-elect-retry-period']!,
    },
  };
  alone.ready('scheduling');
  await withPages(
    (signal) => runScheduler(options, deps, signal),
    (signal) => runComponentPages(flags, usualPort, deps, signal),
    alone.signal,
  );
}

/** What the flags say of scheduling itself. */
export function schedulerSettings(flags: Pick<Values<typeof schedulerFlags>, 'config'>): {
  readonly configuration?: Configuration;
} {
  return given({ configuration: flags.config === undefined ? undefined : readConfiguration(flags.config) });
}

type Configuration = NonNullable<SchedulerOptions['configuration']> & {
  readonly clientConnection?: { readonly kubeconfig?: string };
};

function readConfiguration(file: string): Configuration {
  try {
    const value = load(readFileSync(file, 'utf8'));
    if (
      typeof value === 'object' &&
      value !== null &&
      (value as { kind?: unknown }).kind === 'KubeSchedulerConfiguration'
    )
      return value as Configuration;
  } catch (error) {
    throw new UserError(
      `${file} cannot be read: ${(error as Error).message.split('\n')[0]}`,
      'give a KubeSchedulerConfiguration with --config',
    );
  }
  throw new UserError(`${file} is no KubeSchedulerConfiguration`, 'give one with --config');
}

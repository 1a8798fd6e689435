// Owns what components started alone have in common: flags, logging, their kubeconfig, and the signals that end them.
import { existsSync, readFileSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import type { Logger, LogLevel } from '../../base/log.ts';
import { metricsRegistry } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import type { FlagTable } from '../../cli/flags.ts';
import { httpOptionsFromKubeconfig } from '../../client/credentials.ts';
import { type HttpTransport, httpTransport, type HttpTransportOptions } from '../../client/http-transport.ts';
import { KubeconfigError, loadKubeconfig } from '../../client/kubeconfig.ts';
import { client } from '../../client/rest.ts';
import type { ComponentDeps } from '../components/component.ts';
import { UserError } from '../user-error.ts';

export interface AloneDeps {
  readonly logger: Logger;
  /** Of `logger`, for processes that this one begins; default info. */
  readonly level?: LogLevel;
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Says on standard error that the component does its work now. */
  ready(text: string): void;
}

export const commonFlags = {
  v: { type: 'number', help: 'how much is logged: 0 what matters, 4 and more everything', default: '0' },
  'log-level': { type: 'text', help: 'debug, info, warn or error; wins over --v' },
  'logging-format': { type: 'text', help: 'text or json', ignored: 'logs are lines of JSON' },
  'log-flush-frequency': { type: 'duration', help: 'time between flushes of logs', ignored: 'nothing is held back' },
  'stop-with-parent': {
    type: 'switch',
    help: 'end when the process that started this one has ended',
    default: 'false',
  },
} as const satisfies FlagTable;

export const kubeconfigFlags = {
  kubeconfig: { type: 'text', help: 'how to reach and log in to the API server' },
  master: { type: 'text', help: 'address of the API server; wins over the kubeconfig' },
} as const satisfies FlagTable;

/** Flags of upstream's components whose matter is no matter here. */
export const upstreamFlags = {
  'contention-profiling': { type: 'switch', help: 'profile contention', ignored: 'there is one thread' },
  'kube-api-burst': { type: 'number', help: 'requests at once', ignored: 'the API server shares its time out fairly' },
  'kube-api-content-type': { type: 'text', help: 'encoding of requests', ignored: 'requests are JSON' },
  'kube-api-qps': { type: 'number', help: 'requests a second', ignored: 'the API server shares its time out fairly' },
  profiling: { type: 'switch', help: 'profiles under /debug/pprof', ignored: "node's own inspector is used instead" },
  vmodule: { type: 'text', help: 'how much single files log', ignored: 'it names files of other programs' },
} as const satisfies FlagTable;

export const electionFlags = {
  'leader-elect': { type: 'switch', help: 'only one of several is active', default: 'true' },
  'leader-elect-resource-lock': { type: 'text', help: 'leases', ignored: 'leases are the only kind of lock' },
  'leader-elect-lease-duration': {
    type: 'duration',
    help: 'how long others leave a silent leader alone',
    default: '15s',
  },
  'leader-elect-renew-deadline': { type: 'duration', help: 'how long a leader tries to renew', default: '10s' },
  'leader-elect-retry-period': { type: 'duration', help: 'time between tries', default: '2s' },
} as const satisfies FlagTable;

/** Without what was not said: such a setting must not hide a default. */
export function given<T extends object>(settings: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as never;
}

export interface KubeconfigFlags {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
}

/** How to reach the API server, and as whom. Throws UserError or KubeconfigError. */
export async function httpOptionsFromFlags(
  { kubeconfig, master }: KubeconfigFlags,
  component: string,
): Promise<HttpTransportOptions> {
  if (kubeconfig === undefined)
    throw new UserError(`${component} needs --kubeconfig`, 'give the file that says how to reach the API server');
  if (!existsSync(kubeconfig)) throw new KubeconfigError(`there is no kubeconfig ${kubeconfig}`);
  const config = await loadKubeconfig([kubeconfig]);
  if (master !== undefined) for (const { cluster } of config.clusters) cluster.server = master;
  return httpOptionsFromKubeconfig(config, { clock: systemClock, userAgent: component });
}

/** The component's client by its --kubeconfig. Throws UserError when it cannot be used. */
export async function depsFromKubeconfig(
  flags: KubeconfigFlags,
  component: string,
  { logger, signal }: AloneDeps,
  /** Puts something between the component and its connections. */
  wrap: (transport: HttpTransport) => HttpTransport = (transport) => transport,
): Promise<ComponentDeps> {
  try {
    const transport = wrap(httpTransport(await httpOptionsFromFlags(flags, component)));
    signal.addEventListener('abort', () => systemClock.after(2000, () => transport.close()), { once: true });
    return { client: client(transport), clock: systemClock, random: systemRandom, logger, metrics: metricsRegistry() };
  } catch (error) {
    if (error instanceof KubeconfigError) throw new UserError(error.message, 'correct the kubeconfig');
    throw error;
  }
}

/** A file's text; undefined when none was named. */
export function textOf(file: string | undefined): string | undefined {
  if (file === undefined || file === '') return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(
      `${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`,
      'check the flag that names it',
    );
  }
}

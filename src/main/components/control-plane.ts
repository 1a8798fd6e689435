// Composes the control plane of one process: the API server on its store, and the controllers and scheduler as callers within.
import { Agent, get } from 'node:https';
import type { Clock } from '../../base/clock.ts';
import { metricsRegistry } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import { Stopped, type TaskGroup } from '../../base/task-group.ts';
import type { Logger } from '../../base/log.ts';
import { client } from '../../client/rest.ts';
import type { Transport } from '../../client/transport.ts';
import { controllerManager } from '../../controllers/manager/manager.ts';
import type { ControllerManagerOptions } from '../../controllers/manager/options.ts';
import { type ApiServer, apiServer } from '../../server/api-server.ts';
import { longestEnd } from '../../server/shutdown.ts';
import type { ApiServerDeps, ApiServerOptions } from '../../server/options.ts';
import type { Store } from '../../store/store.ts';
import type { ApiServerSettings } from '../alone/api-server.ts';
import { apiWorkers } from '../api-workers.ts';
import { certificateAuthority } from '../certificate-authority.ts';
import { legacyTokenSigner } from '../legacy-token-signer.ts';
import type { Pki } from '../pki.ts';
import { UserError } from '../user-error.ts';
import { type ClusterServer, clusterServerOptions } from './cluster-server.ts';
import type { ComponentDeps } from './component.ts';
import { runScheduler, type SchedulerComponentOptions } from './scheduler.ts';

export interface ControlPlaneDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logs: (component: string) => Logger;
  readonly group: TaskGroup;
}

/** A user of this process, as its certificate would say. */
interface Identity {
  readonly name: string;
  readonly groups?: readonly string[];
}

export type ComponentOf = (component: string, identity: Identity) => ComponentDeps;

/** What a component in this process works with: a client that speaks as `identity`, its log and metrics. */
export function componentDeps(
  server: ApiServer,
  { clock, random, logs }: ControlPlaneDeps,
  wrap: (component: string, transport: Transport) => Transport = (_, transport) => transport,
): ComponentOf {
  return (component, { name, groups = [] }) => ({
    client: client(wrap(component, server.inProcess({ name, groups: [...groups, 'system:authenticated'] }, component))),
    clock,
    random,
    logger: logs(component),
    metrics: metricsRegistry(),
  });
}

/** The first start takes upstream's port when it is free; a port that was asked for or kept must be had. */
const usualPort = 6443;

export interface ServingServer {
  readonly server: ApiServer;
  readonly port: number;
}

/** Starts the API server in `group` and resolves when it says that it is ready. */
export async function startApiServer(
  options: ApiServerOptions,
  pki: Pki,
  store: Store,
  { clock, random, logs, group }: ControlPlaneDeps,
  extra: Pick<ApiServerDeps, 'actions' | 'components' | 'extensions'> = {},
): Promise<ServingServer> {
  const make = (securePort: number) =>
    apiServer(
      { ...options, securePort },
      { store, exclusiveStore: true, clock, random, log: logs('kube-apiserver'), metrics: metricsRegistry(), ...extra },
    );
  const ports = options.securePort === 0 ? [usualPort, 0] : [options.securePort];
  for (const wanted of ports) {
    const server = make(wanted);
    let isStarting = true;
    group.run('kube-apiserver', async (signal) => {
      try {
        await server.run(signal);
      } catch (error) {
        // While it starts the caller hears of it through `ready`, and may try another port.
        if (!isStarting) throw error;
      }
    });
    try {
      const { port } = await server.ready;
      isStarting = false;
      await untilReady(port, pki, clock);
      return { server, port };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      if (wanted === ports.at(-1)) throw portTaken(wanted);
    }
  }
  throw new Error('unreachable: the last port either serves or throws');
}

/**
 * The same with workers that serve the port; the server of this process serves only its components. Workers are killed and begun
 * anew without their notice.
 */
export async function startApiServerInWorkers(
  { server, args, count }: { readonly server: ClusterServer; readonly args: Args; readonly count: number },
  settings: ApiServerSettings | undefined,
  pki: Pki,
  store: Store,
  { clock, random, logs, group }: ControlPlaneDeps,
  extra: Pick<ApiServerDeps, 'actions' | 'components'>,
): Promise<ServingServer> {
  const options = clusterServerOptions(server, settings);
  const { bindAddress, shutdown } = options;
  const log = logs('kube-apiserver');
  const begin = (port: number) =>
    apiWorkers({
      count,
      port,
      ...(bindAddress !== undefined && { host: bindAddress }),
      ...(shutdown !== undefined && { graceMs: longestEnd(shutdown) }),
      settings: { level: 'info', server: { type: 'cluster', server, args } },
      store,
      keepRecords: false,
      clock,
      log,
      onLogLine: (line) => relog(log, line),
    });
  const workers = await begin(server.securePort === 0 ? usualPort : server.securePort).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (server.securePort === 0) return begin(0);
    throw portTaken(server.securePort);
  });
  const { port, address } = workers;
  const mine = apiServer(
    // The store of this process drops its history by itself.
    { ...options, securePort: port, compactionIntervalMs: 0 },
    {
      store,
      exclusiveStore: false,
      clock,
      random,
      log,
      metrics: metricsRegistry(),
      handed: { port, address, take: () => () => undefined },
      ...extra,
    },
  );
  group.run('kube-apiserver', (signal) => mine.run(signal));
  group.run('API workers', (signal) => workers.run(signal));
  await Promise.all([mine.ready, workers.ready]);
  await untilReady(port, pki, clock);
  return { server: mine, port };
}

type Args = Readonly<Record<string, string>>;

/** A worker's line, as one of ours. */
function relog(log: Logger, line: string): void {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(line) as Record<string, unknown>;
  } catch {
    log.warn('a worker says', { text: line.slice(0, 2000) });
    return;
  }
  const { level, msg, time: _time, ...rest } = fields;
  const known = (['debug', 'info', 'warn', 'error'] as const).find((name) => name === level) ?? 'warn';
  log[known](String(msg), rest);
}

function portTaken(port: number): UserError {
  return new UserError(`port ${port} is taken by another program`, 'choose another with --port, or stop that program');
}

/** Asks /readyz over HTTPS as any client would: certificates, listener and store are then proven to work together. */
async function untilReady(port: number, pki: Pki, clock: Clock): Promise<void> {
  const agent = new Agent({ ca: pki.ca.certificatePem, keepAlive: true });
  const deadline = clock.monotonic() + 30_000;
  try {
    for (;;) {
      const answer = await ask(port, agent);
      if (answer.code === 200) return;
      if (clock.monotonic() > deadline) throw new Error(`/readyz answers ${answer.code}: ${answer.text}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  } finally {
    agent.destroy();
  }
}

function ask(port: number, agent: Agent): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', servername: 'localhost', port, path: '/readyz', agent }, (answer) => {
      let text = '';
      answer.on('data', (data: Buffer) => {
        text += data.toString();
      });
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text }));
    }).on('error', reject);
  });
}

export interface ControllersOptions extends Partial<ControllerManagerOptions> {
  readonly podSubnet: string;
}

/** As a token of this ServiceAccount of kube-system would say. */
export function serviceAccount(name: string): Identity {
  return {
    name: `system:serviceaccount:kube-system:${name}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'],
  };
}

export function startControllers(
  { podSubnet, ...options }: ControllersOptions,
  pki: Pki,
  component: ComponentOf,
  { group, random }: ControlPlaneDeps,
): Restart {
  const make = () =>
    controllerManager(
      {
        rootCaPem: pki.ca.certificatePem,
        certificateAuthority: certificateAuthority(pki.ca, random),
        clusterCidrs: [podSubnet],
        signServiceAccountToken: legacyTokenSigner(pki.serviceAccountKeyPem),
        ...options,
      },
      {
        ...component('kube-controller-manager', { name: 'system:kube-controller-manager' }),
        clientOf: (account) => component('kube-controller-manager', serviceAccount(account)).client,
      },
    );
  // Unknown names of controllers are told now, not by the task.
  let made: ReturnType<typeof make> | undefined = make();
  return restartable(group, 'kube-controller-manager', (signal) => {
    const manager = made ?? make();
    made = undefined;
    return manager.run(signal);
  });
}

export function startScheduler(
  options: Pick<SchedulerComponentOptions, 'configuration'>,
  component: ComponentOf,
  { group }: ControlPlaneDeps,
): Restart {
  return restartable(group, 'kube-scheduler', (signal) =>
    runScheduler(options, component('kube-scheduler', { name: 'system:kube-scheduler' }), signal),
  );
}

/** Ends a component as a crash would, without a word to anybody, and begins it anew. */
export type Restart = () => void;

function restartable(group: TaskGroup, name: string, run: (signal: AbortSignal) => Promise<void>): Restart {
  let stop = new AbortController();
  group.run(name, async (signal) => {
    while (!signal.aborted) {
      const own = new AbortController();
      stop = own;
      try {
        await run(AbortSignal.any([signal, own.signal]));
      } catch (error) {
        if (!own.signal.aborted || signal.aborted) throw error;
      }
      if (!own.signal.aborted) return;
    }
  });
  return () => stop.abort(new Stopped(`${name} restarts`));
}

// Owns the kubelet's HTTPS port: logs, exec, attach, port-forward, pods, health, figures. Every request is authorized first.
import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { isStatusError, statusError, type StatusError } from '../../api/status-error.ts';
import { maybeMillisOf } from '../../api/time.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { HttpExchange } from '../../wire/http-exchange.ts';
import { type HttpListener, httpListener } from '../../wire/http-listener.ts';
import { refuseUpgrade, proxyUpgrade } from '../../wire/streams/upgrade.ts';
import type { KubeletRequestInfo, KubeletServerOptions } from '../options.ts';
import type { NodeContext } from '../pod/node-context.ts';
import { allContainersOf, type FrozenPod } from '../pod/pod-words.ts';
import type { NodePods } from '../pods.ts';
import { messageOf } from '../runtime/images.ts';
import { newest, type RuntimeContainer } from '../runtime/runtime-pod.ts';
import { type LogOptions, readLogs } from './logs.ts';
import type { statsReporter } from './stats.ts';

export interface KubeletServerDeps {
  readonly node: NodeContext;
  readonly pods: NodePods;
  readonly metrics: MetricsRegistry;
  readonly stats: ReturnType<typeof statsReporter>;
}

/** Throws in plain words when the port is taken. */
export async function kubeletServer(options: KubeletServerOptions, deps: KubeletServerDeps): Promise<HttpListener> {
  try {
    return await listen(options, deps);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`port ${options.port} of the kubelet is taken by another program`, { cause: error });
  }
}

function listen(options: KubeletServerOptions, deps: KubeletServerDeps): Promise<HttpListener> {
  return httpListener({
    clock: deps.node.clock,
    host: options.address,
    port: options.port,
    key: options.key,
    certificate: options.certificate,
    ...(options.clientCa !== undefined && { clientAuthorities: options.clientCa }),
    onExchange: (exchange) => void answer(options, deps, exchange),
    onUpgrade: (message, socket, head) => void upgrade(options, deps, message, socket, head),
  });
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const fineGrained: Readonly<Record<string, string>> = {
  stats: 'stats',
  metrics: 'metrics',
  logs: 'log',
  spec: 'spec',
  pods: 'pods',
  runningpods: 'pods',
  healthz: 'healthz',
  configz: 'configz',
};

function infoOf(
  method: string,
  path: string,
  authorization: string | undefined,
  certificate: X509Certificate | undefined,
): KubeletRequestInfo {
  const bearerToken = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return {
    ...(certificate && { user: userOf(certificate) }),
    ...(bearerToken !== undefined && { bearerToken }),
    verb: verbs[method] ?? method.toLowerCase(),
    subresource: fineGrained[path.split('/')[1] ?? ''] ?? 'proxy',
    path,
  };
}

function userOf(certificate: X509Certificate): { name: string; groups: string[] } {
  const parts = certificate.subject
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const);
  return {
    name: parts.find(([key]) => key === 'CN')?.[1] ?? '',
    groups: [...parts.filter(([key]) => key === 'O').map(([, value]) => value), 'system:authenticated'],
  };
}

/** Without an authorizer only members of system:masters get in: nothing is open by omission. */
async function authorize(options: KubeletServerOptions, info: KubeletRequestInfo): Promise<void> {
  if (options.authorize) return options.authorize(info);
  if (info.user === undefined) throw statusError('Unauthorized', 'Unauthorized');
  if (!info.user.groups.includes('system:masters')) throw statusError('Forbidden', 'Forbidden');
}

async function answer(options: KubeletServerOptions, deps: KubeletServerDeps, exchange: HttpExchange): Promise<void> {
  const [path = '/', query = ''] = exchange.url.split('?', 2);
  try {
    const header = exchange.headers['authorization'];
    await authorize(
      options,
      infoOf(
        exchange.method,
        path,
        typeof header === 'string' ? header : undefined,
        exchange.clientVerified ? exchange.clientCertificate() : undefined,
      ),
    );
    await route(deps, exchange, decodePath(path), new URLSearchParams(query));
  } catch (error) {
    if (!exchange.closed) respondError(deps, exchange, error);
  }
}

function decodePath(path: string): string[] {
  try {
    return path.split('/').slice(1).map(decodeURIComponent);
  } catch {
    throw statusError('BadRequest', 'the path is not well escaped');
  }
}

function respondError({ node }: KubeletServerDeps, exchange: HttpExchange, error: unknown): void {
  const code = isStatusError(error) ? error.code : 500;
  if (code === 500) node.logger.warn('a request to the kubelet failed', { path: exchange.url.split('?')[0], error });
  text(exchange, code, `${messageOf(error)}\n`);
}

function text(exchange: HttpExchange, code: number, body: string, type = 'text/plain; charset=utf-8'): void {
  exchange.respond(code, { 'content-type': type }, Buffer.from(body));
}

async function route(
  deps: KubeletServerDeps,
  exchange: HttpExchange,
  parts: string[],
  query: URLSearchParams,
): Promise<void> {
  const [first] = parts;
  if (first === 'containerLogs') return logs(deps, exchange, parts, query);
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD')
    throw statusError('MethodNotAllowed', 'method not allowed');
  switch (parts.join('/').replace(/\/$/, '')) {
    case 'healthz':
    case 'healthz/ping':
    case 'healthz/syncloop':
      return text(exchange, 200, 'ok');
    case 'pods':
      return text(
        exchange,
        200,
        JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: deps.pods.list() }),
        'application/json',
      );
    case 'metrics':
      return text(exchange, 200, deps.metrics.text(), 'text/plain; version=0.0.4; charset=utf-8');
    case 'metrics/resource':
      return text(exchange, 200, await deps.stats.resourceMetrics(), 'text/plain; version=0.0.4; charset=utf-8');
    case 'stats/summary':
      return text(exchange, 200, JSON.stringify(await deps.stats.summary()), 'application/json');
    default:
      throw statusError('NotFound', '404 page not found');
  }
}

function podOf({ pods }: KubeletServerDeps, namespace: string, name: string): FrozenPod {
  const pod = pods.list().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (pod === undefined) throw statusError('NotFound', `pod "${name}" does not exist`);
  return pod;
}

function containerOf(deps: KubeletServerDeps, pod: FrozenPod, name: string): RuntimeContainer | undefined {
  const runtime = deps.node.runtime.get(pod.metadata.uid);
  return runtime && newest(runtime, name);
}

async function logs(
  deps: KubeletServerDeps,
  exchange: HttpExchange,
  parts: string[],
  query: URLSearchParams,
): Promise<void> {
  const [, namespace = '', podName = '', containerName = ''] = parts;
  const pod = podOf(deps, namespace, podName);
  if (!allContainersOf(pod).some(({ name }) => name === containerName))
    throw statusError('NotFound', `container "${containerName}" not found in pod "${podName}"`);
  const options = logOptions(query, deps.node.clock.now());
  const container = logContainer(deps, pod, containerName, query.get('previous') === 'true');
  const abort = new AbortController();
  exchange.onClose(() => abort.abort());
  const stream = exchange.open(200, { 'content-type': 'text/plain; charset=utf-8' });
  const isRunning = (): boolean =>
    deps.node.runtime.get(pod.metadata.uid)?.containers.find(({ id }) => id === container.id)?.state === 'running';
  const write = (bytes: Buffer): Promise<void> =>
    stream.write(bytes) || abort.signal.aborted
      ? Promise.resolve()
      : new Promise((resolve) => {
          stream.onDrain(resolve);
          abort.signal.addEventListener('abort', () => resolve(), { once: true });
        });
  try {
    await readLogs({ file: container.logPath, clock: deps.node.clock, isRunning }, options, write, abort.signal);
    stream.end();
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isGone)
      await write(
        Buffer.from(`failed to try resolving symlinks in path "${container.logPath}": no such file or directory`),
      );
    else deps.node.logger.warn('cannot read a log', { file: container.logPath, error });
    stream.end();
  }
}

function logContainer(deps: KubeletServerDeps, pod: FrozenPod, name: string, previous: boolean): RuntimeContainer {
  const instances = deps.node.runtime.get(pod.metadata.uid)?.containers.filter((each) => each.name === name) ?? [];
  const [latest, before] = instances;
  if (previous) {
    // A container in back-off has ended: its last end is what "previous" means.
    const status = pod.status?.containerStatuses?.find((each) => each.name === name);
    const ended = before ?? (latest?.state === 'exited' && status?.state?.waiting ? latest : undefined);
    if (ended) return ended;
    throw statusError('BadRequest', `previous terminated container "${name}" in pod "${pod.metadata.name}" not found`);
  }
  if (latest === undefined || latest.state === 'created') {
    const found = before;
    if (found) return found;
    const reason =
      pod.status?.containerStatuses?.find((each) => each.name === name)?.state?.waiting?.reason ?? 'ContainerCreating';
    throw statusError('BadRequest', `container "${name}" in pod "${pod.metadata.name}" is waiting to start: ${reason}`);
  }
  return latest;
}

function logOptions(query: URLSearchParams, nowMs: number): LogOptions {
  const integer = (name: string): number | undefined => {
    const value = query.get(name);
    if (value === null || value === '') return undefined;
    const parsed = Number(value);
    if (!Number.isSafeInteger(parsed) || parsed < 0)
      throw statusError('BadRequest', `${name} must be a number of at least 0`);
    return parsed;
  };
  const sinceSeconds = integer('sinceSeconds');
  const sinceTime = query.get('sinceTime');
  const sinceMs = sinceSeconds !== undefined ? nowMs - sinceSeconds * 1000 : maybeMillisOf(sinceTime);
  if (sinceTime && sinceMs === undefined) throw statusError('BadRequest', 'sinceTime is no RFC 3339 time');
  const tailLines = integer('tailLines');
  const limitBytes = integer('limitBytes');
  const stream = query.get('stream')?.toLowerCase();
  return {
    follow: query.get('follow') === 'true',
    timestamps: query.get('timestamps') === 'true',
    ...(tailLines !== undefined && { tailLines }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...((stream === 'stdout' || stream === 'stderr') && { stream }),
  };
}

async function upgrade(
  options: KubeletServerOptions,
  deps: KubeletServerDeps,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const tls = socket as TLSSocket;
  const [path = '/', query = ''] = (message.url ?? '/').split('?', 2);
  try {
    const certificate = tls.authorized ? tls.getPeerX509Certificate() : undefined;
    await authorize(options, infoOf(message.method ?? 'GET', path, message.headers.authorization, certificate));
    const target = new URL(await streamUrl(deps, decodePath(path), new URLSearchParams(query)));
    await proxyUpgrade(message, socket, head, {
      connect: () => dialRuntime(target),
      host: target.host,
      path: `${target.pathname}${target.search}`,
    });
  } catch (error) {
    const code = isStatusError(error) ? (error as StatusError).code : 500;
    refuseUpgrade(socket, code, 'text/plain; charset=utf-8', `${messageOf(error)}\n`);
  }
}

/** The runtime's streaming server listens on loopback; it knows its callers by the token in the path. */
function dialRuntime({ hostname, port }: URL): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

const isOn = (value: string | null): boolean => value === '1' || value === 'true';

/** Asks the runtime for a place to stream to. */
async function streamUrl(deps: KubeletServerDeps, parts: string[], query: URLSearchParams): Promise<string> {
  const { runtime } = deps.node.cri;
  const [what, namespace = '', podName = '', third = '', fourth = ''] = parts;
  const pod = podOf(deps, namespace, podName);
  if (what === 'portForward') {
    const sandbox = deps.node.runtime.get(pod.metadata.uid)?.sandboxes.find(({ ready }) => ready);
    if (!sandbox) throw statusError('BadRequest', `pod "${podName}" is not running`);
    const port = query
      .getAll('port')
      .flatMap((each) => each.split(','))
      .map(Number)
      .filter((each) => each > 0);
    return (await runtime.portForward({ podSandboxId: sandbox.id, port })).url;
  }
  // With a UID in the middle: /exec/{namespace}/{pod}/{uid}/{container}.
  const name = fourth || third;
  const container = containerOf(deps, pod, name);
  if (container?.state !== 'running')
    throw statusError(
      container === undefined ? 'NotFound' : 'BadRequest',
      `container ${name} of pod ${podName} is not running`,
    );
  const tty = isOn(query.get('tty'));
  const streams = {
    containerId: container.id,
    stdin: isOn(query.get('input') ?? query.get('stdin')),
    stdout: isOn(query.get('output') ?? query.get('stdout')),
    // A terminal has one output.
    stderr: !tty && isOn(query.get('error') ?? query.get('stderr')),
    tty,
  };
  if (what === 'exec') return (await runtime.exec({ ...streams, cmd: query.getAll('command') })).url;
  if (what === 'attach') return (await runtime.attach(streams)).url;
  throw statusError('NotFound', '404 page not found');
}

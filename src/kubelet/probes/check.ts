// Owns one look at a container: HTTP, TCP, exec, gRPC. Decides nothing about thresholds.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { LifecycleHandler, Probe } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { grpcConnection } from '../../wire/grpc-client.ts';
import { isGrpcError, method } from '../../wire/grpc-service.ts';
import { enumType, message, type Message } from '../../wire/protobuf.ts';
import type { Cri } from '../cri.ts';
import type { FrozenContainer } from '../pod/pod-words.ts';
import { messageOf } from '../runtime/images.ts';

export interface CheckResult {
  readonly ok: boolean;
  readonly output: string;
}

export interface CheckTarget {
  readonly container: FrozenContainer;
  readonly containerId: string;
  readonly podIp: string;
  readonly cri: Cri;
}

const maxOutput = 10 * 1024;

/** Never throws: what cannot be done counts as failed. */
export async function check(probe: Frozen<Probe>, target: CheckTarget, timeoutMs: number): Promise<CheckResult> {
  try {
    if (probe.exec) return await execCheck(probe.exec.command ?? [], target, timeoutMs);
    if (probe.httpGet) return await httpCheck(probe.httpGet, target, timeoutMs);
    if (probe.tcpSocket) return await tcpCheck(probe.tcpSocket, target, timeoutMs);
    if (probe.grpc) return await grpcCheck(probe.grpc, target, timeoutMs);
    return { ok: true, output: '' };
  } catch (error) {
    return { ok: false, output: messageOf(error) };
  }
}

export async function execCheck(
  command: readonly string[],
  { cri, containerId }: CheckTarget,
  timeoutMs: number,
): Promise<CheckResult> {
  try {
    const answer = await cri.runtime.execSync(
      { containerId, cmd: command, timeout: Math.max(1, Math.ceil(timeoutMs / 1000)) },
      { timeoutMs: timeoutMs + 2000 },
    );
    const output = Buffer.concat([answer.stdout, answer.stderr]).toString('utf8').slice(0, maxOutput);
    return { ok: answer.exitCode === 0, output };
  } catch (error) {
    if (isGrpcError(error, 'DEADLINE_EXCEEDED'))
      return { ok: false, output: `command ${JSON.stringify(command.join(' '))} timed out` };
    throw error;
  }
}

type HttpGet = NonNullable<Frozen<LifecycleHandler>['httpGet']>;

export function httpCheck(get: HttpGet, target: CheckTarget, timeoutMs: number): Promise<CheckResult> {
  const port = portNumber(get.port, target.container);
  const isHttps = get.scheme === 'HTTPS';
  const headers: Record<string, string> = { 'user-agent': 'kube-probe/1.37', accept: '*/*', connection: 'close' };
  for (const { name, value } of get.httpHeaders ?? []) headers[name.toLowerCase()] = value;
  const host = get.host || target.podIp;
  return new Promise((resolve) => {
    const request = (isHttps ? httpsRequest : httpRequest)({
      host,
      port,
      path: get.path?.startsWith('/') ? get.path : `/${get.path ?? ''}`,
      headers,
      agent: false,
      // Probes do not verify certificates (documentation, "HTTP probes").
      ...(isHttps && { rejectUnauthorized: false }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    request.on('response', (response) => {
      const status = response.statusCode ?? 0;
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        if (body.length < maxOutput) body += text;
      });
      response.on('error', () => undefined);
      response.on('end', () => {
        // A redirect to elsewhere counts as success with a warning, one that stays here too: neither is followed.
        if (status >= 200 && status < 400) resolve({ ok: true, output: body.slice(0, maxOutput) });
        else resolve({ ok: false, output: `HTTP probe failed with statuscode: ${status}` });
      });
    });
    request.on('error', (error) =>
      resolve({
        ok: false,
        output: `Get "${isHttps ? 'https' : 'http'}://${host}:${port}${get.path ?? ''}": ${error.message}`,
      }),
    );
    request.end();
  });
}

function tcpCheck(
  action: NonNullable<Frozen<Probe>['tcpSocket']>,
  target: CheckTarget,
  timeoutMs: number,
): Promise<CheckResult> {
  const port = portNumber(action.port, target.container);
  const host = action.host || target.podIp;
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal: AbortSignal.timeout(timeoutMs) });
    socket.on('connect', () => {
      socket.destroy();
      resolve({ ok: true, output: '' });
    });
    socket.on('error', (error) => resolve({ ok: false, output: `dial tcp ${host}:${port}: ${error.message}` }));
  });
}

interface HealthRequest {
  service: string;
}
interface HealthAnswer {
  status: string;
}
/** grpc.health.v1, as the gRPC project's health checking protocol describes it. */
const HealthCheckRequest: Message<HealthRequest> = message('grpc.health.v1.HealthCheckRequest', () => [
  [1, 'service', 'string', 'one'],
]);
const HealthCheckResponse: Message<HealthAnswer> = message('grpc.health.v1.HealthCheckResponse', () => [
  [1, 'status', enumType({ UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 }), 'one'],
]);
export const Health = {
  check: method('/grpc.health.v1.Health/Check', HealthCheckRequest, HealthCheckResponse, false, false),
};

async function grpcCheck(
  action: NonNullable<Frozen<Probe>['grpc']>,
  target: CheckTarget,
  timeoutMs: number,
): Promise<CheckResult> {
  const host = target.podIp.includes(':') ? `[${target.podIp}]` : target.podIp;
  const connection = await grpcConnection({ address: `${host}:${action.port}` });
  try {
    const { status } = await connection.service(Health).check({ service: action.service ?? '' }, { timeoutMs });
    return {
      ok: status === 'SERVING',
      output: status === 'SERVING' ? '' : `service unhealthy (responded with "${status}")`,
    };
  } finally {
    connection.close();
  }
}

/** Throws for a name that no port of the container has. */
export function portNumber(port: number | string, container: FrozenContainer): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  const number = named ?? Number(port);
  if (!Number.isInteger(number) || number < 1 || number > 65_535)
    throw new Error(`couldn't find port: "${port}" in container ${container.name}`);
  return number;
}

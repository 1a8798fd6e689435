// Owns the validation of probes and lifecycle hooks: what is run against a container, and how often.
import type { Container, HTTPGetAction, Lifecycle, LifecycleHandler, Probe } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { httpHeaderName, portName } from '../names.ts';
import { portNumber } from './formats.ts';
import type { Problems } from './problems.ts';

export function validatePortOrName(problems: Problems, path: string, port: number | string | undefined): void {
  if (typeof port === 'string') problems.each(path, port, portName(port));
  else problems.each(path, port ?? 0, portNumber(port ?? 0));
}

type Handler = Frozen<Probe & LifecycleHandler>;

/** Handlers are looked at in this order; after the first every other one is one too many. */
const handlers: readonly {
  readonly field: keyof Probe | keyof LifecycleHandler;
  readonly check: (problems: Problems, path: string, handler: Handler, graceSeconds: number) => void;
}[] = [
  {
    field: 'exec',
    check: (problems, path, { exec }) => {
      if ((exec?.command?.length ?? 0) === 0) problems.required(`${path}.command`);
    },
  },
  { field: 'httpGet', check: (problems, path, { httpGet }) => validateHttpGet(problems, path, httpGet!) },
  {
    field: 'tcpSocket',
    check: (problems, path, { tcpSocket }) => validatePortOrName(problems, `${path}.port`, tcpSocket!.port),
  },
  { field: 'grpc', check: (problems, path, { grpc }) => validatePortOrName(problems, `${path}.port`, grpc!.port) },
  {
    field: 'sleep',
    check: (problems, path, { sleep }, graceSeconds) => {
      const seconds = sleep!.seconds ?? 0;
      if (seconds < 0 || seconds > graceSeconds)
        problems.invalid(
          path,
          seconds,
          `must be non-negative and at most terminationGracePeriodSeconds (${graceSeconds})`,
        );
    },
  },
];

function validateHandler(problems: Problems, path: string, handler: Handler, graceSeconds: number): void {
  let found = false;
  for (const { field, check } of handlers) {
    if (handler[field as keyof Handler] === undefined) continue;
    if (found) problems.forbidden(`${path}.${field}`, 'may not specify more than 1 handler type');
    else check(problems, `${path}.${field}`, handler, graceSeconds);
    found = true;
  }
  if (!found) problems.required(path, 'must specify a handler type');
}

function validateHttpGet(problems: Problems, path: string, action: Frozen<HTTPGetAction>): void {
  if (!action.path) problems.required(`${path}.path`);
  validatePortOrName(problems, `${path}.port`, action.port);
  if (action.scheme !== 'HTTP' && action.scheme !== 'HTTPS')
    problems.notSupported(`${path}.scheme`, action.scheme ?? '', ['HTTP', 'HTTPS']);
  for (const { name } of action.httpHeaders ?? [])
    problems.each(`${path}.httpHeaders`, name ?? '', httpHeaderName(name ?? ''));
}

export function validateLifecycle(
  problems: Problems,
  path: string,
  lifecycle: Frozen<Lifecycle> | undefined,
  graceSeconds: number,
): void {
  if (lifecycle?.postStart) validateHandler(problems, `${path}.postStart`, lifecycle.postStart, graceSeconds);
  if (lifecycle?.preStop) validateHandler(problems, `${path}.preStop`, lifecycle.preStop, graceSeconds);
}

function validateProbe(problems: Problems, path: string, probe: Frozen<Probe>, graceSeconds: number): void {
  validateHandler(problems, path, probe, graceSeconds);
  problems.notNegative(`${path}.initialDelaySeconds`, probe.initialDelaySeconds);
  problems.notNegative(`${path}.timeoutSeconds`, probe.timeoutSeconds);
  problems.notNegative(`${path}.periodSeconds`, probe.periodSeconds);
  problems.notNegative(`${path}.successThreshold`, probe.successThreshold);
  problems.notNegative(`${path}.failureThreshold`, probe.failureThreshold);
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    problems.invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
}

/** The three probes of a container, in the order in which they are reported. */
export function validateProbes(
  problems: Problems,
  path: string,
  { livenessProbe, readinessProbe, startupProbe }: Frozen<Container>,
  graceSeconds: number,
): void {
  const once = (field: string, probe: Frozen<Probe>): void => {
    validateProbe(problems, `${path}.${field}`, probe, graceSeconds);
    if (probe.successThreshold !== 1)
      problems.invalid(`${path}.${field}.successThreshold`, probe.successThreshold ?? 0, 'must be 1');
  };
  if (livenessProbe) once('livenessProbe', livenessProbe);
  if (readinessProbe) {
    validateProbe(problems, `${path}.readinessProbe`, readinessProbe, graceSeconds);
    if (readinessProbe.terminationGracePeriodSeconds !== undefined)
      problems.invalid(
        `${path}.readinessProbe.terminationGracePeriodSeconds`,
        readinessProbe.terminationGracePeriodSeconds,
        'must not be set for readinessProbes',
      );
  }
  if (startupProbe) once('startupProbe', startupProbe);
}

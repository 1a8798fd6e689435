// Owns what a request for a pod's streams may say: options read and checked, the container chosen, the kubelet's path made.
import type { Pod } from '../../api/generated/core.v1.ts';
import { forbidden, invalid as invalidField } from '../../api/field-error.ts';
import type { Frozen } from '../../api/meta.ts';
import { badRequest, type FieldError, invalid } from '../../api/status-error.ts';
import type { RemoteCommandWish } from '../../wire/streams/remote-command.ts';
import { queryFlag } from '../request-info.ts';

/** The container that is meant. Throws 400 when it is not said and there are several, or is not the pod's. */
export function chooseContainer(pod: Frozen<Pod>, wanted: string): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const { name } = pod.metadata;
  if (wanted === '') {
    if (containers.length === 1) return containers[0]!.name;
    const annotated = pod.metadata.annotations?.['kubectl.kubernetes.io/default-container'];
    if (annotated !== undefined && containers.some((container) => container.name === annotated)) return annotated;
    const choices = containers.map((container) => container.name).join(' ');
    const inits =
      initContainers.length === 0
        ? ''
        : ` or one of the init containers: [${initContainers.map((container) => container.name).join(' ')}]`;
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${choices}]${inits}`);
  }
  for (const list of [containers, initContainers, ephemeralContainers])
    if (list.some((container) => container.name === wanted)) return wanted;
  throw badRequest(`container ${wanted} is not valid for pod ${name}`);
}

export function requireNode(pod: Frozen<Pod>): string {
  const { nodeName = '' } = pod.spec;
  if (nodeName === '') throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  return nodeName;
}

export interface CommandRequest extends RemoteCommandWish {
  readonly container: string;
}

/** Which streams an exec or attach asks for. Throws 400. */
export function commandRequest(query: URLSearchParams, kind: 'exec' | 'attach'): CommandRequest {
  const flag = (name: string, otherwise: boolean): boolean =>
    query.has(name) ? queryFlag(query.get(name)) : otherwise;
  const wish = {
    container: query.get('container') ?? '',
    stdin: flag('stdin', false),
    stdout: flag('stdout', true),
    stderr: flag('stderr', true) && !(flag('tty', false) && !query.has('stderr')),
    tty: flag('tty', false),
  };
  if (wish.tty && wish.stderr) throw badRequest('tty and stderr cannot both be true');
  if (!wish.stdin && !wish.stdout && !wish.stderr)
    throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  if (kind === 'exec' && query.getAll('command').length === 0)
    throw badRequest('you must specify at least one command for the container');
  return wish;
}

/** Path and query of the kubelet for exec and attach. */
export function commandPath(
  kind: 'exec' | 'attach',
  pod: Frozen<Pod>,
  container: string,
  wish: RemoteCommandWish,
  query: URLSearchParams,
): string {
  const params = new URLSearchParams();
  if (wish.stdin) params.append('input', '1');
  if (wish.stdout) params.append('output', '1');
  if (wish.stderr) params.append('error', '1');
  if (wish.tty) params.append('tty', '1');
  if (kind === 'exec') for (const word of query.getAll('command')) params.append('command', word);
  return `/${kind}/${podPath(pod)}/${encodeURIComponent(container)}?${params}`;
}

export function portForwardPath(pod: Frozen<Pod>, query: URLSearchParams): string {
  const params = new URLSearchParams();
  for (const ports of query.getAll('ports')) for (const port of ports.split(',')) params.append('port', port);
  const text = params.toString();
  return `/portForward/${podPath(pod)}${text === '' ? '' : `?${text}`}`;
}

function podPath(pod: Frozen<Pod>): string {
  return `${encodeURIComponent(pod.metadata.namespace ?? '')}/${encodeURIComponent(pod.metadata.name)}`;
}

/** Checks the options of a log. Throws 400 for what is no number, 422 for what may not be said. */
export function logPath(pod: Frozen<Pod>, container: string, query: URLSearchParams): string {
  const params = logParams(query, pod.metadata.name).toString();
  return `/containerLogs/${podPath(pod)}/${encodeURIComponent(container)}${params === '' ? '' : `?${params}`}`;
}

function logParams(query: URLSearchParams, podName: string): URLSearchParams {
  const params = new URLSearchParams();
  const errors: FieldError[] = [];
  for (const name of ['follow', 'previous', 'timestamps', 'insecureSkipTLSVerifyBackend'])
    if (name !== 'insecureSkipTLSVerifyBackend' && queryFlag(query.get(name))) params.append(name, 'true');
  for (const [name, least] of [
    ['tailLines', 0],
    ['limitBytes', 1],
    ['sinceSeconds', 1],
  ] as const) {
    const text = query.get(name);
    if (text === null || text === '') continue;
    if (!/^[+-]?\d{1,18}$/.test(text))
      throw badRequest(`${name}: strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
    const value = Number(text);
    if (value < least)
      errors.push(
        invalidField(name, value, least === 0 ? 'must be greater than or equal to 0' : 'must be greater than 0'),
      );
    params.append(name, String(value));
  }
  const sinceTime = query.get('sinceTime');
  if (sinceTime !== null && sinceTime !== '') {
    if (Number.isNaN(Date.parse(sinceTime)))
      throw badRequest(`sinceTime: ${JSON.stringify(sinceTime)} is no RFC 3339 time`);
    if (params.has('sinceSeconds'))
      errors.push({ ...forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified') });
    params.append('sinceTime', sinceTime);
  }
  if (query.has('stream')) errors.push(forbidden('stream', 'may not be specified'));
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, errors);
  return params;
}

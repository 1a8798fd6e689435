// Owns the subresources of pods that a kubelet serves: exec, attach, portforward and log. What moves the bytes is in connect.ts.
import { Readable } from 'node:stream';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { badRequest, notFound, statusError } from '../../api/status-error.ts';
import type { UpgradeTarget } from '../../wire/streams/upgrade.ts';
import type { Action } from '../action.ts';
import type { Parts } from '../parts.ts';
import { queryFlag } from '../request-info.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { admitConnect, connection } from './connect-admission.ts';
import { connectCommand, connectPortForward } from './connect.ts';
import { askBackend, type BackendAnswer } from './http-proxy.ts';
import { type KubeletAddress, kubeletAddress, type KubeletDialer, type Kubelets } from './kubelet-address.ts';
import { chooseContainer, commandPath, commandRequest, logPath, portForwardPath, requireNode } from './pod-options.ts';

const pods = { group: '', plural: 'pods' };

/** The actions for `ApiServerDeps.actions`. */
export function podStreamActions(kubelets: Kubelets): Action[] {
  return [
    connection('pods', 'exec', (parts, request, served) => command(parts, request, served, kubelets, 'exec')),
    connection('pods', 'attach', (parts, request, served) => command(parts, request, served, kubelets, 'attach')),
    connection('pods', 'portforward', (parts, request, served) => portForward(parts, request, served, kubelets)),
    { group: '', resource: 'pods', subresource: 'log', handle: (parts, request) => log(parts, request, kubelets) },
  ];
}

export function findPod(parts: Parts, { info }: Pick<ApiRequest, 'info'>): Frozen<Pod> {
  const served = parts.catalog.stored('', 'pods');
  const entry = served?.collection && parts.objects.get(served.collection, `${info.namespace}/${info.name}`);
  if (entry === undefined) throw notFound(pods, info.name);
  return entry.object as unknown as Frozen<Pod>;
}

/** For a pod's streams upstream reports a missing node as a missing pod of the node's name. */
export function findKubelet(
  parts: Parts,
  { addressTypes }: Kubelets,
  nodeName: string,
  plural = 'pods',
): KubeletAddress {
  const served = parts.catalog.stored('', 'nodes');
  const entry = served?.collection && parts.objects.get(served.collection, nodeName);
  if (entry === undefined) throw notFound({ group: '', plural }, nodeName);
  return kubeletAddress(entry.object as unknown as Frozen<Node>, addressTypes);
}

export function kubeletTarget(kubelet: KubeletAddress, dial: KubeletDialer, path: string): UpgradeTarget {
  const host = kubelet.host.includes(':') ? `[${kubelet.host}]` : kubelet.host;
  return { connect: () => dial(kubelet), host: `${host}:${kubelet.port}`, path };
}

function requireUpgrade(request: ApiRequest): NonNullable<ApiRequest['upgrade']> {
  if (request.upgrade === undefined) throw badRequest('Upgrade request required');
  return request.upgrade;
}

async function command(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  kubelets: Kubelets,
  kind: 'exec' | 'attach',
): Promise<ApiAnswer> {
  const pod = findPod(parts, request);
  const wish = commandRequest(request.query, kind);
  const container = chooseContainer(pod, wish.container);
  const kubelet = findKubelet(parts, kubelets, requireNode(pod));
  const path = commandPath(kind, pod, container, wish, request.query);
  const { stdin, stdout, stderr, tty } = wish;
  const words = request.query.getAll('command');
  await admitConnect(parts, request, served, {
    ...{ stdin, stdout, stderr, tty, container },
    ...(kind === 'exec' && { command: words }),
  });
  return taken(parts, connectCommand(requireUpgrade(request), wish, kubeletTarget(kubelet, kubelets.dial, path)));
}

async function portForward(parts: Parts, request: ApiRequest, served: Served, kubelets: Kubelets): Promise<ApiAnswer> {
  const pod = findPod(parts, request);
  const kubelet = findKubelet(parts, kubelets, requireNode(pod));
  const path = portForwardPath(pod, request.query);
  await admitConnect(parts, request, served, {
    ports: request.query.getAll('ports').flatMap((ports) => ports.split(',').map(Number)),
  });
  return taken(parts, connectPortForward(requireUpgrade(request), kubeletTarget(kubelet, kubelets.dial, path)));
}

/** The connection lives on by itself; how it ends is told to its two ends. */
export function taken(parts: Parts, connection: Promise<void>): ApiAnswer {
  connection.catch((error: unknown) =>
    parts.log.warn('a stream ended badly', { error: error instanceof Error ? error : String(error) }),
  );
  return { type: 'taken' };
}

async function log(parts: Parts, request: ApiRequest, kubelets: Kubelets): Promise<ApiAnswer> {
  const pod = findPod(parts, request);
  const container = chooseContainer(pod, request.query.get('container') ?? '');
  const path = logPath(pod, container, request.query);
  const { nodeName = '' } = pod.spec;
  // A pod that nobody runs has said nothing yet.
  if (nodeName === '')
    return { type: 'stream', code: 204, headers: {}, body: Readable.from([]) as AsyncIterable<Uint8Array> };
  parts.onPodLog?.(queryFlag(request.query.get('insecureSkipTLSVerifyBackend')));
  const target = kubeletTarget(findKubelet(parts, kubelets, nodeName), kubelets.dial, path);
  const answer = await reached(askBackend(target, 'GET', {}, undefined, request.signal), target);
  if (answer.code < 200 || answer.code > 206) throw await refusal(answer, request.info.name);
  return { type: 'stream', code: 200, headers: { 'Content-Type': 'text/plain' }, body: answer.body };
}

async function reached(answer: Promise<BackendAnswer>, target: UpgradeTarget): Promise<BackendAnswer> {
  try {
    return await answer;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw statusError('InternalError', `Get "https://${target.host}${target.path}": ${text}`);
  }
}

async function refusal(answer: BackendAnswer, name: string): Promise<Error> {
  const text = (await answer.text()).trim();
  if (answer.code === 400) return badRequest(text);
  if (answer.code === 404) return statusError('NotFound', text, { kind: 'pods', name });
  if (answer.code === 403) return statusError('Forbidden', text, { kind: 'pods', name });
  return statusError(
    'InternalError',
    `Internal error occurred: ${text}`,
    undefined,
    answer.code >= 500 ? 500 : answer.code,
  );
}

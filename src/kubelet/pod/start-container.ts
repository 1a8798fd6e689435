// Owns bringing one container up: image, environment, mounts, create, start, postStart hook. Decides nothing about when.
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Secret } from '../../api/generated/core.v1.ts';
import { configMaps, secrets } from '../../api/generated/resources.ts';
import type { Frozen } from '../../api/meta.ts';
import { randomUuid } from '../../base/random.ts';
import { GrpcError } from '../../wire/grpc-service.ts';
import type { Mount, PodSandboxConfig } from '../../wire/generated/cri-runtime-v1.ts';
import type { Init } from '../../wire/protobuf.ts';
import { containerConfig } from '../runtime/container-config.ts';
import { messageOf, type PresentImage } from '../runtime/images.ts';
import { ConfigError, StartError } from './config-error.ts';
import { containerEnv, envReferences } from './env.ts';
import { expand } from './expand.ts';
import type { FieldContext } from './field-ref.ts';
import { containerLogPath, logFolderOf, podFolder } from './folders.ts';
import { runHook } from './hooks.ts';
import { hasOwnHosts } from './network-files.ts';
import type { NodeContext } from './node-context.ts';
import { ephemeralContainersOf, type FrozenContainer, type FrozenPod } from './pod-words.ts';

export interface StartRequest {
  readonly pod: FrozenPod;
  readonly container: FrozenContainer;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly podIps: readonly string[];
  /** For an ephemeral container that looks at another's processes. */
  readonly targetId?: string;
}

const hookTimeoutMs = 600_000;

/** Answers the container's id. Throws StartError with the reason that the status shows. */
export async function startContainer(node: NodeContext, request: StartRequest, signal: AbortSignal): Promise<string> {
  const { pod, container } = request;
  const about = containerReference(pod, container);
  const image = await ensureImage(node, request, signal);
  signal.throwIfAborted();
  const config = await configure(node, request, image);
  signal.throwIfAborted();
  await mkdir(join(logFolderOf(node.folders, pod), container.name), { recursive: true });
  const containerId = await create(node, request, config);
  node.events.event(about, 'Normal', 'Created', `Container created`);
  try {
    await node.cri.runtime.startContainer({ containerId }, { timeoutMs: 120_000 });
  } catch (error) {
    node.events.event(about, 'Warning', 'Failed', `Error: ${messageOf(error)}`);
    throw new StartError('RunContainerError', messageOf(error), error);
  }
  node.events.event(about, 'Normal', 'Started', `Container started`);
  if (container.lifecycle?.postStart) {
    // It runs already: the status says so while the hook is at work.
    await node.runtime.refresh(pod.metadata.uid);
    await postStart(node, request, containerId, signal);
  }
  return containerId;
}

async function create(
  node: NodeContext,
  { pod, container, sandboxId, sandboxConfig }: StartRequest,
  config: ReturnType<typeof containerConfig>,
): Promise<string> {
  const { runtime } = node.cri;
  try {
    return (await runtime.createContainer({ podSandboxId: sandboxId, config, sandboxConfig }, { timeoutMs: 120_000 }))
      .containerId;
  } catch (error) {
    node.events.event(containerReference(pod, container), 'Warning', 'Failed', `Error: ${messageOf(error)}`);
    const reason =
      error instanceof GrpcError && error.code === 'DEADLINE_EXCEEDED'
        ? 'context deadline exceeded'
        : 'CreateContainerError';
    throw new StartError(reason, messageOf(error), error);
  }
}

/** What events about a container point at. */
export function containerReference(pod: FrozenPod, container: FrozenContainer): Record<string, string> {
  const field = pod.spec.containers.includes(container)
    ? 'containers'
    : ephemeralContainersOf(pod).includes(container)
      ? 'ephemeralContainers'
      : 'initContainers';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name,
    uid: pod.metadata.uid,
    resourceVersion: pod.metadata.resourceVersion,
    fieldPath: `spec.${field}{${container.name}}`,
  };
}

async function ensureImage(
  node: NodeContext,
  { pod, container }: StartRequest,
  signal: AbortSignal,
): Promise<PresentImage> {
  const name = container.image ?? '';
  const about = containerReference(pod, container);
  try {
    const pullSecrets = await pullSecretsOf(node, pod);
    const image = await node.images.ensure(
      name,
      container.imagePullPolicy,
      pullSecrets,
      () => node.events.event(about, 'Normal', 'Pulling', `Pulling image "${name}"`),
      signal,
    );
    const message =
      image.pulledMs === undefined
        ? `Container image "${name}" already present on machine and can be accessed by the pod`
        : `Successfully pulled image "${name}" in ${(image.pulledMs / 1000).toFixed(3)}s. Image size: ${image.sizeBytes} bytes.`;
    node.events.event(about, 'Normal', 'Pulled', message);
    return image;
  } catch (error) {
    if (!signal.aborted && error instanceof StartError) {
      const text = error.reason === 'ErrImagePull' ? `Failed to pull image "${name}": ${error.message}` : error.message;
      node.events.event(about, 'Warning', error.reason === 'InvalidImageName' ? 'InspectFailed' : 'Failed', text);
      node.events.event(about, 'Warning', 'Failed', `Error: ${error.reason}`);
    }
    throw error;
  }
}

async function pullSecretsOf(node: NodeContext, pod: FrozenPod): Promise<Frozen<Secret>[]> {
  const found = await Promise.all(
    (pod.spec.imagePullSecrets ?? []).map(({ name = '' }) =>
      node.objects.get(secrets, { namespace: pod.metadata.namespace ?? '', name }),
    ),
  );
  return found.filter((secret) => secret !== undefined);
}

async function configure(
  node: NodeContext,
  request: StartRequest,
  image: PresentImage,
): Promise<ReturnType<typeof containerConfig>> {
  const { pod, container } = request;
  try {
    const env = await environment(node, request);
    return containerConfig(pod, container, {
      attempt: request.attempt,
      imageId: image.id,
      imageUser: image.user,
      env,
      mounts: await mounts(node, request, env),
      devices: [],
      logPath: containerLogPath(container.name, request.attempt),
      memoryCapacityBytes: node.memoryCapacityBytes,
      hugepageSizes: node.hugepageSizes,
      seccompFolder: node.seccompFolder,
      ...(request.targetId !== undefined && { targetId: request.targetId }),
    });
  } catch (error) {
    node.events.event(containerReference(pod, container), 'Warning', 'Failed', `Error: ${messageOf(error)}`);
    throw new StartError(
      error instanceof ConfigError ? 'CreateContainerConfigError' : 'CreateContainerError',
      messageOf(error),
      error,
    );
  }
}

export function fieldContext(node: NodeContext, pod: FrozenPod, podIps: readonly string[]): FieldContext {
  return { pod, podIps, hostIps: node.hostIps, nodeName: node.nodeName, allocatable: node.allocatable };
}

async function environment(node: NodeContext, { pod, container, podIps }: StartRequest): Promise<Map<string, string>> {
  const namespace = pod.metadata.namespace ?? '';
  const named = envReferences(container);
  const [maps, secretObjects, services] = await Promise.all([
    Promise.all(
      named.configMaps.map(async (name) => [name, await node.objects.get(configMaps, { namespace, name }, 0)] as const),
    ),
    Promise.all(
      named.secrets.map(async (name) => [name, await node.objects.get(secrets, { namespace, name }, 0)] as const),
    ),
    node.services(),
  ]);
  const mapByName = new Map(maps);
  const secretByName = new Map(secretObjects);
  const files = new Map<string, string>();
  for (const { valueFrom } of container.env ?? []) {
    const volume = valueFrom?.fileKeyRef?.volumeName;
    if (volume !== undefined) files.set(volume, await node.volumes.hostPath(pod, volume));
  }
  return containerEnv(pod, container, {
    configMap: (name) => mapByName.get(name),
    secret: (name) => secretByName.get(name),
    services,
    fields: fieldContext(node, pod, podIps),
    volumeFile: (volume, path) => readVolumeFile(files.get(volume), path),
  });
}

function readVolumeFile(folder: string | undefined, path: string): string | undefined {
  if (folder === undefined || path.split('/').includes('..')) return undefined;
  try {
    return readFileSync(join(folder, path), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const propagation = {
  None: 'PROPAGATION_PRIVATE',
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
} as const;

async function mounts(
  node: NodeContext,
  { pod, container }: StartRequest,
  env: ReadonlyMap<string, string>,
): Promise<Init<Mount>[]> {
  const result: Init<Mount>[] = [];
  for (const mount of container.volumeMounts ?? []) {
    const volume = await node.volumes.hostPath(pod, mount.name);
    const subPath = mount.subPathExpr ? expand(mount.subPathExpr, (name) => env.get(name)) : mount.subPath;
    const wanted = mount.mountPropagation as keyof typeof propagation | undefined;
    result.push({
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath: subPath ? await subPathOf(volume, subPath) : volume,
      readonly: mount.readOnly === true || isFixed(pod, mount.name),
      propagation: propagation[wanted ?? 'None'],
    });
  }
  const folder = podFolder(node.folders, pod.metadata.uid);
  const taken = new Set(result.map(({ containerPath }) => containerPath));
  if (!taken.has('/etc/hosts') && hasOwnHosts(pod))
    result.push({ containerPath: '/etc/hosts', hostPath: join(folder, 'etc-hosts'), readonly: false });
  const messages = join(folder, 'containers', container.name);
  await mkdir(messages, { recursive: true });
  const message = join(messages, randomUuid(node.random).slice(0, 8));
  await writeFile(message, '', { mode: 0o666 });
  result.push({ containerPath: container.terminationMessagePath ?? '/dev/termination-log', hostPath: message });
  return result;
}

/** Volumes made of API objects are never writable. */
function isFixed(pod: FrozenPod, name: string): boolean {
  const volume = pod.spec.volumes?.find((each) => each.name === name);
  return Boolean(volume?.configMap ?? volume?.secret ?? volume?.downwardAPI ?? volume?.projected);
}

/** The place within the volume, links resolved; it must not lie outside, wherever the links lead. */
async function subPathOf(volume: string, subPath: string): Promise<string> {
  if (subPath.startsWith('/') || subPath.split('/').includes('..'))
    throw new ConfigError(`subPath ${subPath} must stay within its volume`);
  const root = await realpath(volume);
  const wanted = join(root, subPath);
  // An existing file is taken as it is; else a folder is made, as documented for subPath. Links on the way are checked below.
  const parent = await nearest(wanted);
  if (parent !== root && !parent.startsWith(`${root}/`))
    throw new ConfigError(`subPath ${subPath} leads out of its volume`);
  await mkdir(wanted, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST' && error.code !== 'ENOTDIR') throw error;
  });
  const real = await realpath(wanted);
  if (real !== root && !real.startsWith(`${root}/`))
    throw new ConfigError(`subPath ${subPath} leads out of its volume`);
  return real;
}

/** The real path of the deepest part that exists. */
async function nearest(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return nearest(dirname(path));
  }
}

async function postStart(
  node: NodeContext,
  request: StartRequest,
  containerId: string,
  signal: AbortSignal,
): Promise<void> {
  const { pod, container } = request;
  const target = { container, containerId, podIp: request.podIps[0] ?? node.hostIps[0] ?? '', cri: node.cri };
  try {
    await runHook(container.lifecycle!.postStart!, target, node.clock, hookTimeoutMs, signal);
  } catch (error) {
    if (signal.aborted) return;
    node.events.event(
      containerReference(pod, container),
      'Warning',
      'FailedPostStartHook',
      `PostStartHook failed: ${messageOf(error)}`,
    );
    await node.cri.runtime.stopContainer({ containerId, timeout: pod.spec.terminationGracePeriodSeconds ?? 30 });
  }
}

// Owns the doing of a pod's planned steps against runtime, volumes and cgroups. Decides nothing about which or when.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isGrpcError } from '../../wire/grpc-service.ts';
import type { PodSandboxConfig } from '../../wire/generated/cri-runtime-v1.ts';
import { runtimeClasses } from '../../api/generated/resources.ts';
import type { Init } from '../../wire/protobuf.ts';
import { messageOf } from '../runtime/images.ts';
import { currentSandbox } from './plan.ts';
import { newest, type RuntimePod } from '../runtime/runtime-pod.ts';
import { linuxResources } from '../runtime/container-config.ts';
import { sandboxConfig } from '../runtime/sandbox-config.ts';
import { StartError } from './config-error.ts';
import { logFolderOf, podFolder } from './folders.ts';
import { runHook } from './hooks.ts';
import { hasOwnHosts, hostNames, hostsFile, podDns } from './network-files.ts';
import type { NodeContext } from './node-context.ts';
import { type Action } from './plan.ts';
import { allContainersOf, type FrozenPod, resourcesText } from './pod-words.ts';
import { containerReference, fieldContext, startContainer } from './start-container.ts';

export interface ActionContext {
  readonly node: NodeContext;
  readonly pod: FrozenPod;
  readonly runtime: RuntimePod;
}

const callMs = { timeoutMs: 120_000 };

export async function prepare({ node, pod, runtime }: ActionContext): Promise<void> {
  await mkdir(podFolder(node.folders, pod.metadata.uid), { recursive: true, mode: 0o750 });
  await mkdir(logFolderOf(node.folders, pod), { recursive: true, mode: 0o755 });
  node.cgroups.create(pod);
  try {
    await node.volumes.prepare(pod, fieldContext(node, pod, podIps(node, pod, runtime)), true);
  } catch (error) {
    node.events.event(pod, 'Warning', 'FailedMount', messageOf(error));
    throw error;
  }
}

export function podIps(node: NodeContext, pod: FrozenPod, runtime: RuntimePod): readonly string[] {
  return pod.spec.hostNetwork ? node.hostIps : (currentSandbox(runtime)?.ips ?? []);
}

function sandboxConfigOf(node: NodeContext, pod: FrozenPod, attempt: number): Init<PodSandboxConfig> {
  const dns = node.dns();
  return sandboxConfig(pod, {
    attempt,
    hostname: hostNames(pod, node.nodeName, dns.clusterDomain).hostname,
    dns: podDns(pod, dns),
    logDirectory: logFolderOf(node.folders, pod),
    cgroupParent: node.cgroups.podPath(pod),
  });
}

/** Throws for what this node cannot give, so that the pod says so instead of running without it. */
async function handlerOf(node: NodeContext, pod: FrozenPod): Promise<string> {
  const { runtimeClassName, hostUsers, resourceClaims } = pod.spec;
  if (hostUsers === false) throw new Error('user namespaces (hostUsers: false) are not supported on this node');
  if (resourceClaims?.length) throw new Error('resource claims are not supported on this node');
  if (allContainersOf(pod).some(({ volumeDevices }) => volumeDevices?.length))
    throw new Error('block devices (volumeDevices) are not supported on this node');
  if (!runtimeClassName) return '';
  const found = await node.objects.get(runtimeClasses, { namespace: '', name: runtimeClassName });
  if (found === undefined) throw new Error(`RuntimeClass "${runtimeClassName}" not found`);
  return found.handler;
}

export async function createSandbox({ node, pod }: ActionContext, attempt: number): Promise<void> {
  try {
    const runtimeHandler = await handlerOf(node, pod);
    await node.cri.runtime.runPodSandbox(
      { config: sandboxConfigOf(node, pod, attempt), runtimeHandler },
      { timeoutMs: 240_000 },
    );
  } catch (error) {
    node.events.event(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${messageOf(error)}`);
    throw error;
  }
}

export async function start(
  { node, pod, runtime }: ActionContext,
  action: Extract<Action, { do: 'start' }>,
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly resources: string }> {
  const container = allContainersOf(pod).find(({ name }) => name === action.name);
  if (container === undefined) throw new StartError('CreateContainerError', `the pod has no container ${action.name}`);
  const ips = podIps(node, pod, runtime);
  if (hasOwnHosts(pod)) await writeHosts(node, pod, ips);
  const target = (container as { targetContainerName?: string }).targetContainerName;
  const targetId = target === undefined ? undefined : newest(runtime, target)?.id;
  const id = await startContainer(
    node,
    {
      pod,
      container,
      attempt: action.attempt,
      sandboxId: action.sandboxId,
      sandboxConfig: sandboxConfigOf(node, pod, currentSandbox(runtime)?.attempt ?? 0),
      podIps: ips,
      ...(targetId !== undefined && { targetId }),
    },
    signal,
  );
  return { id, resources: resourcesText(container) };
}

/** Gives a running container, and its pod's cgroup, the resources that the spec asks for now. Answers what was given. */
export async function resize({ node, pod }: ActionContext, action: Extract<Action, { do: 'resize' }>): Promise<string> {
  const container = allContainersOf(pod).find(({ name }) => name === action.name)!;
  const linux = linuxResources(pod, container, node.memoryCapacityBytes, []);
  // A limit that grows needs room in the pod's cgroup first; one that shrinks takes it after.
  node.cgroups.create(pod);
  try {
    await node.cri.runtime.updateContainerResources({ containerId: action.id, linux }, callMs);
  } catch (error) {
    node.events.event(containerReference(pod, container), 'Warning', 'ResizeError', messageOf(error));
    throw error;
  }
  node.cgroups.create(pod);
  return resourcesText(container);
}

async function writeHosts(node: NodeContext, pod: FrozenPod, ips: readonly string[]): Promise<void> {
  const file = join(podFolder(node.folders, pod.metadata.uid), 'etc-hosts');
  const hostFile = pod.spec.hostNetwork ? await readFile('/etc/hosts', 'utf8').catch(() => '') : '';
  const text = hostsFile(pod, hostNames(pod, node.nodeName, node.dns().clusterDomain), ips, hostFile);
  const before = await readFile(file, 'utf8').catch(() => undefined);
  if (before === text) return;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode: 0o644 });
}

const killMessages: Readonly<Record<string, string>> = {
  liveness: 'failed liveness probe, will be restarted',
  startup: 'failed startup probe, will be restarted',
  changed: 'definition changed, will be restarted',
  resize: 'resize requires restart',
};

/** After the grace period the runtime kills; the preStop hook's time counts against it. */
export async function kill(
  { node, pod, runtime }: ActionContext,
  action: Extract<Action, { do: 'kill' }>,
  signal: AbortSignal,
): Promise<void> {
  const container = allContainersOf(pod).find(({ name }) => name === action.name);
  const isRunning = runtime.containers.find(({ id }) => id === action.id)?.state === 'running';
  if (container) {
    const why = killMessages[action.reason];
    const text = why === undefined ? 'Stopping container ' + action.name : `Container ${action.name} ${why}`;
    node.events.event(containerReference(pod, container), 'Normal', 'Killing', text);
  }
  const startedMs = node.clock.monotonic();
  const preStop = container?.lifecycle?.preStop;
  if (container && preStop && isRunning && action.graceMs > 0) {
    const target = { container, containerId: action.id, podIp: podIps(node, pod, runtime)[0] ?? '', cri: node.cri };
    try {
      await runHook(preStop, target, node.clock, action.graceMs, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      node.events.event(
        containerReference(pod, container),
        'Warning',
        'FailedPreStopHook',
        `PreStopHook failed: ${messageOf(error)}`,
      );
    }
  }
  const leftMs = action.graceMs - (node.clock.monotonic() - startedMs);
  // A hook that took all of the time leaves two seconds, as documented for termination.
  const timeout = Math.max(preStop ? 2 : 0, Math.ceil(leftMs / 1000));
  await ignoreGone(
    node.cri.runtime.stopContainer({ containerId: action.id, timeout }, { signal, timeoutMs: timeout * 1000 + 60_000 }),
  );
}

export async function stopSandbox({ node }: ActionContext, id: string): Promise<void> {
  await ignoreGone(node.cri.runtime.stopPodSandbox({ podSandboxId: id }, callMs));
}

export async function removeContainer({ node }: ActionContext, id: string): Promise<void> {
  await ignoreGone(node.cri.runtime.removeContainer({ containerId: id }, callMs));
}

export async function removeSandbox({ node }: ActionContext, id: string): Promise<void> {
  await ignoreGone(node.cri.runtime.removePodSandbox({ podSandboxId: id }, callMs));
}

export async function teardown({ node, pod }: ActionContext): Promise<void> {
  await node.volumes.remove(pod.metadata.uid);
  node.cgroups.remove(node.cgroups.podPath(pod));
}

/** Removes what a deleted pod leaves in the runtime, and its logs. */
export async function forget({ node, pod, runtime }: ActionContext): Promise<void> {
  for (const { id } of runtime.containers)
    await ignoreGone(node.cri.runtime.removeContainer({ containerId: id }, callMs));
  for (const { id } of runtime.sandboxes)
    await ignoreGone(node.cri.runtime.removePodSandbox({ podSandboxId: id }, callMs));
  node.cgroups.remove(node.cgroups.podPath(pod));
  await rm(logFolderOf(node.folders, pod), { recursive: true, force: true });
  await rm(podFolder(node.folders, pod.metadata.uid), { recursive: true, force: true });
}

async function ignoreGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isGrpcError(error, 'NOT_FOUND')) throw error;
  }
}

// Owns small judgements about a pod's spec that plan, status and configs share. Pure.
import { createHash } from 'node:crypto';
import type { Container, Pod, EphemeralContainer } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';

export type FrozenPod = Frozen<Pod>;
export type FrozenContainer = Frozen<Container>;

export function isSidecar(container: FrozenContainer): boolean {
  return container.restartPolicy === 'Always';
}

export const initContainersOf = (pod: FrozenPod): readonly FrozenContainer[] => pod.spec.initContainers ?? [];

export function ephemeralContainersOf(pod: FrozenPod): readonly FrozenContainer[] {
  return (pod.spec.ephemeralContainers ?? []) as readonly Frozen<EphemeralContainer>[] as readonly FrozenContainer[];
}

export function allContainersOf(pod: FrozenPod): readonly FrozenContainer[] {
  return [...initContainersOf(pod), ...pod.spec.containers, ...ephemeralContainersOf(pod)];
}

/** A change of this restarts the container: name and image, as upstream. */
export function containerHash(container: FrozenContainer): string {
  return createHash('sha256').update(`${container.name}\0${container.image}`).digest('hex').slice(0, 8);
}

/** Whether a container that ended so is started again: its own rules, its own policy, then the pod's. */
export function restartsAfter(pod: FrozenPod, container: FrozenContainer, exitCode: number, isInit: boolean): boolean {
  for (const rule of container.restartPolicyRules ?? []) {
    const matched = rule.exitCodes?.values?.includes(exitCode) ?? false;
    const applies = rule.exitCodes?.operator === 'NotIn' ? !matched : matched;
    if (rule.exitCodes && applies) return rule.action === 'Restart' || rule.action === 'RestartAllContainers';
  }
  const policy = container.restartPolicy ?? pod.spec.restartPolicy ?? 'Always';
  if (isInit && container.restartPolicy !== 'Always') return exitCode !== 0 && policy !== 'Never';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** What of a container's resources the kernel keeps: by resource, [request, limit]. */
export function computeOf({ resources }: FrozenContainer): Record<string, (string | null)[]> {
  const result: Record<string, (string | null)[]> = {};
  for (const name of ['cpu', 'memory']) {
    const pair = [resources?.requests?.[name] ?? null, resources?.limits?.[name] ?? null];
    if (pair.some((each) => each !== null)) result[name] = pair;
  }
  return result;
}

export const noResources = '{}';

export function resourcesText(container: FrozenContainer): string {
  return JSON.stringify(computeOf(container));
}

/** Where a static pod came from: a manifest of this node's own. */
export const configSourceAnnotation = 'kubernetes.io/config.source';
export const configMirrorAnnotation = 'kubernetes.io/config.mirror';
export const configHashAnnotation = 'kubernetes.io/config.hash';

export function isMirrorPod(pod: FrozenPod): boolean {
  return pod.metadata.annotations?.[configMirrorAnnotation] !== undefined;
}

/** "name_namespace(uid)": how upstream's messages name a pod. */
export function podLabel(pod: FrozenPod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

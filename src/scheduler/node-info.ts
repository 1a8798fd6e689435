// Owns a node as the scheduler looks at it: what is there, what is taken, and by whom. Changed only by the cache (and on clones by preemption).
import type { Frozen } from '../api/meta.ts';
import type { Node, Taint } from '../api/generated/core.v1.ts';
import type { HostPort, PodInfo } from './pod-info.ts';
import { Resources, whole } from './resources.ts';

const noLabels: Readonly<Record<string, string>> = Object.freeze({});
const noTaints: readonly Frozen<Taint>[] = Object.freeze([]);

export class NodeInfo {
  readonly name: string;
  /** undefined while pods are known on a node that is not (yet, or no longer). Such nodes are in no snapshot. */
  node: Frozen<Node> | undefined = undefined;
  labels: Readonly<Record<string, string>> = noLabels;
  taints: readonly Frozen<Taint>[] = noTaints;
  unschedulable = false;
  allocatable = new Resources();
  allowedPods = 0;
  /** Bytes by image name. */
  images: ReadonlyMap<string, number> = new Map();
  requested = new Resources();
  nonZeroCpuMilli = 0;
  nonZeroMemoryBytes = 0;
  readonly pods = new Map<string, PodInfo>();
  readonly podsWithAffinity = new Set<PodInfo>();
  readonly podsWithRequiredAntiAffinity = new Set<PodInfo>();
  /** How many pods hold each host port: "TCP/80" to addresses to count. */
  readonly #ports = new Map<string, Map<string, number>>();
  /** "namespace/name" of the claims that pods here use, with how many do. */
  readonly claims = new Map<string, number>();

  constructor(name: string) {
    this.name = name;
  }

  setNode(node: Frozen<Node>): void {
    this.node = node;
    this.labels = node.metadata.labels ?? noLabels;
    this.taints = node.spec.taints ?? noTaints;
    this.unschedulable = node.spec.unschedulable === true;
    this.allocatable = Resources.of(node.status?.allocatable);
    this.allowedPods = whole(node.status?.allocatable?.['pods'] ?? '0');
    const images = new Map<string, number>();
    for (const image of node.status?.images ?? [])
      for (const name of image.names) images.set(name, image.sizeBytes ?? 0);
    this.images = images;
  }

  addPod(pod: PodInfo): void {
    this.pods.set(pod.uid, pod);
    this.#count(pod, 1);
    if (pod.hasAffinity) this.podsWithAffinity.add(pod);
    if (pod.requiredAntiAffinity.length > 0) this.podsWithRequiredAntiAffinity.add(pod);
  }

  /** Gives back what the pod of this uid took; undefined when it is not here. */
  removePod(uid: string): PodInfo | undefined {
    const pod = this.pods.get(uid);
    if (pod === undefined) return undefined;
    this.pods.delete(uid);
    this.#count(pod, -1);
    this.podsWithAffinity.delete(pod);
    this.podsWithRequiredAntiAffinity.delete(pod);
    return pod;
  }

  #count(pod: PodInfo, sign: 1 | -1): void {
    this.requested.add(pod.requests, sign);
    this.nonZeroCpuMilli += sign * pod.nonZero.cpuMilli;
    this.nonZeroMemoryBytes += sign * pod.nonZero.memoryBytes;
    for (const port of pod.hostPorts) this.#countPort(port, sign);
    for (const volume of pod.pod.spec.volumes ?? []) {
      const claim = claimOf(pod, volume);
      if (claim === undefined) continue;
      const left = (this.claims.get(claim) ?? 0) + sign;
      if (left > 0) this.claims.set(claim, left);
      else this.claims.delete(claim);
    }
  }

  #countPort(port: HostPort, sign: 1 | -1): void {
    const key = `${port.protocol}/${port.port}`;
    let addresses = this.#ports.get(key);
    if (addresses === undefined) this.#ports.set(key, (addresses = new Map()));
    const left = (addresses.get(port.ip) ?? 0) + sign;
    if (left > 0) addresses.set(port.ip, left);
    else addresses.delete(port.ip);
    if (addresses.size === 0) this.#ports.delete(key);
  }

  /** True when the port is held on the same address, or either side holds it on all addresses. */
  portTaken(port: HostPort): boolean {
    const addresses = this.#ports.get(`${port.protocol}/${port.port}`);
    return addresses !== undefined && (port.ip === '0.0.0.0' || addresses.has('0.0.0.0') || addresses.has(port.ip));
  }

  /** A copy to play with. */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.name);
    copy.node = this.node;
    copy.labels = this.labels;
    copy.taints = this.taints;
    copy.unschedulable = this.unschedulable;
    copy.allocatable = this.allocatable;
    copy.allowedPods = this.allowedPods;
    copy.images = this.images;
    for (const pod of this.pods.values()) copy.addPod(pod);
    return copy;
  }
}

type PodVolume = NonNullable<PodInfo['pod']['spec']['volumes']>[number];

/** "namespace/name" of the claim behind a pod's volume: named, or the generated one of an ephemeral volume. */
export function claimOf(pod: PodInfo, volume: PodVolume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return `${pod.namespace}/${volume.persistentVolumeClaim.claimName}`;
  if (volume.ephemeral !== undefined) return `${pod.namespace}/${pod.name}-${volume.name}`;
  return undefined;
}

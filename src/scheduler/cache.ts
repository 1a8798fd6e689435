// Owns the scheduler's picture of nodes and the pods on them, with pods assumed before the server confirms. No I/O, no clock.
import type { Frozen } from '../api/meta.ts';
import type { Node } from '../api/generated/core.v1.ts';
import type { Snapshot } from './framework/plugin.ts';
import { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

interface Placed {
  info: PodInfo;
  nodeName: string;
  assumed: boolean;
}

/** Told of each pod that starts or stops to count on a node; keeps indexes that would cost a walk over all pods each cycle. */
export interface PodObserver {
  podAdded(node: NodeInfo, pod: PodInfo): void;
  podRemoved(node: NodeInfo, pod: PodInfo): void;
  nodeRemoved(node: NodeInfo): void;
}

export class SchedulerCache implements Snapshot {
  readonly #nodes = new Map<string, NodeInfo>();
  readonly #pods = new Map<string, Placed>();
  readonly nodesWithAffinity = new Set<NodeInfo>();
  readonly nodesWithRequiredAntiAffinity = new Set<NodeInfo>();
  /** On how many nodes each image is, for image locality. */
  readonly imageNodes = new Map<string, number>();
  readonly observers: PodObserver[] = [];
  #ordered: readonly NodeInfo[] | undefined;

  /** Zones take turns, so that the first nodes looked at are spread over all of them. */
  get nodes(): readonly NodeInfo[] {
    this.#ordered ??= zonesInTurn([...this.#nodes.values()].filter((info) => info.node !== undefined));
    return this.#ordered;
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#nodes.get(name);
    return info?.node === undefined ? undefined : info;
  }

  get podCount(): number {
    return this.#pods.size;
  }

  isAssumed(uid: string): boolean {
    return this.#pods.get(uid)?.assumed === true;
  }

  placedOn(uid: string): string | undefined {
    return this.#pods.get(uid)?.nodeName;
  }

  podOf(uid: string): PodInfo | undefined {
    return this.#pods.get(uid)?.info;
  }

  setNode(node: Frozen<Node>): void {
    const info = this.#infoOf(node.metadata.name);
    if (info.node === undefined || zoneOf(info.labels) !== zoneOf(node.metadata.labels ?? {}))
      this.#ordered = undefined;
    this.#countImages(info, -1);
    info.setNode(node);
    this.#countImages(info, 1);
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (info?.node === undefined) return;
    this.#countImages(info, -1);
    info.node = undefined;
    info.images = new Map();
    this.#ordered = undefined;
    this.#dropIfEmpty(info);
  }

  /** Takes the node's room before the server knows. Throws when the pod is already placed: that is a broken invariant. */
  assume(info: PodInfo, nodeName: string): void {
    if (this.#pods.has(info.uid)) throw new Error(`pod ${info.namespace}/${info.name} is already placed`);
    this.#place(info, nodeName, true);
  }

  /** Gives the room of an assumed pod back; nothing happens when the server has confirmed it meanwhile. */
  forget(uid: string): void {
    if (this.#pods.get(uid)?.assumed === true) this.#unplace(uid);
  }

  /** What the server says of a pod that has a node. Answers true when it was assumed there already. */
  setPod(info: PodInfo, nodeName: string): boolean {
    const known = this.#pods.get(info.uid);
    const confirmed = known !== undefined && known.assumed && known.nodeName === nodeName;
    if (known !== undefined) {
      if (known.nodeName === nodeName && known.info.pod === info.pod) {
        known.assumed = false;
        return confirmed;
      }
      this.#unplace(info.uid);
    }
    this.#place(info, nodeName, false);
    return confirmed;
  }

  removePod(uid: string): PodInfo | undefined {
    const known = this.#pods.get(uid);
    this.#unplace(uid);
    return known?.info;
  }

  #place(info: PodInfo, nodeName: string, assumed: boolean): void {
    const node = this.#infoOf(nodeName);
    node.addPod(info);
    this.#pods.set(info.uid, { info, nodeName, assumed });
    this.#noteAffinity(node);
    for (const observer of this.observers) observer.podAdded(node, info);
  }

  #unplace(uid: string): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    this.#pods.delete(uid);
    const node = this.#nodes.get(known.nodeName);
    if (node === undefined) return;
    node.removePod(uid);
    this.#noteAffinity(node);
    for (const observer of this.observers) observer.podRemoved(node, known.info);
    this.#dropIfEmpty(node);
  }

  #noteAffinity(node: NodeInfo): void {
    if (node.podsWithAffinity.size > 0) this.nodesWithAffinity.add(node);
    else this.nodesWithAffinity.delete(node);
    if (node.podsWithRequiredAntiAffinity.size > 0) this.nodesWithRequiredAntiAffinity.add(node);
    else this.nodesWithRequiredAntiAffinity.delete(node);
  }

  #infoOf(name: string): NodeInfo {
    let info = this.#nodes.get(name);
    if (info === undefined) this.#nodes.set(name, (info = new NodeInfo(name)));
    return info;
  }

  #dropIfEmpty(info: NodeInfo): void {
    if (info.node !== undefined || info.pods.size > 0) return;
    this.#nodes.delete(info.name);
    for (const observer of this.observers) observer.nodeRemoved(info);
  }

  #countImages(info: NodeInfo, sign: 1 | -1): void {
    for (const image of info.images.keys()) {
      const left = (this.imageNodes.get(image) ?? 0) + sign;
      if (left > 0) this.imageNodes.set(image, left);
      else this.imageNodes.delete(image);
    }
  }
}

const zoneLabel = 'topology.kubernetes.io/zone';
const regionLabel = 'topology.kubernetes.io/region';

function zoneOf(labels: Readonly<Record<string, string>>): string {
  return `${labels[regionLabel] ?? ''}/${labels[zoneLabel] ?? ''}`;
}

function zonesInTurn(nodes: readonly NodeInfo[]): readonly NodeInfo[] {
  const zones = new Map<string, NodeInfo[]>();
  for (const node of nodes) {
    const zone = zoneOf(node.labels);
    const members = zones.get(zone);
    if (members === undefined) zones.set(zone, [node]);
    else members.push(node);
  }
  if (zones.size <= 1) return nodes;
  const ordered: NodeInfo[] = [];
  const lists = [...zones.values()];
  for (let at = 0; ordered.length < nodes.length; at++)
    for (const list of lists) if (at < list.length) ordered.push(list[at]!);
  return ordered;
}

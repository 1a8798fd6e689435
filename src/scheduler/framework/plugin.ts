// Owns what a scheduler plugin is: the extension points, their contract, refusals as values, and what wakes a refused pod.
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { NodeInfo } from '../node-info.ts';
import type { PodInfo } from '../pod-info.ts';
import type { ClusterEvent } from './cluster-event.ts';
import type { Cycle } from './cycle.ts';

/**
 * Why a pod may not run on a node. Make them once and share them: the diagnosis counts them by identity first.
 * `unresolvable`: nothing that preemption could remove would help.
 */
export interface RefusedBy {
  readonly reasons: readonly string[];
  readonly unresolvable: boolean;
}

/** undefined means yes. */
export type Refusal = RefusedBy | undefined;

export function refusal(...reasons: string[]): RefusedBy {
  return { reasons, unresolvable: false };
}

export function unresolvable(...reasons: string[]): RefusedBy {
  return { reasons, unresolvable: true };
}

/** The nodes and pods as this scheduling cycle sees them. Valid until the cycle's next await; never kept. */
export interface Snapshot {
  /** In the order in which the cycle looks at them: zones take turns. */
  readonly nodes: readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  /** The nodes that hold at least one pod with (anti-)affinity terms, so that the others need no look. */
  readonly nodesWithAffinity: ReadonlySet<NodeInfo>;
  readonly nodesWithRequiredAntiAffinity: ReadonlySet<NodeInfo>;
}

export type PreFilterResult<S> =
  | { readonly state: S /** The only node names worth a look. */; readonly only?: ReadonlySet<string> }
  /** Nothing to check for this pod: `filter` is not called. */
  | { readonly skip: true }
  /** No node can do. */
  | { readonly refused: RefusedBy };

export interface PostFilterResult {
  /** The node whose pods were asked to leave; empty when that would not help; undefined: a promise from before stands. */
  readonly nominatedNodeName?: string;
  /** What is appended to the pod's condition: "preemption: 0/3 nodes are available: …". */
  readonly message: string;
}

export type PermitResult =
  | 'allow'
  | { readonly refused: RefusedBy }
  /** Waits for `allow` or `reject` of the waiting pod, at most so long. */
  | { readonly waitMs: number };

/** Why each node was refused; nodes that are absent were not looked at because of `absent`. */
export interface Diagnosis {
  readonly byNode: ReadonlyMap<NodeInfo, { readonly plugin: string; readonly refused: RefusedBy }>;
  readonly absent?: RefusedBy;
  /** Plugins that refused, which decide what wakes the pod. */
  readonly plugins: Set<string>;
  /** Set when a preFilter refused all nodes at once. */
  readonly all?: RefusedBy;
}

/**
 * A plugin. S is what it works out once a pod (in preFilter, or preScore for plugins that only score), typed.
 * preFilter to reserve are synchronous: the whole decision is one step in which nothing else moves.
 * A plugin keeps nothing about a pod outside S and what reserve/unreserve pair up.
 */
export interface SchedulerPlugin<S = unknown> {
  readonly name: string;
  /** What may make a pod that this plugin refused schedulable. Absent: only the periodic flush retries it. */
  readonly wakesOn?: readonly ClusterEvent[];
  /** Called once before the first pod: waits for informers. */
  start?(signal: AbortSignal): Promise<void>;
  /** Keeps a pod out of the queue until it changes. */
  preEnqueue?(pod: PodInfo): Refusal;
  /** The queue's order; exactly one plugin of a profile has it. Negative: a goes first. */
  compare?(a: QueuedOrder, b: QueuedOrder): number;
  preFilter?(pod: PodInfo, all: Snapshot): PreFilterResult<S>;
  filter?(pod: PodInfo, node: NodeInfo, state: S): Refusal;
  /** Keeps S true while preemption tries nodes with pods added or removed. Absent: S does not depend on other pods. */
  addPod?(state: S, pod: PodInfo, other: PodInfo, node: NodeInfo): void;
  removePod?(state: S, pod: PodInfo, other: PodInfo, node: NodeInfo): void;
  /** A copy that addPod/removePod may change. Needed exactly when they are there. */
  cloneState?(state: S): S;
  /** Called when no node passed. Whatever it starts (removing pods) goes on in the background. */
  postFilter?(cycle: Cycle, diagnosis: Diagnosis, all: Snapshot): PostFilterResult | undefined;
  /** Called with the nodes that passed when there is more than one. `undefined` as state of a plugin without preFilter. */
  preScore?(
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    all: Snapshot,
  ): { readonly state: unknown } | { readonly skip: true };
  /** Any finite number when there is `normalize`, else an integer from 0 to 100. `state` is preScore's. */
  score?(pod: PodInfo, node: NodeInfo, state: never): number;
  /** Brings the scores to 0..100 in place. */
  normalize?(scores: Float64Array, nodes: readonly NodeInfo[], state: never): void;
  /** Claims what the pod needs on the node; throw or refuse and every plugin's unreserve is called. Idempotent unreserve. */
  reserve?(pod: PodInfo, node: NodeInfo, state: S | undefined): Refusal;
  unreserve?(pod: PodInfo, nodeName: string): void;
  permit?(pod: PodInfo, nodeName: string): PermitResult;
  /** True when preBind has work to do for this pod, which is then nominated to the node in its status. */
  preBindNeeded?(pod: PodInfo, nodeName: string): boolean;
  preBind?(pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<Refusal>;
  /** True: bound. False: not mine, ask the next. */
  bind?(pod: PodInfo, nodeName: string, signal: AbortSignal): Promise<boolean>;
  postBind?(pod: PodInfo, nodeName: string): void;
}

/** What the queue orders by. */
export interface QueuedOrder {
  readonly info: PodInfo;
  /** When the pod came into the queue, on the monotonic clock. */
  readonly queuedMs: number;
  /** Rises with each pod that is queued: breaks ties. */
  readonly order: number;
}

/** An object that an event is about, as loosely as the queueing hints need it. */
export type AnyObject = Frozen<KubeObject>;

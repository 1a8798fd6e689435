// Owns which pod is scheduled next: ready ones by importance, backing-off ones by time, refused ones until something helps. No timers of its own.
import { Heap } from '../base/heap.ts';
import type { Clock } from '../base/clock.ts';
import type { Frozen } from '../api/meta.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import type { ClusterEvent, EventName, Happening } from './framework/cluster-event.ts';
import type { QueuedOrder } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import { PodInfo } from './pod-info.ts';

export type QueuePlace = 'active' | 'backoff' | 'unschedulable' | 'gated' | 'scheduling' | 'gone';

export class QueuedPod implements QueuedOrder {
  info: PodInfo;
  readonly profile: Profile;
  readonly order: number;
  queuedMs: number;
  /** When it first came, for the time that scheduling took. */
  readonly firstMs: number;
  place: QueuePlace = 'gone';
  attempts = 0;
  /** How often it was refused; decides the back-off. */
  refusals = 0;
  /** Failures by errors rather than by refusals: these always wait out their back-off. */
  errors = 0;
  readyMs = 0;
  sinceMs = 0;
  /** Names of the plugins that refused it last time. */
  refusedBy: ReadonlySet<string> = new Set();
  /** Bumped whenever it enters or leaves a heap, which makes older entries void. */
  ticket = 0;

  constructor(info: PodInfo, profile: Profile, order: number, nowMs: number) {
    this.info = info;
    this.profile = profile;
    this.order = order;
    this.queuedMs = nowMs;
    this.firstMs = nowMs;
  }
}

interface Entry {
  readonly queued: QueuedPod;
  readonly ticket: number;
}

export interface QueueOptions {
  readonly clock: Clock;
  /** Default 1 s and 10 s. */
  readonly podInitialBackoffMs?: number;
  readonly podMaxBackoffMs?: number;
  /** Refused pods are retried after so long even if nothing seems to help; default 5 minutes. */
  readonly maxInUnschedulableMs?: number;
  /** Called when a pod may be popped that could not before. */
  readonly wake: () => void;
}

export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #initialMs: number;
  readonly #maxMs: number;
  readonly #flushMs: number;
  readonly #active: Heap<Entry>;
  readonly #backoff: Heap<Entry>;
  /** Of all places. */
  readonly #pods = new Map<string, QueuedPod>();
  readonly #waiting = new Set<QueuedPod>();
  readonly #gated = new Set<QueuedPod>();
  /** By event name, what each plugin of each profile wants to hear. */
  readonly #interests = new Map<Profile, Map<EventName, Map<string, ClusterEvent[]>>>();
  #order = 0;
  readonly sizes = { active: 0, backoff: 0 };

  constructor(options: QueueOptions, profiles: readonly Profile[]) {
    this.#options = options;
    this.#initialMs = options.podInitialBackoffMs ?? 1000;
    this.#maxMs = options.podMaxBackoffMs ?? 10_000;
    this.#flushMs = options.maxInUnschedulableMs ?? 5 * 60_000;
    const sorts = profiles.map((profile) => profile.plugins.find(({ compare }) => compare !== undefined));
    const sort = sorts[0];
    if (sort?.compare === undefined || sorts.some((other) => other?.name !== sort.name))
      throw new Error('all profiles need one and the same queue sort plugin');
    const compare = sort.compare.bind(sort);
    this.#active = new Heap((a, b) => compare(a.queued, b.queued));
    this.#backoff = new Heap((a, b) => a.queued.readyMs - b.queued.readyMs || compare(a.queued, b.queued));
    for (const profile of profiles) this.#interests.set(profile, interestsOf(profile));
  }

  get unschedulable(): number {
    return this.#waiting.size;
  }

  get gated(): number {
    return this.#gated.size;
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  add(pod: Frozen<Pod>, profile: Profile): void {
    const known = this.#pods.get(pod.metadata.uid);
    if (known !== undefined) {
      this.update(pod, known.info.pod);
      return;
    }
    const queued = new QueuedPod(new PodInfo(pod), profile, this.#order++, this.#options.clock.monotonic());
    this.#pods.set(queued.info.uid, queued);
    this.#enqueue(queued);
  }

  /** A waiting pod changed: its new form counts, and it is tried again if the change may help. */
  update(pod: Frozen<Pod>, before: Frozen<Pod>): void {
    const queued = this.#pods.get(pod.metadata.uid);
    if (queued === undefined) return;
    queued.info = new PodInfo(pod);
    if (queued.place === 'active' || queued.place === 'backoff') {
      // The order may depend on what changed.
      this.#enter(queued, queued.place);
      return;
    }
    if (queued.place === 'gated') {
      this.#enqueue(queued);
      return;
    }
    if (queued.place === 'unschedulable' && matters(pod, before))
      this.#move(queued, { name: 'PodChanged', pod: queued.info, podBefore: before });
  }

  remove(uid: string): void {
    const queued = this.#pods.get(uid);
    if (queued === undefined) return;
    this.#pods.delete(uid);
    this.#leave(queued, 'gone');
  }

  /** The next pod, or undefined. It stays known until `done`, `refused` or `failed` (or `remove`). */
  pop(): QueuedPod | undefined {
    this.#flushBackoff();
    // An idle scheduler does not make refused pods wait; those that failed by an error must (KEP-5142).
    const queued = this.#take(this.#active, 'active') ?? this.#takeEarly();
    if (queued === undefined) return undefined;
    this.#leave(queued, 'scheduling');
    queued.attempts++;
    return queued;
  }

  /** The pod has its node. */
  done(queued: QueuedPod): void {
    if (this.#pods.get(queued.info.uid) === queued) this.#pods.delete(queued.info.uid);
    queued.place = 'gone';
  }

  /** Nobody took the pod: it waits for something that helps. */
  refused(queued: QueuedPod, plugins: ReadonlySet<string>): void {
    if (this.#pods.get(queued.info.uid) !== queued) return;
    queued.refusedBy = plugins;
    queued.refusals++;
    queued.errors = 0;
    queued.queuedMs = queued.sinceMs = this.#options.clock.monotonic();
    queued.readyMs = queued.sinceMs + this.#backoffOf(queued.refusals);
    this.#leave(queued, 'unschedulable');
    this.#waiting.add(queued);
  }

  /** Something broke (a conflict, an outage): again after the back-off. */
  failed(queued: QueuedPod): void {
    if (this.#pods.get(queued.info.uid) !== queued) return;
    queued.errors++;
    queued.refusedBy = new Set();
    queued.queuedMs = queued.sinceMs = this.#options.clock.monotonic();
    queued.readyMs = queued.sinceMs + this.#backoffOf(queued.errors);
    this.#enter(queued, 'backoff');
  }

  /** Moves the refused pods that this may help. */
  happened(what: Happening): void {
    for (const queued of this.#waiting) this.#move(queued, what);
    // What keeps a pod out (a claim that does not exist) may be over as well.
    for (const queued of [...this.#gated]) this.#move(queued, what);
  }

  /** Tries this pod at once, whatever refused it. */
  activate(uid: string): void {
    const queued = this.#pods.get(uid);
    if (queued?.place === 'unschedulable' || queued?.place === 'backoff') this.#enqueue(queued);
  }

  /** Retries pods that waited for very long: a hint may have been wrong. Call it every half minute. */
  flushUnschedulable(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const queued of this.#waiting) if (nowMs - queued.sinceMs > this.#flushMs) this.#requeue(queued);
  }

  /** Milliseconds until a backing-off pod may be tried; undefined when none waits for time to pass. */
  nextReadyInMs(): number | undefined {
    const next = this.#valid(this.#backoff, 'backoff');
    return next === undefined ? undefined : Math.max(0, next.readyMs - this.#options.clock.monotonic());
  }

  #move(queued: QueuedPod, what: Happening): void {
    if (queued.refusedBy.size === 0) {
      // Refused by nobody: there were no nodes. Anything may help.
      this.#requeue(queued);
      return;
    }
    const interests = this.#interests.get(queued.profile)?.get(what.name);
    if (interests === undefined) return;
    for (const plugin of queued.refusedBy)
      for (const { helps } of interests.get(plugin) ?? [])
        if (helps === undefined || helps(queued.info, what)) {
          this.#requeue(queued);
          return;
        }
  }

  #requeue(queued: QueuedPod): void {
    if (this.#options.clock.monotonic() >= queued.readyMs) this.#enqueue(queued);
    else if (!this.#gate(queued)) this.#enter(queued, 'backoff');
  }

  #enqueue(queued: QueuedPod): void {
    if (!this.#gate(queued)) this.#enter(queued, 'active');
  }

  /** True when a plugin keeps the pod out. */
  #gate(queued: QueuedPod): boolean {
    for (const plugin of queued.profile.preEnqueue)
      if (plugin.preEnqueue(queued.info) !== undefined) {
        queued.refusedBy = new Set([plugin.name]);
        this.#leave(queued, 'gated');
        this.#gated.add(queued);
        return true;
      }
    return false;
  }

  #enter(queued: QueuedPod, place: 'active' | 'backoff'): void {
    this.#leave(queued, place);
    this.sizes[place]++;
    const heap = place === 'active' ? this.#active : this.#backoff;
    heap.push({ queued, ticket: queued.ticket });
    if (heap.size > 1000 + 4 * this.sizes[place]) dropVoid(heap, place);
    this.#options.wake();
  }

  #leave(queued: QueuedPod, next: QueuePlace): void {
    if (queued.place === 'active' || queued.place === 'backoff') this.sizes[queued.place]--;
    this.#waiting.delete(queued);
    this.#gated.delete(queued);
    queued.place = next;
    queued.ticket++;
  }

  #flushBackoff(): void {
    const nowMs = this.#options.clock.monotonic();
    for (;;) {
      const next = this.#valid(this.#backoff, 'backoff');
      if (next === undefined || next.readyMs > nowMs) return;
      this.#backoff.pop();
      this.#enqueue(next);
    }
  }

  #takeEarly(): QueuedPod | undefined {
    const next = this.#valid(this.#backoff, 'backoff');
    if (next === undefined || next.errors > 0) return undefined;
    this.#backoff.pop();
    return next;
  }

  #take(heap: Heap<Entry>, place: QueuePlace): QueuedPod | undefined {
    const next = this.#valid(heap, place);
    if (next !== undefined) heap.pop();
    return next;
  }

  /** The top of a heap after dropping entries of pods that moved on. */
  #valid(heap: Heap<Entry>, place: QueuePlace): QueuedPod | undefined {
    for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
      if (isValid(top, place)) return top.queued;
      heap.pop();
    }
    return undefined;
  }

  #backoffOf(times: number): number {
    return Math.min(this.#maxMs, this.#initialMs * 2 ** Math.min(times - 1, 20));
  }
}

function isValid({ queued, ticket }: Entry, place: QueuePlace): boolean {
  return queued.place === place && queued.ticket === ticket;
}

/** Entries of pods that moved on are skipped when they come to the top; a heap that is mostly such entries is rebuilt. */
function dropVoid(heap: Heap<Entry>, place: QueuePlace): void {
  const kept: Entry[] = [];
  for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) if (isValid(entry, place)) kept.push(entry);
  for (const entry of kept) heap.push(entry);
}

function interestsOf(profile: Profile): Map<EventName, Map<string, ClusterEvent[]>> {
  const interests = new Map<EventName, Map<string, ClusterEvent[]>>();
  for (const plugin of profile.plugins)
    for (const event of plugin.wakesOn ?? []) {
      let byPlugin = interests.get(event.on);
      if (byPlugin === undefined) interests.set(event.on, (byPlugin = new Map()));
      const events = byPlugin.get(plugin.name);
      if (events === undefined) byPlugin.set(plugin.name, [event]);
      else events.push(event);
    }
  return interests;
}

/** Status updates of a waiting pod (mostly the scheduler's own) help nothing, except for resource claims. */
function matters(next: Frozen<Pod>, before: Frozen<Pod>): boolean {
  const differ = (a: unknown, b: unknown) => a !== b && JSON.stringify(a) !== JSON.stringify(b);
  return (
    differ(next.spec, before.spec) ||
    differ(next.metadata.labels, before.metadata.labels) ||
    differ(next.status?.resourceClaimStatuses, before.status?.resourceClaimStatuses)
  );
}

// Owns the check of histories over API servers: concurrent clients create, update, delete, get, list and watch through several servers
// while these are disturbed; then all that they saw must be one order, which respects real time. The store's own watch is the order.
import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Random, randomInteger, seededRandom } from '../../src/base/random.ts';
import { prefixRange, type Store, StoreUnavailable } from '../../src/store/store.ts';
import type { Answer, WatchedEvent } from './many-servers.ts';

export interface ServersUnderTest {
  readonly count: number;
  /** Rejects when the connection breaks or nothing comes in time: the outcome is unknown. */
  ask(server: number, method: string, path: string, body?: object): Promise<Answer>;
  watch(server: number, path: string, signal: AbortSignal): AsyncIterable<WatchedEvent>;
  /** The store itself, not disturbed. */
  readonly store: Store;
  /** Kills, pauses, cuts, and mends what it did before. */
  disturb?(random: Random): Promise<void>;
  close(): Promise<void>;
}

export interface ApiHistoryOptions {
  readonly seed: number;
  readonly clients: number;
  readonly operations: number;
  readonly disturbances: number;
}

export interface ApiHistoryReport {
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
  readonly reads: number;
  readonly watches: number;
  readonly events: number;
  readonly expired: number;
}

interface Operation {
  readonly kind: 'create' | 'update' | 'delete' | 'get' | 'list' | 'past';
  readonly name: string;
  readonly value: string;
  /** resourceVersion it insisted on; 0: none. */
  readonly insists: number;
  readonly begun: number;
  ended: number;
  outcome: 'done' | 'refused' | 'unknown';
  /** Of the answer: of the written object, of the list; for a get the object's. */
  revision: number;
  /** What a read saw: values by name. */
  state: ReadonlyMap<string, string>;
}

interface Watched {
  readonly from: number;
  readonly events: {
    readonly type: string;
    readonly name: string;
    readonly value: string;
    readonly revision: number;
  }[];
  /** All up to this is there. */
  through: number;
}

interface Change {
  readonly revision: number;
  readonly name: string;
  /** Undefined: deleted. */
  readonly value: string | undefined;
}

const namespace = 'kube-public';
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const root = `/registry/configmaps/${namespace}/`;
const label = 'history';
const names = Array.from({ length: 5 }, (_, at) => `h${at}`);
const selector = `labelSelector=${label}%3Dyes`;

/** Throws an AssertionError at the first thing that no correct servers could have answered. */
export async function checkApiHistory(
  open: (random: Random) => Promise<ServersUnderTest>,
  options: ApiHistoryOptions,
): Promise<ApiHistoryReport> {
  const random = seededRandom(options.seed);
  const under = await open(random);
  try {
    const recorder = new Recorder(under, random, options);
    await recorder.run();
    return check(recorder);
  } finally {
    await under.close();
  }
}

class Recorder {
  readonly operations: Operation[] = [];
  readonly watched: Watched[] = [];
  readonly changes: Change[] = [];
  expired = 0;
  first = 0;
  readonly #under: ServersUnderTest;
  readonly #random: Random;
  readonly #options: ApiHistoryOptions;
  readonly #stopped = new AbortController();
  /** The newest version that some client has seen. */
  readonly #seen = new Map<string, number>();
  #moment = 0;
  #left: number;
  #newest = 0;
  #through = 0;

  constructor(under: ServersUnderTest, random: Random, options: ApiHistoryOptions) {
    this.#under = under;
    this.#random = random;
    this.#options = options;
    this.#left = options.operations;
    setMaxListeners(0, this.#stopped.signal);
  }

  async run(): Promise<void> {
    const { store } = this.#under;
    this.first = (await store.range({ start: root }, { countOnly: true })).revision + 1;
    this.#newest = this.first - 1;
    const truth = this.#follow();
    const watchers = [this.#watchAtRandom(), this.#watchAtRandom(), this.#watchAtRandom()];
    const clients = Array.from({ length: this.#options.clients }, (_, at) => this.#client(at));
    await Promise.all([...clients, this.#disturb()]);
    const { revision } = await store.range({ start: root }, { countOnly: true });
    while (this.#through < revision) {
      await store.requestProgress();
      await delay(5);
    }
    this.#stopped.abort();
    await Promise.all([truth, ...watchers]);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    for await (const { revision, events } of this.#under.store.watch(prefixRange(root), {
      fromRevision: this.first,
      signal,
    })) {
      for (const { type, kv } of events) {
        const name = kv.key.slice(root.length);
        if (!names.includes(name)) continue;
        // The value is unique, and stands in the stored bytes as it is.
        const value = type === 'delete' ? undefined : /v\d+-\d+-x/.exec(Buffer.from(kv.value).toString('latin1'))?.[0];
        this.changes.push({ revision: kv.modRevision, name, value });
      }
      this.#through = revision;
    }
  }

  #server(): number {
    return randomInteger(this.#random, this.#under.count);
  }

  async #client(client: number): Promise<void> {
    for (let turn = 0; this.#left > 0; turn++) {
      this.#left--;
      const roll = this.#random.next();
      const name = names[randomInteger(this.#random, names.length)]!;
      const value = `v${client}-${turn}-x`;
      const newest = this.#seen.get(name) ?? 0;
      const insists = this.#random.next() < 0.6 ? newest : 0;
      if (roll < 0.2) await this.#do({ kind: 'create', name, value, insists: 0 });
      else if (roll < 0.5) await this.#do({ kind: 'update', name, value, insists });
      else if (roll < 0.62) await this.#do({ kind: 'delete', name, value: '', insists });
      else if (roll < 0.82) await this.#do({ kind: 'get', name, value: '', insists: 0 });
      else if (roll < 0.94) await this.#do({ kind: 'list', name: '', value: '', insists: 0 });
      else
        await this.#do({ kind: 'past', name: '', value: '', insists: this.#newest - randomInteger(this.#random, 8) });
    }
  }

  async #do(what: Pick<Operation, 'kind' | 'name' | 'value' | 'insists'>): Promise<void> {
    const { kind, name, value, insists } = what;
    if (kind === 'past' && insists < this.first) return;
    const one: Operation = {
      ...what,
      begun: this.#moment++,
      ended: Infinity,
      outcome: 'unknown',
      revision: 0,
      state: new Map(),
    };
    this.operations.push(one);
    const metadata = {
      name,
      labels: { [label]: 'yes' },
      ...(insists > 0 && kind === 'update' && { resourceVersion: `${insists}` }),
    };
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
    const server = this.#server();
    const calls: Readonly<Record<Operation['kind'], () => Promise<Answer>>> = {
      create: () => this.#under.ask(server, 'POST', path, map),
      update: () => this.#under.ask(server, 'PUT', `${path}/${name}`, map),
      delete: () =>
        this.#under.ask(server, 'DELETE', `${path}/${name}`, {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          ...(insists > 0 && { preconditions: { resourceVersion: `${insists}` } }),
        }),
      get: () => this.#under.ask(server, 'GET', `${path}/${name}`),
      list: () => this.#under.ask(server, 'GET', `${path}?${selector}`),
      past: () =>
        this.#under.ask(server, 'GET', `${path}?${selector}&resourceVersion=${insists}&resourceVersionMatch=Exact`),
    };
    let answer: Answer;
    try {
      answer = await calls[kind]();
    } catch {
      // A server that is away is left for a while.
      await delay(2);
      return;
    }
    this.#note(one, answer);
    if (one.outcome !== 'unknown') one.ended = this.#moment++;
  }

  #note(one: Operation, { status, body }: Answer): void {
    const { kind, name } = one;
    const revision = Number(body.metadata?.resourceVersion ?? 0);
    if (status >= 500 || status === 429) return;
    if (status === 410) {
      this.expired++;
      return;
    }
    const read = kind === 'get' || kind === 'list' || kind === 'past';
    if (status === 404 || status === 409) {
      one.outcome = kind === 'get' ? 'done' : 'refused';
      return;
    }
    assert.ok(status === 200 || status === 201, `${kind} ${name}: ${status} ${body.message}`);
    one.outcome = 'done';
    one.revision = revision;
    if (kind === 'get') one.state = new Map([[name, body.data!['value']!]]);
    else if (read) one.state = new Map(body.items!.map(({ metadata, data }) => [metadata!.name!, data!['value']!]));
    if (kind === 'delete') this.#seen.delete(name);
    else if (!read || kind === 'get') this.#seen.set(name, revision);
    // A deletion's answer is the object as it was.
    if (kind !== 'delete' && revision > this.#newest) this.#newest = revision;
  }

  async #disturb(): Promise<void> {
    const { disturbances, operations } = this.#options;
    for (let done = 1; done <= disturbances && this.#under.disturb !== undefined; done++) {
      while (this.#left > operations - (operations * done) / (disturbances + 1) && this.#left > 0) await delay(5);
      await this.#under.disturb(this.#random);
    }
  }

  async #watchAtRandom(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const from = Math.max(this.first - 1, this.#newest - randomInteger(this.#random, 10));
      const watched: Watched = { from, events: [], through: from };
      this.watched.push(watched);
      await this.#resume(watched, 1 + randomInteger(this.#random, 60));
      await delay(1);
    }
  }

  /** Through one server after the other, until so many events came or the run stops. */
  async #resume(watched: Watched, count: number): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && watched.events.length < count) {
      const own = new AbortController();
      const url = `${path}?watch=1&allowWatchBookmarks=true&${selector}&resourceVersion=${watched.through}`;
      try {
        for await (const { type, object } of this.#under.watch(
          this.#server(),
          url,
          AbortSignal.any([signal, own.signal]),
        )) {
          if (type === 'ERROR') {
            this.expired++;
            return;
          }
          const revision = Number(object.metadata?.resourceVersion);
          if (type !== 'BOOKMARK')
            watched.events.push({ type, name: object.metadata!.name!, value: object.data!['value']!, revision });
          watched.through = revision;
          if (watched.events.length >= count) break;
        }
      } catch (error) {
        if ((error as { status?: number }).status === 410) {
          this.expired++;
          return;
        }
        if (!(error instanceof StoreUnavailable) && ((error as { status?: number }).status ?? 500) < 500) throw error;
      } finally {
        own.abort();
      }
      await delay(1);
    }
  }
}

function check({ operations, watched, changes, first, expired }: Recorder): ApiHistoryReport {
  const truth = new Truth(changes, first);
  const bounds = realTime(operations);
  for (const one of operations) {
    if (one.outcome === 'unknown') continue;
    const [low, high] = bounds(one);
    const text = `${one.kind} ${one.name} ${one.value} (${one.outcome} at ${one.revision}, between ${low} and ${high}, insisted on ${one.insists})`;
    if (one.outcome === 'refused') checkRefusal(one, truth, low, high, text);
    else if (one.kind === 'get' || one.kind === 'list' || one.kind === 'past') checkRead(one, truth, low, high, text);
    else checkWrite(one, truth, low, text);
  }
  const wrote = new Map(operations.flatMap((one) => (one.value === '' ? [] : [[one.value, one] as const])));
  const seen = new Set<string>();
  for (const { value, name } of changes) {
    if (value === undefined) continue;
    const one = wrote.get(value);
    assert.ok(one?.name === name && one.outcome !== 'refused', `nobody wrote ${value} to ${name}, or it was refused`);
    assert.ok(!seen.has(value), `${value} was written twice`);
    seen.add(value);
  }
  for (const one of watched) checkWatch(one, truth);
  const count = (test: (one: Operation) => boolean) => operations.filter(test).length;
  const isRead = ({ kind }: Operation): boolean => kind === 'get' || kind === 'list' || kind === 'past';
  return {
    acknowledged: count((one) => one.outcome === 'done' && !isRead(one)),
    refused: count(({ outcome }) => outcome === 'refused'),
    unknown: count(({ outcome }) => outcome === 'unknown'),
    reads: count((one) => one.outcome === 'done' && isRead(one)),
    watches: watched.length,
    events: changes.length,
    expired,
  };
}

/** The order of all changes. */
class Truth {
  readonly changes: readonly Change[];
  readonly byRevision = new Map<number, Change>();
  readonly first: number;
  readonly last: number;

  constructor(changes: readonly Change[], first: number) {
    let last = first - 1;
    for (const change of changes) {
      assert.ok(change.revision > last, `revision ${change.revision} came after ${last}`);
      last = change.revision;
      this.byRevision.set(last, change);
    }
    this.changes = changes;
    this.first = first;
    this.last = last;
  }

  /** Values by name, as of a revision. */
  at(revision: number): Map<string, Change> {
    const state = new Map<string, Change>();
    for (const change of this.changes) {
      if (change.revision > revision) break;
      if (change.value === undefined) state.delete(change.name);
      else state.set(change.name, change);
    }
    return state;
  }

  /** The states of one name between two revisions, both included. */
  between(name: string, low: number, high: number): (Change | undefined)[] {
    const states = [this.at(low).get(name)];
    for (const change of this.changes)
      if (change.name === name && change.revision > low && change.revision <= high)
        states.push(change.value === undefined ? undefined : change);
    return states;
  }
}

/** The revisions between which an operation took place: after all that had ended, before all that began later. */
function realTime(operations: readonly Operation[]): (one: Operation) => readonly [number, number] {
  const known = operations.filter(
    ({ outcome, kind, revision }) => outcome === 'done' && revision > 0 && kind !== 'delete' && kind !== 'past',
  );
  const writes = known.filter(({ kind }) => kind === 'create' || kind === 'update');
  return ({ begun, ended }) => {
    let low = 0;
    for (const other of known) if (other.ended < begun && other.revision > low) low = other.revision;
    let high = Infinity;
    for (const other of writes) if (other.begun > ended && other.revision - 1 < high) high = other.revision - 1;
    return [low, high];
  };
}

function checkWrite(one: Operation, truth: Truth, low: number, text: string): void {
  if (one.kind === 'delete') {
    // Its answer is the object as it was; its revision is not told. It must be in the order all the same.
    const deleted = truth.changes.some(
      (change) =>
        change.name === one.name &&
        change.value === undefined &&
        change.revision > low &&
        (one.insists === 0 || truth.at(change.revision - 1).get(one.name)?.revision === one.insists),
    );
    assert.ok(deleted, text);
    return;
  }
  const change = truth.byRevision.get(one.revision);
  assert.ok(change?.name === one.name && change.value === one.value, `${text} is not in the history`);
  assert.ok(one.revision > low, text);
  const before = truth.at(one.revision - 1).get(one.name);
  if (one.kind === 'create') assert.equal(before, undefined, text);
  else assert.ok(before !== undefined && (one.insists === 0 || before.revision === one.insists), text);
}

function checkRefusal(one: Operation, truth: Truth, low: number, high: number, text: string): void {
  const states = truth.between(one.name, low, high);
  const fits = (state: Change | undefined): boolean => {
    if (one.kind === 'create') return state !== undefined;
    return state === undefined || (one.insists > 0 && state.revision !== one.insists);
  };
  assert.ok(states.some(fits), `${text}: nothing spoke against it`);
}

function checkRead(one: Operation, truth: Truth, low: number, high: number, text: string): void {
  const values = (state: ReadonlyMap<string, Change>) => new Map([...state].map(([name, { value }]) => [name, value]));
  if (one.kind === 'get') {
    const [value] = one.state.values();
    const states = truth.between(one.name, low, high);
    assert.ok(
      states.some((state) => (value === undefined ? state === undefined : state?.value === value)),
      `${text}: saw ${value}`,
    );
    return;
  }
  const at = one.kind === 'past' ? one.insists : one.revision;
  if (one.kind === 'list') assert.ok(at >= low && at <= high, text);
  assert.deepEqual(one.state, values(truth.at(at)), `${text}: the state at ${at}`);
}

/** Complete up to where it came, in order, nothing twice, each event of the right kind. */
function checkWatch({ from, events, through }: Watched, truth: Truth): void {
  const wanted = truth.changes
    .filter(({ revision }) => revision > from && revision <= through)
    .map(({ revision, name, value }) => {
      const before = truth.at(revision - 1).get(name);
      const type = value === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
      return `${revision} ${type} ${name} ${value ?? before?.value}`;
    });
  const got = events.map(({ type, name, value, revision }) => `${revision} ${type} ${name} ${value}`);
  assert.deepEqual(got, wanted, `a watch from ${from} to ${through}`);
}

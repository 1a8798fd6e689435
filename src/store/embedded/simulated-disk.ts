// Owns a disk that exists in memory and fails like a real one: power loss drops, reorders and tears what was not synced,
// space runs out, bits flip, syncs fail. For tests and simulation.
import { randomInteger } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import { StoreLocked } from '../store.ts';
import type { FileLayer, StoreFile } from './file-layer.ts';

type Change = { readonly position: number; readonly bytes: Uint8Array } | { readonly truncate: number };

interface Node {
  /** What readers see. */
  current: Buffer;
  /** What survives power loss for certain. */
  durable: Buffer;
  pending: Change[];
}

interface DirectoryChange {
  readonly name: string;
  /** Undefined: the name goes away. */
  readonly node: Node | undefined;
}

export class SimulatedDisk {
  /** Bytes that fit; writes beyond throw ENOSPC, after having written a part. */
  capacity = Infinity;
  /** Fails the next so many syncs with EIO. */
  failSyncs = 0;
  syncs = 0;
  readonly #random: Random;
  #current = new Map<string, Node>();
  #durable = new Map<string, Node>();
  #pending: DirectoryChange[][] = [];
  /** Handles of before the last power loss are dead. */
  #life = 0;
  #locked = false;

  constructor(random: Random) {
    this.#random = random;
  }

  files(directory = 'simulated'): FileLayer {
    const life = this.#life;
    const alive = () => {
      if (life !== this.#life) throw failure('EIO', 'the power is gone');
    };
    return {
      directory,
      list: () => (alive(), [...this.#current.keys()]),
      open: (name) => (alive(), this.#handle(this.#existing(name), alive)),
      create: (name) => {
        alive();
        if (this.#current.has(name)) throw failure('EEXIST', name);
        const node: Node = { current: Buffer.alloc(0), durable: Buffer.alloc(0), pending: [] };
        this.#change([{ name, node }]);
        return this.#handle(node, alive);
      },
      rename: (from, to) => {
        alive();
        const node = this.#existing(from);
        this.#change([
          { name: from, node: undefined },
          { name: to, node },
        ]);
      },
      remove: (name) => {
        alive();
        if (this.#current.has(name)) this.#change([{ name, node: undefined }]);
      },
      syncDirectory: async () => {
        const changes = this.#pending.length;
        await this.#turn(alive);
        for (const change of this.#pending.splice(0, changes)) apply(this.#durable, change);
      },
      lock: () => {
        if (this.#locked) throw new StoreLocked(`the store in ${directory} is in use by this simulation`);
        this.#locked = true;
        return () => {
          if (life === this.#life) this.#locked = false;
        };
      },
    };
  }

  /** Everything that was not synced survives by chance only: whole, in part or not at all, in any order. */
  losePower(): void {
    this.#life++;
    this.#locked = false;
    for (const change of this.#pending.splice(0)) if (this.#random.next() < 0.5) apply(this.#durable, change);
    const nodes = new Set([...this.#current.values(), ...this.#durable.values()]);
    for (const node of nodes) {
      for (const change of node.pending) {
        const fate = this.#random.next();
        if (fate < 0.4) node.durable = write(node.durable, change);
        else if (fate < 0.7 && 'bytes' in change) node.durable = write(node.durable, this.#tear(change));
      }
      node.pending = [];
      node.current = Buffer.from(node.durable);
    }
    this.#current = new Map(this.#durable);
  }

  flipBit(name: string, position: number): void {
    const node = this.#existing(name);
    for (const buffer of [node.current, node.durable]) buffer[position]! ^= 1 << randomInteger(this.#random, 8);
  }

  sizes(): Map<string, number> {
    return new Map([...this.#current].map(([name, node]) => [name, node.current.length]));
  }

  #existing(name: string): Node {
    const node = this.#current.get(name);
    if (node === undefined) throw failure('ENOENT', name);
    return node;
  }

  #change(change: DirectoryChange[]): void {
    apply(this.#current, change);
    this.#pending.push(change);
  }

  #handle(node: Node, alive: () => void): StoreFile {
    return {
      size: () => (alive(), node.current.length),
      read: (into, position) => {
        alive();
        const bytes = node.current.subarray(position, position + into.length);
        into.set(bytes);
        return bytes.length;
      },
      write: (bytes, position) => {
        alive();
        const used = [...this.#current.values()].reduce((sum, one) => sum + one.current.length, 0);
        const grows = Math.max(0, position + bytes.length - node.current.length);
        const fits = used + grows <= this.capacity;
        const change = {
          position,
          bytes: Buffer.from(fits ? bytes : bytes.subarray(0, randomInteger(this.#random, bytes.length))),
        };
        node.current = write(node.current, change);
        node.pending.push(change);
        if (!fits) throw failure('ENOSPC', 'no space left on device');
      },
      truncate: (size) => {
        alive();
        const change = { truncate: size };
        node.current = write(node.current, change);
        node.pending.push(change);
      },
      sync: async () => {
        const changes = node.pending.length;
        await this.#turn(alive);
        for (const change of node.pending.splice(0, changes)) node.durable = write(node.durable, change);
      },
      close: () => undefined,
    };
  }

  async #turn(alive: () => void): Promise<void> {
    this.syncs++;
    await new Promise((resolve) => setImmediate(resolve));
    alive();
    if (this.failSyncs > 0) {
      this.failSyncs--;
      throw failure('EIO', 'sync failed');
    }
  }

  #tear({ position, bytes }: { readonly position: number; readonly bytes: Uint8Array }): Change {
    const from = randomInteger(this.#random, bytes.length + 1);
    const to = from + randomInteger(this.#random, bytes.length - from + 1);
    return { position: position + from, bytes: bytes.subarray(from, to) };
  }
}

function apply(directory: Map<string, Node>, change: readonly DirectoryChange[]): void {
  for (const { name, node } of change)
    if (node === undefined) directory.delete(name);
    else directory.set(name, node);
}

function write(content: Buffer, change: Change): Buffer {
  if ('truncate' in change) {
    const cut = Buffer.alloc(change.truncate);
    content.copy(cut, 0, 0, Math.min(content.length, change.truncate));
    return cut;
  }
  if (change.bytes.length === 0) return content;
  const grown = Buffer.alloc(Math.max(content.length, change.position + change.bytes.length));
  content.copy(grown);
  grown.set(change.bytes, change.position);
  return grown;
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}

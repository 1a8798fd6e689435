// Owns the record of node ports that are taken, which all API servers of a store share: upstream's RangeAllocation under its key. Chooses nothing.
import { schemaOf } from '../../api/schema/builtin.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Store } from '../../store/store.ts';
import { protobufStorage } from '../storage/envelope.ts';
import { registryRoot } from '../storage/keys.ts';
import type { Attempt } from '../storage/together.ts';

export interface PortRange {
  readonly from: number;
  readonly to: number;
}

export const ledgerKey = `${registryRoot}ranges/servicenodeports`;

interface Known {
  /** 0: there is no record yet. */
  readonly modRevision: number;
  readonly ports: ReadonlySet<number>;
}

export class NodePortLedger {
  readonly #store: Store;
  readonly #range: PortRange;
  readonly #codec = protobufStorage(schemaOf('v1', 'RangeAllocation')!);
  /** What services have, for a record that is missing or of another range. */
  readonly #used: () => Iterable<number>;
  #known: Known | undefined;
  /** Writes of this server come one after the other: else they would fail each other. */
  #last: Promise<void> = Promise.resolve();

  constructor(store: Store, range: PortRange, used: () => Iterable<number>) {
    this.#store = store;
    this.#range = range;
    this.#used = used;
  }

  /** As far as this server knows. */
  has(port: number): boolean {
    return this.#known?.ports.has(port) ?? false;
  }

  /** So that what is not there is not chosen, either. */
  async look(): Promise<void> {
    this.#known ??= await this.#read();
  }

  /**
   * What a transaction needs to take and give back ports. `taken`: those that are not to be had; then there is no attempt. Whoever
   * gets an attempt must settle it: others wait.
   */
  async begin(
    take: readonly number[],
    give: readonly number[],
  ): Promise<{ readonly taken: readonly number[]; readonly attempt?: undefined } | { readonly attempt: Attempt }> {
    let release!: () => void;
    const before = this.#last;
    this.#last = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    try {
      const known = (this.#known ??= await this.#read());
      const taken = take.filter((port) => known.ports.has(port));
      if (taken.length > 0) {
        release();
        return { taken };
      }
      const ports = new Set(known.ports);
      for (const port of give) ports.delete(port);
      for (const port of take) if (this.#isInside(port)) ports.add(port);
      return { attempt: this.#attempt(known, ports, release) };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Writes what `repaired` makes of what is recorded, unless somebody was faster; the answer tells. */
  async repair(repaired: (recorded: ReadonlySet<number>) => ReadonlySet<number> | undefined): Promise<boolean> {
    const known = await this.#read();
    const ports = repaired(known.ports);
    if (ports === undefined) return true;
    const { compare, operations, settled } = this.#attempt(known, ports, () => undefined);
    const { succeeded, revision } = await this.#store.transact({ compare, then: operations });
    settled?.(succeeded ? revision : undefined);
    return succeeded;
  }

  #attempt(known: Known, ports: ReadonlySet<number>, release: () => void): Attempt {
    return {
      compare: [{ key: ledgerKey, target: 'modRevision', is: '=', value: known.modRevision }],
      operations: [{ type: 'put', key: ledgerKey, value: this.#encode(ports) }],
      settled: (revision) => {
        this.#known = revision === undefined ? undefined : { modRevision: revision, ports };
        release();
      },
    };
  }

  async #read(): Promise<Known> {
    const { items } = await this.#store.range({ start: ledgerKey });
    const [kv] = items;
    if (kv === undefined) return { modRevision: 0, ports: this.#inUse() };
    const { range, data } = this.#codec.decode(kv.value) as unknown as { range?: string; data?: string };
    if (range !== this.#text) return { modRevision: kv.modRevision, ports: this.#inUse() };
    const ports = new Set<number>();
    // One big number: its lowest bit, in the last byte, is the first port.
    const bytes = Buffer.from(data ?? '', 'base64').reverse();
    for (const [at, byte] of bytes.entries())
      for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) ports.add(this.#range.from + at * 8 + bit);
    return { modRevision: kv.modRevision, ports };
  }

  #inUse(): ReadonlySet<number> {
    return new Set([...this.#used()].filter((port) => this.#isInside(port)));
  }

  #isInside(port: number): boolean {
    return port >= this.#range.from && port <= this.#range.to;
  }

  get #text(): string {
    return `${this.#range.from}-${this.#range.to}`;
  }

  #encode(ports: ReadonlySet<number>): Uint8Array {
    const { from, to } = this.#range;
    const bytes = Buffer.alloc(Math.ceil((to - from + 1) / 8));
    for (const port of ports) {
      const offset = port - from;
      bytes[offset >> 3]! |= 1 << (offset & 7);
    }
    const last = bytes.findLastIndex((byte) => byte !== 0);
    const data = Buffer.from(bytes.subarray(0, last + 1))
      .reverse()
      .toString('base64');
    const object = { apiVersion: 'v1', kind: 'RangeAllocation', metadata: {}, range: this.#text, data };
    return this.#codec.encode(object as unknown as KubeObject);
  }
}

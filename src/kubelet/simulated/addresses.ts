// Owns the addresses of simulated nodes, and the giving out of pod addresses on one.

/** Addresses of nodes are made up in a range that is for documentation and tests of benchmarks (RFC 2544). */
export const simulatedNodeAddresses = '198.18.0.0/15';

export function simulatedNodeAddress(index: number): string {
  return `198.${18 + ((index >> 16) & 1)}.${(index >> 8) & 0xff}.${index & 0xff}`;
}

/** The addresses of an IPv4 range, without the network's, the gateway's and the broadcast's. */
export class AddressRange {
  readonly #first: number;
  readonly #size: number;
  readonly #taken = new Set<number>();
  #next = 0;

  /** Throws for what is no IPv4 range. */
  constructor(cidr: string) {
    const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
    if (!match) throw new Error(`not an IPv4 range: ${cidr}`);
    const [a, b, c, d, bits] = match.slice(1).map(Number) as [number, number, number, number, number];
    this.#size = Math.max(0, 2 ** (32 - bits) - 3);
    this.#first = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  }

  /** Undefined when all are taken. */
  take(): string | undefined {
    for (let tries = 0; tries < this.#size; tries++) {
      const at = this.#next;
      this.#next = (this.#next + 1) % this.#size;
      if (!this.#taken.has(at)) {
        this.#taken.add(at);
        return text(this.#first + 2 + at);
      }
    }
    return undefined;
  }

  /** Marks an address of an earlier run. */
  claim(address: string): void {
    const at = number(address) - this.#first - 2;
    if (at >= 0 && at < this.#size) this.#taken.add(at);
  }

  free(address: string): void {
    this.#taken.delete(number(address) - this.#first - 2);
  }
}

function number(address: string): number {
  return address.split('.').reduce((total, part) => total * 256 + Number(part), 0);
}

function text(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.');
}

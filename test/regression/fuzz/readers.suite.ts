// Owns the run of the table of readers: damaged input is read or refused with the reader's own error, soon and within memory.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Damage } from './mutate.ts';
import { readers } from './readers.ts';

/** Processor time for one input of at most 256 KiB. Generous: it is to tell a blow-up from work. */
const mostMs = 2_000;

export interface FuzzOptions {
  readonly seed: number;
  /** How many inputs a reader gets. */
  readonly rounds: number;
}

export function fuzzReaders({ seed, rounds }: FuzzOptions): void {
  describe(`damaged input, without a server (seed ${seed})`, () => {
    for (const { name, good, refuses, read } of readers)
      test(name, () => {
        for (const input of good) read(Buffer.from(input as string));
        const damage = new Damage(seed);
        for (let round = 0; round < rounds; round++) {
          const input = damage.bytesLike(good);
          const before = process.cpuUsage();
          try {
            read(input);
          } catch (error) {
            const isRefusal = refuses.some((kind) => (kind === Error ? isPlain(error) : error instanceof kind));
            assert.ok(isRefusal, `round ${round}, ${quoted(input)}: ${(error as Error).stack}`);
          }
          const { user } = process.cpuUsage(before);
          assert.ok(user < mostMs * 1000, `round ${round}: ${user / 1000} ms for ${quoted(input)}`);
        }
      });
  });
}

/** Errors of our own or of node's with a code, but no slips such as TypeError. */
function isPlain(error: unknown): boolean {
  return (error as Error).constructor === Error || typeof (error as { code?: unknown }).code === 'string';
}

function quoted(input: Buffer): string {
  return `${JSON.stringify(input.toString().slice(0, 400))} (${input.toString('base64').slice(0, 800)})`;
}

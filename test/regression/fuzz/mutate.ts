// Owns seeded random damage: what a stranger might send in place of a good text or message. Pure but for its seed.
import { type Random, randomInteger, seededRandom } from '../../../src/base/random.ts';

/** What has broken parsers before: ends of ranges, keys of prototypes, half characters, openings without ends, references. */
const splices: readonly Buffer[] = [
  'null',
  '{}',
  '[]',
  '"',
  "'",
  '1e400',
  '-1',
  '-0',
  '9223372036854775808',
  '99999999999999999999',
  '0.000000001',
  '__proto__',
  'constructor',
  'toString',
  '\\u0000',
  '\\ud800',
  '\ufffe',
  '[[[[[[[[',
  '((((((((',
  '{"',
  'true',
  '&a',
  '*a',
  '!!binary',
  '<<: *a',
  '---\n',
  '\t',
  '\r\n',
  '\0',
  '../',
  '%2e%2e%2f',
  '%00',
  '..',
  '(a+)+$',
  '{1000}{1000}',
].map((text) => Buffer.from(text));

const longestBytes = 256 * 1024;

export class Damage {
  readonly seed: number;
  readonly #random: Random;

  constructor(seed: number) {
    this.seed = seed;
    this.#random = seededRandom(seed);
  }

  below(count: number): number {
    return randomInteger(this.#random, count);
  }

  pick<T>(among: readonly T[]): T {
    return among[this.below(among.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(this.#random.bytes(length));
  }

  /** One of `good`, with one to five changes; now and then as it is, and now and then noise. */
  bytesLike(good: readonly (Buffer | string)[]): Buffer {
    const dice = this.below(20);
    if (dice === 0) return this.bytes(this.below(300));
    let bytes: Buffer = Buffer.from(this.pick(good) as string);
    for (let changes = dice === 1 ? 0 : 1 + this.below(5); changes > 0 && bytes.length > 0; changes--)
      bytes = this.#changed(bytes, good);
    return bytes.subarray(0, longestBytes);
  }

  textLike(good: readonly string[]): string {
    return this.bytesLike(good).toString(this.below(4) === 0 ? 'latin1' : 'utf8');
  }

  #changed(bytes: Buffer, good: readonly (Buffer | string)[]): Buffer {
    const at = this.below(bytes.length);
    const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
    switch (this.below(8)) {
      case 0:
        return Buffer.concat([head, this.bytes(1), tail.subarray(1)]);
      case 1:
        return Buffer.concat([head, Buffer.from([tail[0]! ^ (1 << this.below(8))]), tail.subarray(1)]);
      case 2:
        return bytes.subarray(0, at + 1);
      case 3:
        return Buffer.concat([head, this.pick(splices), tail]);
      case 4:
        return Buffer.concat([head, tail.subarray(Math.min(tail.length, 1 + this.below(20)))]);
      case 5:
        return Buffer.concat([head, ...Array.from({ length: 1 + this.below(50) }, () => tail.subarray(0, 12)), tail]);
      case 6: {
        const other = Buffer.from(this.pick(good) as string);
        return Buffer.concat([head, other.subarray(this.below(other.length + 1))]);
      }
      default:
        return Buffer.concat([bytes, tail]);
    }
  }
}

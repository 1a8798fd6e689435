// Owns Kubernetes' semver library of CEL (documentation "Kubernetes semver library"; semver.org 2.0.0).
import { define, type Library, member, overload } from '../functions.ts';
import { bool, int, opaque, string } from '../types.ts';
import { CelError, CelOpaque, type CelValue } from '../values.ts';

const semver = opaque('kubernetes.Semver');

interface Version {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
}

class CelSemver extends CelOpaque {
  readonly typeName = 'kubernetes.Semver';
  readonly version: Version;
  constructor(version: Version) {
    super();
    this.version = version;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelSemver && compareVersions(this.version, other.version) === 0;
  }
}

const number = '(?:0|[1-9]\\d*)';
const identifier = `(?:${number}|\\d*[a-zA-Z-][0-9a-zA-Z-]*)`;
const form = new RegExp(
  `^(${number})\\.(${number})\\.(${number})(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`,
);
const maxNumber = 2n ** 64n;

/** `isLoose`: a leading "v", missing parts and leading zeros are taken. */
function read(text: string, isLoose: boolean): CelSemver | undefined {
  const found = form.exec(isLoose ? normalized(text) : text);
  if (found === null) return undefined;
  const numbers = [BigInt(found[1]!), BigInt(found[2]!), BigInt(found[3]!)] as const;
  if (numbers.some((part) => part >= maxNumber)) return undefined;
  return new CelSemver({ numbers, pre: found[4]?.split('.') ?? [] });
}

function normalized(text: string): string {
  const found = /^v?(\d+(?:\.\d+){0,2})(.*)$/s.exec(text);
  if (found === null) return text;
  const parts = found[1]!.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  while (parts.length < 3) parts.push('0');
  return parts.join('.') + found[2]!;
}

function compareVersions(a: Version, b: Version): number {
  for (const at of [0, 1, 2] as const) {
    if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] < b.numbers[at] ? -1 : 1;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return Math.sign(b.pre.length - a.pre.length);
  for (let at = 0; at < Math.min(a.pre.length, b.pre.length); at++) {
    const order = compareIdentifiers(a.pre[at]!, b.pre[at]!);
    if (order !== 0) return order;
  }
  return Math.sign(a.pre.length - b.pre.length);
}

function compareIdentifiers(a: string, b: string): number {
  const [left, right] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (left !== right) return left ? -1 : 1;
  if (left) return BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0;
  return a < b ? -1 : a > b ? 1 : 0;
}

const of = (value: CelValue | undefined): Version => (value as CelSemver).version;

function required([text, isLoose]: readonly CelValue[]): CelSemver {
  const found = read(text as string, isLoose === true);
  if (found === undefined) throw new CelError(`semver parse error: ${JSON.stringify(text)}`);
  return found;
}

const part = (name: string, at: 0 | 1 | 2) =>
  define(
    name,
    member(semver, [], int, ([value]) => of(value).numbers[at]),
  );

export const semvers: Library = {
  name: 'kubernetes.semver',
  functions: [
    define('semver', overload([string], semver, required), overload([string, bool], semver, required)),
    define(
      'isSemver',
      overload([string], bool, ([text]) => read(text as string, false) !== undefined),
      overload([string, bool], bool, ([text, isLoose]) => read(text as string, isLoose === true) !== undefined),
    ),
    part('major', 0),
    part('minor', 1),
    part('patch', 2),
    define(
      'compareTo',
      member(semver, [semver], int, ([x, y]) => BigInt(compareVersions(of(x), of(y)))),
    ),
    define(
      'isGreaterThan',
      member(semver, [semver], bool, ([x, y]) => compareVersions(of(x), of(y)) > 0),
    ),
    define(
      'isLessThan',
      member(semver, [semver], bool, ([x, y]) => compareVersions(of(x), of(y)) < 0),
    ),
  ],
};

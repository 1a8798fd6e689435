// Owns CEL's functions of text: the standard ones and the extension "strings" in version 2, as Kubernetes has them.
import { RE2JS } from 're2js';
import { define, type Library, member, overload } from '../functions.ts';
import { bool, dyn, int, list, string } from '../types.ts';
import { ArrayList, CelError, type CelList, type CelValue } from '../values.ts';
import { formatText } from './format-text.ts';

/** Positions count code points; plain ASCII, the usual case, needs no splitting. */
function points(text: string): readonly string[] | string {
  // oxlint-disable-next-line no-control-regex
  return /^[\u0000-\u007f]*$/.test(text) ? text : Array.from(text);
}

const maxPatterns = 1000;
const patterns = new Map<string, RE2JS>();

/** RE2 syntax and linear time, whoever wrote the pattern. */
export function regex(pattern: string): RE2JS {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    try {
      compiled = RE2JS.compile(pattern);
    } catch (error) {
      throw new CelError(`error parsing regexp: ${(error as Error).message}`);
    }
    if (patterns.size >= maxPatterns) patterns.clear();
    patterns.set(pattern, compiled);
  }
  return compiled;
}

function position(value: CelValue, size: number, limit = size): number {
  const at = Number(value as bigint);
  if (at < 0 || at > limit) throw new CelError(`index out of range: ${at}`);
  return at;
}

function find(text: string, part: string, from: number, isLast: boolean): bigint {
  const all = points(text);
  if (typeof all === 'string') return BigInt(isLast ? all.lastIndexOf(part, from) : all.indexOf(part, from));
  const wanted = Array.from(part);
  const fits = (at: number) => wanted.every((point, offset) => all[at + offset] === point);
  const last = all.length - wanted.length;
  if (isLast) {
    for (let at = Math.min(from, last); at >= 0; at--) if (fits(at)) return BigInt(at);
  } else for (let at = from; at <= last; at++) if (fits(at)) return BigInt(at);
  return -1n;
}

function searching(name: string, isLast: boolean) {
  const whole = ([text, part]: readonly CelValue[]) =>
    find(text as string, part as string, isLast ? Infinity : 0, isLast);
  const from = ([text, part, start]: readonly CelValue[]) => {
    const size = points(text as string).length;
    const at = position(start!, size, Number.POSITIVE_INFINITY);
    return at > size ? -1n : find(text as string, part as string, at, isLast);
  };
  return define(name, member(string, [string], int, whole), member(string, [string, int], int, from));
}

function substring([text, from, to]: readonly CelValue[]): string {
  const all = points(text as string);
  const start = position(from!, all.length);
  const end = to === undefined ? all.length : position(to, all.length);
  if (start > end) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  return typeof all === 'string' ? all.slice(start, end) : all.slice(start, end).join('');
}

function charAt([text, index]: readonly CelValue[]): string {
  const all = points(text as string);
  return all[position(index!, all.length)] ?? '';
}

function replace([text, part, by, limit]: readonly CelValue[]): string {
  const most = limit === undefined ? -1n : (limit as bigint);
  if (most < 0n) return (text as string).replaceAll(part as string, () => by as string);
  if (part === '') return between(text as string, by as string, Number(most));
  const pieces = (text as string).split(part as string);
  const count = Math.min(Number(most), pieces.length - 1);
  return (
    pieces.slice(0, count + 1).join(by as string) +
    pieces
      .slice(count + 1)
      .map((piece) => (part as string) + piece)
      .join('')
  );
}

/** `by` before each of the first characters, and behind the last when there are not more. */
function between(text: string, by: string, most: number): string {
  const all = Array.from(text);
  const before = all.map((point, at) => (at < most ? by + point : point)).join('');
  return most > all.length ? before + by : before;
}

function split([text, by, limit]: readonly CelValue[]): ArrayList {
  const most = limit === undefined ? -1 : Number(limit as bigint);
  if (most === 0) return new ArrayList([]);
  const pieces = by === '' ? Array.from(text as string) : (text as string).split(by as string);
  if (most < 0 || pieces.length <= most) return new ArrayList(pieces);
  return new ArrayList([...pieces.slice(0, most - 1), pieces.slice(most - 1).join(by as string)]);
}

function join([items, by]: readonly CelValue[]): string {
  const texts: string[] = [];
  const all = items as CelList;
  for (let at = 0; at < all.size; at++) {
    const text = all.at(at);
    if (typeof text !== 'string') throw new CelError('join: no such overload');
    texts.push(text);
  }
  return texts.join((by as string | undefined) ?? '');
}

const quotes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

// oxlint-disable-next-line no-control-regex
const quotable = /[\u0007\b\f\n\r\t\v\\"]/g;

/** Spaces as Go knows them: not those without width. */
const edges =
  /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/g;

const asciiLower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const asciiUpper = (text: string) => text.replace(/[a-z]/g, (letter) => letter.toUpperCase());
const text = (value: CelValue | undefined) => value as string;

export const strings: Library = {
  name: 'strings',
  functions: [
    define(
      'contains',
      member(string, [string], bool, ([whole, part]) => text(whole).includes(text(part))),
    ),
    define(
      'startsWith',
      member(string, [string], bool, ([whole, part]) => text(whole).startsWith(text(part))),
    ),
    define(
      'endsWith',
      member(string, [string], bool, ([whole, part]) => text(whole).endsWith(text(part))),
    ),
    define(
      'matches',
      member(string, [string], bool, ([whole, pattern]) => regex(text(pattern)).matcher(text(whole)).find()),
      overload([string, string], bool, ([whole, pattern]) => regex(text(pattern)).matcher(text(whole)).find()),
    ),
    define('charAt', member(string, [int], string, charAt)),
    searching('indexOf', false),
    searching('lastIndexOf', true),
    define('join', member(list(string), [], string, join), member(list(string), [string], string, join)),
    define(
      'lowerAscii',
      member(string, [], string, ([value]) => asciiLower(text(value))),
    ),
    define(
      'upperAscii',
      member(string, [], string, ([value]) => asciiUpper(text(value))),
    ),
    define(
      'trim',
      member(string, [], string, ([value]) => text(value).replace(edges, '')),
    ),
    define(
      'replace',
      member(string, [string, string], string, replace),
      member(string, [string, string, int], string, replace),
    ),
    define('split', member(string, [string], list(string), split), member(string, [string, int], list(string), split)),
    define('substring', member(string, [int], string, substring), member(string, [int, int], string, substring)),
    define(
      'strings.quote',
      overload([string], string, ([value]) => `"${text(value).replace(quotable, (mark) => quotes[mark]!)}"`),
    ),
    define(
      'format',
      member(string, [list(dyn)], string, ([pattern, args]) => formatText(text(pattern), args as CelList)),
    ),
  ],
};

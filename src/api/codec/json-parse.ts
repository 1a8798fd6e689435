// Owns the reading of strangers' JSON: JSON.parse where it suffices, else a careful parser which sees duplicates and number texts.
import { setOwn } from '../meta.ts';
import { badRequest } from '../status-error.ts';
import { jsonProblem } from './json-problem.ts';
import { countKeys, scanJson } from './json-scan.ts';

/** A number whose text is no plain small integer: 2.0, 1e1, 12345678901234567890. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export interface ParsedJson {
  /** Objects may hold NumberText where `oddNumbers`. */
  readonly value: unknown;
  /** What Strict refuses of the text itself: `duplicate field "spec.foo"`. The last one counts. */
  readonly problems: readonly string[];
  readonly oddNumbers: boolean;
  /** Upstream reads it with its keys sorted, as it does YAML. */
  readonly sorted?: boolean;
  /** The problems are those of a patch's own text: they stand, whatever becomes of the fields. */
  readonly patched?: boolean;
}

/** Upstream refuses beyond 10 000; V8 writes JSON by recursion, which its stack allows about 4 000 levels of. */
export const maxDepth = 2_500;

/** A mark of byte order is no JSON. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Throws StatusError 400 for text that is no JSON or too deep. `merges`: an object that comes twice under one key is merged, as Go
 * reads it into a value of a known type; else the last one counts.
 */
export function parseJson(input: Uint8Array | string, merges = false): ParsedJson {
  const text = typeof input === 'string' ? input : utf8.decode(input);
  const { keys, oddNumbers, depth } = scanJson(text);
  if (depth > maxDepth) throw badRequest(`couldn't get version/kind; json parse error: exceeded max depth`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // V8 quotes the text it read, which may be secret or long.
    const problem = jsonProblem(typeof input === 'string' ? Buffer.from(input) : input);
    throw badRequest(`couldn't get version/kind; json parse error: ${problem ?? 'it is no JSON'}`);
  }
  const parsed: ParsedJson =
    !oddNumbers && countKeys(value) === keys
      ? { value, problems: [], oddNumbers: false }
      : new CarefulParser(text, merges).parse();
  return /\\u[dD][89a-fA-F]/.test(text) ? { ...parsed, value: wellFormed(parsed.value) } : parsed;
}

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Halves of surrogate pairs, which escapes can say but UTF-8 cannot, become U+FFFD. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(loneSurrogate, '\uFFFD');
  if (typeof value !== 'object' || value === null || value instanceof NumberText) return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value))
    setOwn(result, key.replace(loneSurrogate, '\uFFFD'), wellFormed(inner));
  return result;
}

const maxDuplicates = 100;
/** These are never pointers: null leaves them as they are. */
const structs: ReadonlySet<string> = new Set(['metadata', 'spec', 'status', 'template']);

/** What two values of one key come to when both are read into the same place. */
function merged(key: string, before: unknown, after: unknown): unknown {
  if (!isObject(before)) return after;
  if (after === null && structs.has(key)) return before;
  if (!isObject(after)) return after;
  for (const [name, value] of Object.entries(after))
    setOwn(before, name, Object.hasOwn(before, name) ? merged(name, before[name], value) : value);
  return before;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);
}

/** Reads text that JSON.parse has accepted, so it need not check the grammar; depth is already bounded. */
class CarefulParser {
  readonly #text: string;
  #at = 0;
  readonly #problems: string[] = [];
  #odd = false;
  readonly #merges: boolean;

  constructor(text: string, merges: boolean) {
    this.#text = text;
    this.#merges = merges;
  }

  parse(): ParsedJson {
    const value = this.#value('');
    return { value, problems: this.#problems, oddNumbers: this.#odd };
  }

  #space(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.#text.charCodeAt(++this.#at);
    return code;
  }

  #value(path: string): unknown {
    const code = this.#space();
    if (code === 0x7b) return this.#object(path);
    if (code === 0x5b) return this.#list(path);
    if (code === 0x22) return this.#string();
    if (code === 0x74) return this.#word(4, true);
    if (code === 0x66) return this.#word(5, false);
    if (code === 0x6e) return this.#word(4, null);
    return this.#number();
  }

  #word<T>(length: number, value: T): T {
    this.#at += length;
    return value;
  }

  #object(path: string): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    this.#at++;
    if (this.#space() === 0x7d) return this.#word(1, result);
    for (;;) {
      this.#space();
      const key = this.#string();
      const inner = path === '' ? key : `${path}.${key}`;
      this.#space();
      this.#at++;
      const isAgain = Object.hasOwn(result, key);
      if (isAgain && this.#problems.length < maxDuplicates) this.#problems.push(`duplicate field "${inner}"`);
      const value = this.#value(inner);
      setOwn(result, key, isAgain && this.#merges ? merged(key, result[key], value) : value);
      const end = this.#space();
      this.#at++;
      if (end === 0x7d) return result;
    }
  }

  #list(path: string): unknown[] {
    const result: unknown[] = [];
    this.#at++;
    if (this.#space() === 0x5d) return this.#word(1, result);
    for (;;) {
      result.push(this.#value(`${path}[${result.length}]`));
      const end = this.#space();
      this.#at++;
      if (end === 0x5d) return result;
    }
  }

  #string(): string {
    const start = this.#at;
    let at = start + 1;
    for (let code = this.#text.charCodeAt(at); code !== 0x22; code = this.#text.charCodeAt(++at))
      if (code === 0x5c) at++;
    this.#at = at + 1;
    return JSON.parse(this.#text.slice(start, at + 1)) as string;
  }

  #number(): unknown {
    const pattern = /[-+0-9.eE]+/y;
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#text)![0];
    this.#at += text.length;
    if (/^(?:0|-?[1-9][0-9]{0,14})$/.test(text)) return Number(text);
    this.#odd = true;
    return new NumberText(text);
  }
}

/** A number so long stands somewhere, or text like one. */
const maybeLong = /[:[,]\s*-?[0-9]{16}|^\s*-?[0-9]{16}/;

/** As JSON.parse (and throws as that does) for what is ours or stored, with long whole numbers as `wholeNumber` gives them. */
export function parseExact(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  return maybeLong.test(text) ? plainValue(parseJson(text)) : value;
}

/** The plain JSON value: NumberText become numbers. Copies only when there are some. */
export function plainValue(parsed: ParsedJson): unknown {
  return parsed.oddNumbers ? plainNumbers(parsed.value) : parsed.value;
}

/** Throws StatusError 400 for a number which no double can hold. */
export function plainNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof NumberText)
    return /^-?[0-9]{16,19}$/.test(value.text) ? wholeNumber(BigInt(value.text)) : finite(value);
  if (Array.isArray(value)) return value.map(plainNumbers);
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(result, key, plainNumbers((value as Record<string, unknown>)[key]));
  return result;
}

/**
 * Of each value there is one form, so that `===` tells whether two are the same: a number up to 2^53 - 1, a bigint up to 64 bits, the
 * nearest double beyond. A whole number (of JavaScript) that is larger than 2^53 - 1 was written as a fraction or with an exponent,
 * or has more than 64 bits: Go's float64.
 */
export function wholeNumber(exact: bigint): number | bigint {
  const isSafe = exact <= Number.MAX_SAFE_INTEGER && exact >= Number.MIN_SAFE_INTEGER;
  return !isSafe && BigInt.asIntN(64, exact) === exact ? exact : Number(exact);
}

/** Whether a double holds it and is written with the same digits: 2^60 would be read as itself, and written as 1152921504606847000. */
export function isKept(exact: bigint): boolean {
  const number = Number(exact);
  return BigInt(number) === exact && String(number) === String(exact);
}

/** Throws StatusError 400 for a number which no double can hold: it would be written as null. */
export function finite(number: NumberText): number {
  const value = Number(number.text);
  if (!Number.isFinite(value))
    throw badRequest(`json: cannot unmarshal number ${number.text} into a value of type float64`);
  return value;
}

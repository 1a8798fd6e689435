// Owns the words of CEL: tokens with their places and literal values. Builds no tree.
import { CelSyntaxError, type Literal } from './ast.ts';

export type Token =
  | { readonly type: 'literal'; readonly at: number; readonly text: string; readonly literal: Literal }
  | { readonly type: 'ident' | 'quoted' | 'symbol' | 'end'; readonly at: number; readonly text: string };

const blank = /(?:[\s]+|\/\/[^\n]*)+/y;
const identifier = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const quotedIdentifier = /`([a-zA-Z0-9_.\-/ ]+)`/y;
const number = /0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?|[0-9]+[uU]?/y;
const symbol = /&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}=]/y;
const stringStart = /(?:[rR][bB]?|[bB][rR]?)?("""|'''|"|')/y;

/** A longer expression is refused before any work is done on it. */
const maxSourceLength = 100_000;

export function tokenize(source: string): Token[] {
  if (source.length > maxSourceLength)
    throw problem(
      source,
      0,
      `expression code point size exceeds limit: size: ${source.length}, limit ${maxSourceLength}`,
    );
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };
  for (;;) {
    at += match(blank)?.[0].length ?? 0;
    if (at >= source.length) break;
    const token =
      readString(source, at, match(stringStart)) ?? readNumber(source, at, match(number)) ?? readWord(at, match);
    if (token === undefined)
      throw problem(source, at, `Syntax error: token recognition error at: '${source.slice(at, at + 1)}'`);
    tokens.push(token);
    at += token.text.length;
  }
  tokens.push({ type: 'end', at: source.length, text: '' });
  return tokens;
}

function problem(source: string, at: number, message: string): CelSyntaxError {
  return new CelSyntaxError(source, [{ at, message }]);
}

function readWord(at: number, match: (pattern: RegExp) => RegExpExecArray | null): Token | undefined {
  const word = match(identifier)?.[0];
  if (word === 'true' || word === 'false')
    return { type: 'literal', at, text: word, literal: { type: 'bool', value: word === 'true' } };
  if (word === 'null') return { type: 'literal', at, text: word, literal: { type: 'null', value: null } };
  if (word === 'in') return { type: 'symbol', at, text: word };
  if (word !== undefined) return { type: 'ident', at, text: word };
  const quoted = match(quotedIdentifier)?.[0];
  if (quoted !== undefined) return { type: 'quoted', at, text: quoted };
  const mark = match(symbol)?.[0];
  return mark === undefined ? undefined : { type: 'symbol', at, text: mark };
}

const maxInt = 2n ** 63n;
const maxUint = 2n ** 64n - 1n;

function readNumber(source: string, at: number, found: RegExpExecArray | null): Token | undefined {
  const text = found?.[0];
  if (text === undefined) return undefined;
  const isHex = /^0[xX]/.test(text);
  if (!isHex && /[.eE]/.test(text)) {
    const value = Number(text);
    if (!Number.isFinite(value)) throw problem(source, at, `invalid double literal`);
    return { type: 'literal', at, text, literal: { type: 'double', value } };
  }
  if (/[uU]$/.test(text)) {
    const value = BigInt(text.slice(0, -1));
    if (value > maxUint) throw problem(source, at, 'invalid uint literal');
    return { type: 'literal', at, text, literal: { type: 'uint', value } };
  }
  const value = BigInt(text);
  // 2^63 itself is only good behind a minus sign; the parser checks that.
  if (value > maxInt) throw problem(source, at, 'invalid int literal');
  return { type: 'literal', at, text, literal: { type: 'int', value } };
}

function readString(source: string, at: number, found: RegExpExecArray | null): Token | undefined {
  if (found === null) return undefined;
  const quote = found[1]!;
  const prefix = found[0].slice(0, -quote.length).toLowerCase();
  const isRaw = prefix.includes('r');
  const start = at + found[0].length;
  let end = start;
  for (; !source.startsWith(quote, end); end++) {
    if (end >= source.length || (quote.length === 1 && source[end] === '\n')) {
      throw problem(source, at, `Syntax error: token recognition error at: '${source.slice(at, end)}'`);
    }
    if (!isRaw && source[end] === '\\') end++;
  }
  const text = source.slice(at, end + quote.length);
  const body = source.slice(start, end);
  const isBytes = prefix.includes('b');
  const parts = isRaw ? [body] : unescape(source, start, body, isBytes);
  if (!isBytes) return { type: 'literal', at, text, literal: { type: 'string', value: parts.join('') } };
  const value = Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))));
  return { type: 'literal', at, text, literal: { type: 'bytes', value } };
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
};

const escape = /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([abfnrtv\\?"'`]))/y;

/** In bytes, \x and octal escapes are single bytes; in strings, code points. */
function unescape(source: string, start: number, body: string, isBytes: boolean): (string | number)[] {
  const parts: (string | number)[] = [];
  let at = 0;
  while (at < body.length) {
    const next = body.indexOf('\\', at);
    if (next < 0) {
      parts.push(body.slice(at));
      break;
    }
    if (next > at) parts.push(body.slice(at, next));
    escape.lastIndex = next;
    const found = escape.exec(body);
    if (found === null)
      throw problem(source, start + next, `Syntax error: token recognition error at: '${body.slice(next, next + 2)}'`);
    const [whole, hex, short, long, octal, simple] = found;
    if (simple !== undefined) parts.push(simpleEscapes[simple]!);
    else if (short !== undefined || long !== undefined)
      parts.push(codePoint(source, start + next, Number.parseInt(short ?? long!, 16), isBytes));
    else {
      const value = hex !== undefined ? Number.parseInt(hex, 16) : Number.parseInt(octal!, 8);
      parts.push(isBytes ? value : String.fromCodePoint(value));
    }
    at = next + whole.length;
  }
  return parts;
}

function codePoint(source: string, at: number, value: number, isBytes: boolean): string {
  if (isBytes || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
    throw problem(source, at, 'invalid escape sequence');
  return String.fromCodePoint(value);
}

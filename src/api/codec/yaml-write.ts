// Owns the writing of YAML as upstream writes it: keys sorted, lists not indented, text quoted where YAML 1.1 would read it as something else.

type Json = Readonly<Record<string, unknown>>;

export function writeYaml(value: unknown): string {
  const out: string[] = [];
  writeNode(value, '', out, false);
  return out.join('');
}

/**
 * Writes a value behind what stands in its line already. `inList` is true behind "- ", where a map's first key follows at
 * once; behind "key:" (false) blocks begin on the next line.
 */
function writeNode(
  value: unknown,
  indent: string,
  out: string[],
  inList: boolean,
  isTop = indent === '' && !inList,
): void {
  if (Array.isArray(value)) {
    if (value.length === 0) {
      out.push(isTop ? '[]\n' : inList ? '[]\n' : ' []\n');
      return;
    }
    if (!isTop && !inList) out.push('\n');
    for (const [at, item] of value.entries()) {
      out.push(at === 0 && inList ? '- ' : `${indent}- `);
      writeNode(item, `${indent}  `, out, true);
    }
    return;
  }
  if (typeof value === 'object' && value !== null) {
    const keys = Object.keys(value as Json).filter((key) => (value as Json)[key] !== undefined);
    if (keys.length === 0) {
      out.push(isTop || inList ? '{}\n' : ' {}\n');
      return;
    }
    if (!isTop && !inList) out.push('\n');
    keys.sort(naturally);
    for (const [at, key] of keys.entries()) {
      out.push(at === 0 && inList ? '' : indent);
      const inner = (value as Json)[key];
      writeKey(key, indent, out);
      // Lists stand below their key without being indented.
      writeNode(inner, Array.isArray(inner) ? indent : `${indent}  `, out, false, false);
    }
    return;
  }
  if (!isTop && !inList) out.push(' ');
  const text = scalar(value, indent);
  out.push(typeof value === 'string' && !value.includes('\n') ? folded(text, columnOf(out), indent) : text, '\n');
}

/** How many characters stand in the line that is being written. */
function columnOf(out: readonly string[]): number {
  let column = 0;
  for (let at = out.length - 1; at >= 0; at--) {
    const text = out[at]!;
    const line = text.lastIndexOf('\n');
    column += Array.from(text.slice(line + 1)).length;
    if (line >= 0) break;
  }
  return column;
}

const lineWidth = 80;

/** Lines that have become too long go on below at the next single space. */
function folded(text: string, column: number, indent: string): string {
  if (column + text.length <= lineWidth || !text.includes(' ')) return text;
  const isQuoted = text.startsWith('"') || text.startsWith("'");
  const characters = Array.from(text);
  let out = '';
  let at = column;
  let wasSpace = false;
  for (const [index, character] of characters.entries()) {
    const isInner = !isQuoted || (index > 1 && index < characters.length - 2);
    const isSpace = character === ' ';
    if (isSpace && !wasSpace && at > lineWidth && isInner && (text.startsWith('"') || characters[index + 1] !== ' ')) {
      out += `\n${indent}${characters[index + 1] === ' ' ? '\\' : ''}`;
      at = indent.length;
    } else {
      out += character;
      at++;
    }
    wasSpace = isSpace;
  }
  return out;
}

/** Longer keys need a form of their own, which says where the value begins. */
const longestKey = 128;

function writeKey(key: string, indent: string, out: string[]): void {
  const text = key.includes('\n') ? doubleQuoted(key) : string(key);
  out.push(Buffer.byteLength(key) > longestKey ? `? ${text}\n${indent}:` : `${text}:`);
}

function scalar(value: unknown, indent: string): string {
  if (typeof value === 'string') return value.includes('\n') ? multiLine(value, indent) : string(value);
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'bigint') return String(value);
  return value === null || value === undefined ? 'null' : String(value);
}

/** As Go's shortest form of a double ("1e+21"); whole numbers as they are. */
function numberText(value: number): string {
  const text = String(value);
  return text.replace(/e([-+])(\d)$/, 'e$10$2');
}

function string(text: string): string {
  if (readsAsOther(text)) return doubleQuoted(text);
  const { plain, single } = allowed(text);
  if (plain) return text;
  return single ? `'${text.replaceAll("'", "''")}'` : doubleQuoted(text);
}

/** Literal blocks, unless a character would not survive in one. */
function multiLine(text: string, indent: string): string {
  if (!allowed(text).block) return doubleQuoted(text);
  const deeper = indent === '' ? '  ' : indent;
  const hint = text.startsWith(' ') || text.startsWith('\n') ? '2' : '';
  const end = text.endsWith('\n');
  const keep = !end ? '-' : text === '\n' || text.endsWith('\n\n') ? '+' : '';
  const lines = (end ? text.slice(0, -1) : text).split('\n');
  return `|${hint}${keep}\n${lines.map((line) => (line === '' ? '' : deeper + line)).join('\n')}`;
}

const otherWords: ReadonlySet<string> = new Set(
  [
    ['', '~', 'null', 'Null', 'NULL'],
    ['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE'],
    ['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE'],
    ['.nan', '.NaN', '.NAN', '.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF', '-.inf', '-.Inf', '-.INF'],
  ].flat(),
);

const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const integer = /^[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)$/;
const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const timestamp =
  /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?$/;

/** Without quotes it would be no text. */
function readsAsOther(text: string): boolean {
  if (otherWords.has(text)) return true;
  const first = text.charCodeAt(0);
  const isNumeric = (first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e;
  if (!isNumeric) return false;
  const plain = text.replaceAll('_', '');
  return float.test(plain) || integer.test(plain) || base60.test(text) || timestamp.test(text);
}

interface Allowed {
  readonly plain: boolean;
  readonly single: boolean;
  readonly block: boolean;
}

const indicators = new Set('#,[]{}&*!|>\'"%@`');
/** What a reader might not show or keep. */
const special = /[^\n\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;

/** Which forms keep a text as it is (the analysis of scalars in libyaml). */
function allowed(text: string): Allowed {
  if (special.test(text) || text.includes('\u0085') || text.includes('\u2028') || text.includes('\u2029'))
    return { plain: false, single: false, block: false };
  const breakSpace = /\n /.test(text);
  const spaceBreak = / \n/.test(text);
  if (spaceBreak) return { plain: false, single: false, block: false };
  const isMulti = text.includes('\n');
  const outer = /^[ \n]|[ \n]$/.test(text);
  const plain = !isMulti && !outer && !breakSpace && isPlain(text);
  return { plain, single: !breakSpace, block: !text.endsWith(' ') };
}

function isPlain(text: string): boolean {
  if (text.startsWith('---') || text.startsWith('...')) return false;
  const first = text[0]!;
  if (indicators.has(first)) return false;
  const after = text[1] ?? ' ';
  if ((first === '?' || first === ':' || first === '-') && after === ' ') return false;
  return !/: |:$| #/.test(text);
}

function doubleQuoted(text: string): string {
  let out = '"';
  for (const character of text) out += escapes[character] ?? escaped(character);
  return `${out}"`;
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\0': '\\0',
  '\u0007': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\u001b': '\\e',
  '\u0085': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

function escaped(character: string): string {
  if (!special.test(character)) return character;
  const code = character.codePointAt(0)!;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** Digits within keys count as numbers: "a2" before "a10". Letters come last. */
function naturally(a: string, b: string): number {
  const left = Array.from(a);
  const right = Array.from(b);
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    if (left[at] === right[at]) continue;
    const [isLeft, isRight] = [isLetter(left[at]!), isLetter(right[at]!)];
    if (isLeft && isRight) return compare(left[at]!, right[at]!);
    if (isLeft || isRight) return isRight ? -1 : 1;
    return byNumber(left, right, at) ?? compare(left[at]!, right[at]!);
  }
  return left.length - right.length;
}

/** The numbers that begin at `at`, or before it when zeros lead; undefined when they are none or equal. */
function byNumber(left: readonly string[], right: readonly string[], at: number): number | undefined {
  let hasZeros = false;
  if (left[at] === '0' || right[at] === '0')
    for (let before = at - 1; before >= 0 && isDigit(left[before]); before--)
      if (left[before] !== '0') {
        hasZeros = true;
        break;
      }
  const read = (from: readonly string[]): [length: number, value: bigint] => {
    let end = at;
    while (end < from.length && isDigit(from[end])) end++;
    return [end - at, end > at ? BigInt(from.slice(at, end).join('')) : 0n];
  };
  const [leftLength, leftValue] = hasZeros ? [0, 0n] : read(left);
  const [rightLength, rightValue] = hasZeros ? [0, 0n] : read(right);
  if (leftValue !== rightValue) return leftValue < rightValue ? -1 : 1;
  return leftLength === rightLength ? undefined : leftLength - rightLength;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
}

function isLetter(character: string): boolean {
  return /\p{L}/u.test(character);
}

function compare(a: string, b: string): number {
  return a.codePointAt(0)! - b.codePointAt(0)!;
}

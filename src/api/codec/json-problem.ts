// Owns what is said of text that is no JSON: the first wrong character and where it stands, in the words of Go's encoding/json. Parses nothing.

class Wrong {
  readonly code: number;
  readonly where: string;
  constructor(code: number, where: string) {
    this.code = code;
    this.where = where;
  }
}

const space = 0x20;
const isSpace = (code: number): boolean => code === space || code === 0x09 || code === 0x0a || code === 0x0d;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isHex = (code: number): boolean =>
  isDigit(code) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46);
const char = (text: string): number => text.charCodeAt(0);
const words: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' };

/** Undefined: it is JSON. Characters are bytes, as Go shows them. */
export function jsonProblem(input: Uint8Array): string | undefined {
  try {
    return new Scan(input).all() ? undefined : 'unexpected end of JSON input';
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    return `invalid character ${quoted(error.code)} ${error.where}`;
  }
}

function quoted(code: number): string {
  if (code === char("'")) return "'\\''";
  const short: Readonly<Record<number, string>> = {
    7: '\\a',
    8: '\\b',
    9: '\\t',
    10: '\\n',
    11: '\\v',
    12: '\\f',
    13: '\\r',
  };
  if (short[code] !== undefined) return `'${short[code]}'`;
  if (code === char('\\')) return "'\\\\'";
  // The first 32, and those that are none of Latin-1, have no face.
  if (code < space || code === 0x7f) return `'\\x${code.toString(16).padStart(2, '0')}'`;
  if (code >= 0x80 && (code < 0xa1 || code === 0xad)) return `'\\u${code.toString(16).padStart(4, '0')}'`;
  return `'${String.fromCharCode(code)}'`;
}

/** One pass with a stack of its own: strangers choose the depth. */
class Scan {
  readonly #input: Uint8Array;
  #at = 0;
  #ended = false;

  constructor(input: Uint8Array) {
    this.#input = input;
  }

  /** False: it ends before it is whole. Throws Wrong. */
  all(): boolean {
    const open: ('object' | 'list')[] = [];
    let mayClose = false;
    for (;;) {
      const begun = this.#value(open, mayClose);
      if (begun === 'end') return false;
      mayClose = begun === 'opened' && open.at(-1) === 'list';
      if (begun === 'opened') {
        if (mayClose) continue;
        // The first key, or the end of an object with none.
        if (!this.#key(true, open)) return false;
        if (open.length > 0 && this.#wantsValue) continue;
      }
      const more = this.#after(open);
      if (more === undefined) return false;
      if (!more) return this.#rest();
      mayClose = false;
    }
  }

  #wantsValue = false;

  /** The next that is no space; a space stands for the end, which Go feeds to its scanner. */
  #next(): number {
    while (this.#at < this.#input.length) {
      const code = this.#input[this.#at++]!;
      if (!isSpace(code)) return code;
    }
    this.#ended = true;
    return space;
  }

  #raw(): number {
    if (this.#at < this.#input.length) return this.#input[this.#at++]!;
    this.#ended = true;
    return space;
  }

  #value(open: ('object' | 'list')[], mayClose: boolean): 'opened' | 'done' | 'end' {
    const code = this.#next();
    if (this.#ended) return 'end';
    if (mayClose && code === char(']')) {
      open.pop();
      return 'done';
    }
    if (code === char('{') || code === char('[')) {
      open.push(code === char('{') ? 'object' : 'list');
      return 'opened';
    }
    if (code === char('"')) return this.#string() ? 'done' : 'end';
    if (code === char('-') || isDigit(code)) return this.#number(code);
    const word = words[String.fromCharCode(code)];
    if (word === undefined) throw new Wrong(code, 'looking for beginning of value');
    for (const letter of word.slice(1)) {
      const found = this.#raw();
      if (found !== char(letter)) throw new Wrong(found, `in literal ${word} (expecting '${letter}')`);
    }
    return 'done';
  }

  /** A key and its colon; `mayClose`: or the end of the object. False: the text ends. */
  #key(mayClose: boolean, open: ('object' | 'list')[]): boolean {
    this.#wantsValue = false;
    const code = this.#next();
    if (this.#ended) return false;
    if (mayClose && code === char('}')) {
      open.pop();
      return true;
    }
    if (code !== char('"')) throw new Wrong(code, 'looking for beginning of object key string');
    if (!this.#string()) return false;
    const colon = this.#next();
    if (this.#ended) return false;
    if (colon !== char(':')) throw new Wrong(colon, 'after object key');
    this.#wantsValue = true;
    return true;
  }

  /** What follows a value: true for another one, false when nothing is open any more, undefined when the text ends. */
  #after(open: ('object' | 'list')[]): boolean | undefined {
    while (open.length > 0) {
      const inObject = open.at(-1) === 'object';
      const code = this.#next();
      if (this.#ended) return undefined;
      if (code === char(inObject ? '}' : ']')) {
        open.pop();
        continue;
      }
      if (code !== char(',')) throw new Wrong(code, inObject ? 'after object key:value pair' : 'after array element');
      return inObject && !this.#key(false, open) ? undefined : true;
    }
    return false;
  }

  #rest(): boolean {
    const code = this.#next();
    if (!this.#ended) throw new Wrong(code, 'after top-level value');
    return true;
  }

  #string(): boolean {
    for (;;) {
      const code = this.#raw();
      if (this.#ended) return false;
      if (code === char('"')) return true;
      if (code < space) throw new Wrong(code, 'in string literal');
      if (code !== char('\\')) continue;
      const escape = this.#raw();
      if (escape === char('u')) {
        for (let digit = 0; digit < 4; digit++) {
          const hex = this.#raw();
          if (!isHex(hex)) throw new Wrong(hex, 'in \\u hexadecimal character escape');
        }
      } else if (!'bfnrt\\/"'.includes(String.fromCharCode(escape))) throw new Wrong(escape, 'in string escape code');
    }
  }

  #number(first: number): 'done' {
    let code = first === char('-') ? this.#raw() : first;
    if (!isDigit(code)) throw new Wrong(code, 'in numeric literal');
    const isZero = code === char('0');
    code = this.#raw();
    while (!isZero && isDigit(code)) code = this.#raw();
    if (code === char('.')) {
      code = this.#raw();
      if (!isDigit(code)) throw new Wrong(code, 'after decimal point in numeric literal');
      while (isDigit(code)) code = this.#raw();
    }
    if (code === char('e') || code === char('E')) {
      code = this.#raw();
      if (code === char('+') || code === char('-')) code = this.#raw();
      if (!isDigit(code)) throw new Wrong(code, 'in exponent of numeric literal');
      while (isDigit(code)) code = this.#raw();
    }
    // What ended the number belongs to what follows.
    if (!this.#ended) this.#at--;
    this.#ended = false;
    return 'done';
  }
}

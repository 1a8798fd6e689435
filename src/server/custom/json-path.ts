// Owns the JSONPath dialect of printer columns (documentation "JSONPath Support"): parsed once, then run on objects. No templates or ranges.

/** What stands at a path, in order; a path that leads nowhere gives nothing. */
export type JsonPath = (value: unknown) => unknown[];

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

type Step = (values: readonly unknown[]) => unknown[];

/** `text` is what the definition says: ".spec.a", ".spec.list[?(@.k=="x")].v". Throws JsonPathError. */
export function jsonPath(text: string): JsonPath {
  const steps = new Parser(text).steps();
  return (value) => {
    let values: readonly unknown[] = [value];
    for (const step of steps) values = step(values);
    return [...values];
  };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const field =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => (isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : []));

const all: Step = (values) =>
  values.flatMap((value): unknown[] => (Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : []));

const descend: Step = (values) => values.flatMap((value): unknown[] => [value, ...descend(all([value]))]);

function slice(from: number | undefined, to: number | undefined, by: number): Step {
  return (values) =>
    values.flatMap((value): unknown[] => {
      if (!Array.isArray(value)) return [];
      const place = (at: number): number => (at < 0 ? at + value.length : at);
      const end = to === undefined ? value.length : Math.min(place(to), value.length);
      const found: unknown[] = [];
      for (let at = Math.max(0, place(from ?? 0)); at < end; at += by) found.push(value[at]);
      return found;
    });
}

const index =
  (at: number): Step =>
  (values) =>
    values.flatMap((value): unknown[] => {
      if (!Array.isArray(value)) return [];
      const place = at < 0 ? at + value.length : at;
      return place >= 0 && place < value.length ? [value[place]] : [];
    });

const union =
  (steps: readonly Step[]): Step =>
  (values) =>
    steps.flatMap((step) => step(values));

type Operand = (value: unknown) => unknown[];

const orders: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => (left as number) < (right as number),
  '<=': (left, right) => (left as number) <= (right as number),
  '>': (left, right) => (left as number) > (right as number),
  '>=': (left, right) => (left as number) >= (right as number),
};

function filter(left: Operand, operator: string | undefined, right: Operand | undefined): Step {
  return (values) =>
    all(values.filter(Array.isArray)).filter((item) => {
      const found = left(item);
      if (operator === undefined || right === undefined) return found.length > 0;
      const other = right(item);
      return (
        found.length === 1 &&
        other.length === 1 &&
        typeof found[0] === typeof other[0] &&
        orders[operator]!(found[0], other[0])
      );
    });
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  steps(): Step[] {
    const steps: Step[] = [];
    if (this.#text[this.#at] === '$' || this.#text[this.#at] === '@') this.#at++;
    while (this.#at < this.#text.length) steps.push(this.#step());
    return steps;
  }

  #step(): Step {
    const char = this.#text[this.#at];
    if (char === '[') return this.#brackets();
    if (char !== '.') {
      if (this.#at > 0) throw this.#wrong();
      return field(this.#name());
    }
    this.#at++;
    if (this.#text[this.#at] === '.') {
      this.#at++;
      const inner =
        this.#text[this.#at] === '['
          ? this.#brackets()
          : this.#text[this.#at] === '*'
            ? this.#star()
            : field(this.#name());
      return (values) => inner(descend(values));
    }
    if (this.#text[this.#at] === '*') return this.#star();
    if (this.#text[this.#at] === '[') return this.#brackets();
    if (this.#at >= this.#text.length) return (values) => [...values];
    return field(this.#name());
  }

  #star(): Step {
    this.#at++;
    return all;
  }

  /** Up to a dot or bracket that no backslash goes before. */
  #name(): string {
    let name = '';
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at]!;
      if (char === '\\') name += this.#text[++this.#at] ?? '';
      else if (char === '.' || char === '[') break;
      else if (/[\s(){}\]]/.test(char)) throw this.#wrong();
      else name += char;
    }
    if (name === '') throw this.#wrong();
    return name;
  }

  #brackets(): Step {
    const end = this.#end();
    const inner = this.#text.slice(this.#at + 1, end).trim();
    this.#at = end + 1;
    if (inner === '*') return all;
    const condition = /^\?\((.*)\)$/s.exec(inner);
    if (condition !== null) return this.#filter(condition[1]!.trim());
    const parts = split(inner, ',').map((part) => this.#part(part.trim()));
    return parts.length === 1 ? parts[0]! : union(parts);
  }

  /** Where the bracket at hand closes, quotes and inner brackets skipped. */
  #end(): number {
    let depth = 0;
    let quote = '';
    for (let at = this.#at; at < this.#text.length; at++) {
      const char = this.#text[at]!;
      if (char === '\\') at++;
      else if (quote !== '') quote = char === quote ? '' : quote;
      else if (char === '"' || char === "'") quote = char;
      else if (char === '[') depth++;
      else if (char === ']' && --depth === 0) return at;
    }
    throw this.#wrong();
  }

  #part(text: string): Step {
    const quoted = /^(['"])(.*)\1$/s.exec(text);
    if (quoted !== null) return field(quoted[2]!.replaceAll(/\\(.)/g, '$1'));
    if (/^-?\d+$/.test(text)) return index(Number(text));
    const range = /^(-?\d+)?:(-?\d+)?(?::(\d+))?$/.exec(text);
    if (range === null) throw this.#wrong();
    const [, from, to, by] = range;
    return slice(
      from === undefined ? undefined : Number(from),
      to === undefined ? undefined : Number(to),
      Math.max(1, Number(by ?? 1)),
    );
  }

  #filter(text: string): Step {
    const found = /^(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)$/s.exec(text);
    if (found === null) return filter(this.#operand(text), undefined, undefined);
    return filter(this.#operand(found[1]!), found[2]!, this.#operand(found[3]!));
  }

  #operand(given: string): Operand {
    const text = given.trim();
    const quoted = /^(['"])(.*)\1$/s.exec(text);
    if (quoted !== null) return () => [quoted[2]!.replaceAll(/\\(.)/g, '$1')];
    if (/^-?\d+(?:\.\d+)?$/.test(text)) return () => [Number(text)];
    if (text === 'true' || text === 'false') return () => [text === 'true'];
    if (!text.startsWith('@') && !text.startsWith('.')) throw this.#wrong();
    return jsonPath(text);
  }

  #wrong(): JsonPathError {
    return new JsonPathError(`unrecognized character in action at ${this.#at} of ${JSON.stringify(this.#text)}`);
  }
}

function split(text: string, by: string): string[] {
  const parts: string[] = [''];
  let quote = '';
  for (const char of text) {
    if (quote === '' && char === by) parts.push('');
    else {
      if (quote !== '') quote = char === quote ? '' : quote;
      else if (char === '"' || char === "'") quote = char;
      parts[parts.length - 1] += char;
    }
  }
  return parts;
}

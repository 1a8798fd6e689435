// Owns the paths that rules and selectable fields name: fields and keys of maps, checked against the schema, written as places in objects. Runs nothing.
import type { Structural } from './structural.ts';

export interface FoundPath {
  /** As it is reported below the value's place: ".m", or "m[plain].v" for keys of maps. */
  readonly text: string;
  readonly names: readonly string[];
  readonly schema: Structural;
}

/** Undefined when it leads nowhere in the schema. `keys`: "['name']" may be written. */
export function findPath(path: string, root: Structural, keys: boolean): FoundPath | undefined {
  const names = parse(path, keys);
  if (names === undefined) return undefined;
  let text = '';
  let node: Structural = root;
  for (const name of names) {
    // An object that names fields has no others.
    const isNamed = node.properties.size > 0;
    const next = isNamed
      ? node.properties.get(name)
      : typeof node.additional === 'object'
        ? node.additional
        : undefined;
    if (next === undefined) return undefined;
    text += isNamed ? `.${name}` : `[${name}]`;
    node = next;
  }
  return { text, names, schema: node };
}

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

function parse(path: string, keys: boolean): string[] | undefined {
  const names: string[] = [];
  let rest = path;
  while (rest !== '') {
    const found = /^\.('(?:[^'\\]|\\.)*'|[^.[\]]+|[.[\]])/s.exec(rest);
    const quoted = found === null && keys ? /^\['((?:[^'\\]|\\.)*)'\]/s.exec(rest) : null;
    if (found === null && quoted === null) return undefined;
    const name = found?.[1] ?? unescaped(quoted![1]!);
    if (name === undefined) return undefined;
    names.push(name);
    rest = rest.slice((found ?? quoted!)[0].length);
  }
  return names.length === 0 ? undefined : names;
}

function unescaped(text: string): string | undefined {
  let isWrong = false;
  const result = text.replaceAll(/\\(.)/gs, (_, mark: string) => {
    const plain = Object.hasOwn(escapes, mark) ? escapes[mark] : undefined;
    isWrong ||= plain === undefined;
    return plain ?? '';
  });
  return isWrong ? undefined : result;
}

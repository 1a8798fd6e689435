// Owns the fieldPath of rules: simple paths of fields, written as places in objects. Runs nothing.
import type { Structural } from './structural.ts';

/** ".m.plain.v" as it is reported below the value's place: ".m", or "m[plain].v" for keys of maps; undefined when it leads nowhere. */
export function fieldPathText(path: string, root: Structural): string | undefined {
  const names = parse(path);
  if (names === undefined) return undefined;
  let text = '';
  let node: Structural = root;
  for (const name of names) {
    const property = node.properties.get(name);
    const next = property ?? (typeof node.additional === 'object' ? node.additional : undefined);
    if (next === undefined) return undefined;
    text += property === undefined ? `[${name}]` : `.${name}`;
    node = next;
  }
  return text;
}

function parse(path: string): string[] | undefined {
  const names: string[] = [];
  let rest = path;
  while (rest !== '') {
    const found = /^\.([A-Za-z_$][\w$-]*)/.exec(rest) ?? /^\['((?:[^'\\]|\\.)+)'\]/.exec(rest);
    if (found === null) return undefined;
    names.push(found[1]!.replaceAll(/\\(.)/g, '$1'));
    rest = rest.slice(found[0].length);
  }
  return names.length === 0 ? undefined : names;
}

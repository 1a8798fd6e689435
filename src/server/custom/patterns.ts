// Owns patterns of schemas: RE2's dialect, compiled once and shared. Node's own engine runs those that it reads alike and cannot loop on.
import { RE2JS } from 're2js';

/** Undefined when `pattern` is no RE2 expression. */
export function isPattern(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}

/** No groups that repeat, no classes or escapes that the two engines read differently: linear, and the same in both. */
const simple =
  /^\^?(?:\[[A-Za-z0-9_.,:/@ -]+\](?:[*+?]|\{\d+(?:,\d*)?\})?|[A-Za-z0-9_,:/@ -]|\\[.\-/]|\((?:\?:)?[A-Za-z0-9|_-]+\))*\$?$/;

/** True for texts in which the pattern is found anywhere. */
export function textMatcher(pattern: string): (text: string) => boolean {
  let test: ((text: string) => boolean) | undefined;
  return (text) => (test ??= compile(pattern))(text);
}

function compile(pattern: string): (text: string) => boolean {
  const anchored = pattern.startsWith('^');
  if (anchored && simple.test(pattern) && (pattern.match(/[*+{]/g)?.length ?? 0) <= 3) {
    const native = new RegExp(pattern);
    return (text) => (text.length < 4096 ? native.test(text) : RE2JS.compile(pattern).matcher(text).find());
  }
  const compiled = RE2JS.compile(pattern);
  return (text) => compiled.matcher(text).find();
}

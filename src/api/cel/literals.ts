// Owns what can be said of an expression from what is written down in it: times, durations, patterns and formats that never work. Evaluates nothing else.
import { type CelProblem, CelSyntaxError, type Expr, partsOf } from './ast.ts';
import type { Checked } from './checker.ts';
import { parsePattern } from './library/format-text.ts';
import { parseDuration, parseInstant } from '../time.ts';
import { regex } from './library/strings.ts';
import type { CelType } from './types.ts';
import { CelError } from './values.ts';

/** Throws CelSyntaxError with all that is wrong. */
export function checkLiterals(source: string, expr: Expr, checked: Checked): void {
  const problems: CelProblem[] = [];
  for (const part of partsOf(expr)) if (part.kind === 'call') problems.push(...judge(part, checked));
  if (problems.length > 0) throw new CelSyntaxError(source, problems);
}

type Call = Extract<Expr, { kind: 'call' }>;

function judge(call: Call, checked: Checked): CelProblem[] {
  const { name, target, args } = call;
  switch (name) {
    case 'timestamp':
    case 'duration': {
      const text = textOf(args[0]);
      const read = name === 'timestamp' ? parseInstant : parseDuration;
      return text === undefined || read(text) !== undefined ? [] : [wrong(args[0]!, `invalid ${name} argument`)];
    }
    case 'matches':
    case 'find':
    case 'findAll': {
      const at = target === undefined ? args[1] : args[0];
      const pattern = textOf(at);
      return pattern === undefined || isPattern(pattern) ? [] : [wrong(at!, `invalid ${name} argument`)];
    }
    case 'format':
      return format(call, checked);
    default:
      return [];
  }
}

const wrong = ({ at }: Expr, message: string): CelProblem => ({ at, message });

function textOf(expr: Expr | undefined): string | undefined {
  return expr?.kind === 'literal' && expr.literal.type === 'string' ? expr.literal.value : undefined;
}

function isPattern(pattern: string): boolean {
  try {
    regex(pattern);
    return true;
  } catch (error) {
    if (error instanceof CelError) return false;
    throw error;
  }
}

const wholes: ReadonlySet<string> = new Set(['int', 'uint']);
const texts: ReadonlySet<string> = new Set(['string', 'bytes']);
const printed: ReadonlySet<string> = new Set(
  'list map string bool bytes int uint double duration timestamp null type dyn param'.split(' '),
);

/** What a verb takes: what is not known is taken, and judged when it is run. */
function fits(verb: string, { kind }: CelType): boolean {
  if (kind === 'dyn' || kind === 'param') return true;
  switch (verb) {
    case 'd':
    case 'o':
      return wholes.has(kind);
    case 'b':
      return wholes.has(kind) || kind === 'bool';
    case 'x':
    case 'X':
      return wholes.has(kind) || texts.has(kind);
    case 'f':
    case 'e':
      return kind === 'double';
    default:
      return printed.has(kind);
  }
}

function format({ target, args: [list] }: Call, checked: Checked): CelProblem[] {
  const pattern = textOf(target);
  if (pattern === undefined || list?.kind !== 'list') return [];
  let verbs: string[];
  try {
    verbs = parsePattern(pattern).flatMap((clause) => (typeof clause === 'string' ? [] : [clause.verb]));
  } catch (error) {
    if (error instanceof CelError) return [wrong(list, error.message)];
    throw error;
  }
  const problems: CelProblem[] = [];
  verbs.forEach((verb, at) => {
    const item = list.items[at];
    if (item === undefined) problems.push(wrong(list, `index ${at} out of range`));
    else if (!fits(verb, checked.typeOf.get(item.value) ?? { kind: 'dyn' }))
      problems.push(wrong(item.value, `error during formatting: %${verb} cannot be used on what is given`));
  });
  if (problems.length === 0 && list.items.length > verbs.length)
    problems.push(
      wrong(list, `too many arguments supplied to string.format (expected ${verbs.length}, got ${list.items.length})`),
    );
  return problems;
}

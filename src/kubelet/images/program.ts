// Owns the little language in which the built-in images' programs are written: variables, jumps and system calls, no machine.
// It exists so that the images need no compiler, no download and no architecture of their own.

/** A constant, a variable's name, or the address of a buffer or text. */
export type Operand = number | string | { readonly address: string };

export type Comparison = '==' | '!=' | '<' | '>=';

export type Step =
  | { readonly op: 'label'; readonly name: string }
  | { readonly op: 'set'; readonly to: string; readonly from: Operand }
  | { readonly op: 'add' | 'subtract'; readonly to: string; readonly left: Operand; readonly right: Operand }
  /** One unsigned byte. */
  | { readonly op: 'load'; readonly to: string; readonly at: Operand }
  | { readonly op: 'store'; readonly at: Operand; readonly from: Operand }
  /** Signed 64-bit comparison. */
  | {
      readonly op: 'if';
      readonly left: Operand;
      readonly is: Comparison;
      readonly right: Operand;
      readonly goto: string;
    }
  | { readonly op: 'goto'; readonly label: string }
  | { readonly op: 'call'; readonly label: string }
  | { readonly op: 'return' }
  | { readonly op: 'syscall'; readonly to: string; readonly name: Syscall; readonly args: readonly Operand[] };

export interface Program {
  readonly steps: readonly Step[];
  /** Constant bytes by name. */
  readonly texts: Readonly<Record<string, string | Uint8Array>>;
  /** Zeroed memory by name, in bytes. */
  readonly buffers: Readonly<Record<string, number>>;
}

/** Linux numbers: [amd64, arm64]. Only calls that both have. */
export const syscalls = {
  read: [0, 63],
  write: [1, 64],
  close: [3, 57],
  rt_sigprocmask: [14, 135],
  socket: [41, 198],
  bind: [49, 200],
  listen: [50, 201],
  setsockopt: [54, 208],
  shutdown: [48, 210],
  wait4: [61, 260],
  uname: [63, 160],
  rt_sigtimedwait: [128, 137],
  exit_group: [231, 94],
  openat: [257, 56],
  ppoll: [271, 73],
  accept4: [288, 242],
  signalfd4: [289, 74],
  nanosleep: [35, 101],
} as const satisfies Record<string, readonly [number, number]>;

export type Syscall = keyof typeof syscalls;

export const label = (name: string): Step => ({ op: 'label', name });
export const set = (to: string, from: Operand): Step => ({ op: 'set', to, from });
export const add = (to: string, left: Operand, right: Operand): Step => ({ op: 'add', to, left, right });
export const subtract = (to: string, left: Operand, right: Operand): Step => ({ op: 'subtract', to, left, right });
export const load = (to: string, at: Operand): Step => ({ op: 'load', to, at });
export const store = (at: Operand, from: Operand): Step => ({ op: 'store', at, from });
export const when = (left: Operand, is: Comparison, right: Operand, goto: string): Step => ({
  op: 'if',
  left,
  is,
  right,
  goto,
});
export const goto = (to: string): Step => ({ op: 'goto', label: to });
export const call = (to: string): Step => ({ op: 'call', label: to });
export const giveBack: Step = { op: 'return' };
export const syscall = (to: string, name: Syscall, ...args: Operand[]): Step => ({ op: 'syscall', to, name, args });
export const address = (name: string): Operand => ({ address: name });

/** Every variable is eight bytes in the data segment; the names are those that the steps use. */
export function variablesOf(program: Program): string[] {
  const names = new Set<string>();
  for (const step of program.steps) {
    if ('to' in step) names.add(step.to);
    for (const operand of operandsOf(step)) if (typeof operand === 'string') names.add(operand);
  }
  return [...names];
}

function operandsOf(step: Step): readonly Operand[] {
  switch (step.op) {
    case 'set':
      return [step.from];
    case 'add':
    case 'subtract':
    case 'if':
      return [step.left, step.right];
    case 'load':
      return [step.at];
    case 'store':
      return [step.at, step.from];
    case 'syscall':
      return step.args;
    default:
      return [];
  }
}

// Owns machine code: a program's steps as amd64 or arm64 instructions. Plain and unoptimised; correctness is all it wants.
import { type Comparison, type Operand, type Step, syscalls } from './program.ts';

export type Architecture = 'amd64' | 'arm64';

/** Gives the run-time address of a variable, buffer or text; addresses are below 2^31. */
export type Place = (name: string) => number;

interface Code {
  readonly bytes: number[];
  /** Jumps to fill in once every label's place is known. */
  readonly jumps: { readonly at: number; readonly label: string; readonly patch: (offset: number) => number[] }[];
}

export function assemble(steps: readonly Step[], architecture: Architecture, place: Place): Uint8Array {
  const code: Code = { bytes: [], jumps: [] };
  const labels = new Map<string, number>();
  const emit = architecture === 'amd64' ? amd64 : arm64;
  for (const step of steps) {
    if (step.op === 'label') labels.set(step.name, code.bytes.length);
    else emit(code, step, place);
  }
  for (const jump of code.jumps) {
    const target = labels.get(jump.label);
    if (target === undefined) throw new Error(`no label ${jump.label}`);
    jump.patch(target - jump.at).forEach((byte, index) => (code.bytes[jump.at + index] = byte));
  }
  return Uint8Array.from(code.bytes);
}

const bytesOf = (value: number, length: number): number[] =>
  Array.from({ length }, (_, index) => Number((BigInt.asUintN(64, BigInt(value)) >> BigInt(8 * index)) & 0xffn));

// amd64 register numbers.
const rax = 0;
const rcx = 1;
const amd64Args = [7, 6, 2, 10, 8, 9];

/** Loads an operand: `mov r, imm64` or `mov r, [disp32]`. */
function amd64Load(code: Code, register: number, operand: Operand, place: Place): void {
  const rex = 0x48 | (register > 7 ? 1 : 0);
  const low = register & 7;
  if (typeof operand === 'string')
    code.bytes.push(0x48 | (register > 7 ? 4 : 0), 0x8b, (low << 3) | 4, 0x25, ...bytesOf(place(operand), 4));
  else code.bytes.push(rex, 0xb8 | low, ...bytesOf(typeof operand === 'number' ? operand : place(operand.address), 8));
}

function amd64Save(code: Code, name: string, place: Place): void {
  code.bytes.push(0x48, 0x89, 0x04, 0x25, ...bytesOf(place(name), 4));
}

const amd64Conditions: Readonly<Record<Comparison, number>> = { '==': 0x84, '!=': 0x85, '<': 0x8c, '>=': 0x8d };

function amd64Jump(code: Code, opcode: readonly number[], label: string): void {
  code.jumps.push({
    at: code.bytes.length,
    label,
    patch: (offset) => [...opcode, ...bytesOf(offset - opcode.length - 4, 4)],
  });
  code.bytes.push(...opcode, 0, 0, 0, 0);
}

function amd64(code: Code, step: Step, place: Place): void {
  switch (step.op) {
    case 'set':
      amd64Load(code, rax, step.from, place);
      return amd64Save(code, step.to, place);
    case 'add':
    case 'subtract':
      amd64Load(code, rax, step.left, place);
      amd64Load(code, rcx, step.right, place);
      code.bytes.push(0x48, step.op === 'add' ? 0x01 : 0x29, 0xc8);
      return amd64Save(code, step.to, place);
    case 'load':
      amd64Load(code, rax, step.at, place);
      code.bytes.push(0x0f, 0xb6, 0x00);
      return amd64Save(code, step.to, place);
    case 'store':
      amd64Load(code, rax, step.at, place);
      amd64Load(code, rcx, step.from, place);
      code.bytes.push(0x88, 0x08);
      return;
    case 'if':
      amd64Load(code, rax, step.left, place);
      amd64Load(code, rcx, step.right, place);
      code.bytes.push(0x48, 0x39, 0xc8);
      return amd64Jump(code, [0x0f, amd64Conditions[step.is]], step.goto);
    case 'goto':
      return amd64Jump(code, [0xe9], step.label);
    case 'call':
      return amd64Jump(code, [0xe8], step.label);
    case 'return':
      code.bytes.push(0xc3);
      return;
    case 'syscall':
      step.args.forEach((operand, index) => amd64Load(code, amd64Args[index]!, operand, place));
      amd64Load(code, rax, syscalls[step.name][0], place);
      code.bytes.push(0x0f, 0x05);
      return amd64Save(code, step.to, place);
    case 'label':
      return;
  }
}

/** Where arm64 keeps an address while it loads or saves; x8 is the system call's number, x30 the return address. */
const scratch = 9;
const arm64Conditions: Readonly<Record<Comparison, number>> = { '==': 0, '!=': 1, '<': 11, '>=': 10 };

function word(code: Code, instruction: number): void {
  code.bytes.push(...bytesOf(instruction, 4));
}

/** `movz` and `movk` of every 16 bits. */
function arm64Constant(code: Code, register: number, value: number): void {
  const big = BigInt.asUintN(64, BigInt(value));
  for (let part = 0; part < 4; part++) {
    const bits = Number((big >> BigInt(16 * part)) & 0xffffn);
    if (part === 0 || bits !== 0)
      word(code, ((part === 0 ? 0xd2800000 : 0xf2800000) | (part << 21) | (bits << 5) | register) >>> 0);
  }
}

function arm64Load(code: Code, register: number, operand: Operand, place: Place): void {
  if (typeof operand === 'number') return arm64Constant(code, register, operand);
  if (typeof operand !== 'string') return arm64Constant(code, register, place(operand.address));
  arm64Constant(code, scratch, place(operand));
  word(code, (0xf9400000 | (scratch << 5) | register) >>> 0);
}

/** Saves x0. */
function arm64Save(code: Code, name: string, place: Place): void {
  arm64Constant(code, scratch, place(name));
  word(code, (0xf9000000 | (scratch << 5)) >>> 0);
}

function arm64Jump(code: Code, label: string, encode: (words: number) => number): void {
  code.jumps.push({ at: code.bytes.length, label, patch: (offset) => bytesOf(encode(offset / 4) >>> 0, 4) });
  word(code, 0);
}

function arm64(code: Code, step: Step, place: Place): void {
  switch (step.op) {
    case 'set':
      arm64Load(code, 0, step.from, place);
      return arm64Save(code, step.to, place);
    case 'add':
    case 'subtract':
      arm64Load(code, 0, step.left, place);
      arm64Load(code, 1, step.right, place);
      word(code, step.op === 'add' ? 0x8b010000 : 0xcb010000);
      return arm64Save(code, step.to, place);
    case 'load':
      arm64Load(code, 1, step.at, place);
      word(code, 0x39400020);
      return arm64Save(code, step.to, place);
    case 'store':
      arm64Load(code, 1, step.at, place);
      arm64Load(code, 0, step.from, place);
      return word(code, 0x39000020);
    case 'if':
      arm64Load(code, 0, step.left, place);
      arm64Load(code, 1, step.right, place);
      word(code, 0xeb01001f);
      return arm64Jump(code, step.goto, (words) => 0x54000000 | ((words & 0x7ffff) << 5) | arm64Conditions[step.is]);
    case 'goto':
      return arm64Jump(code, step.label, (words) => 0x14000000 | (words & 0x3ffffff));
    case 'call':
      // str x30, [sp, #-16]!; bl label; ldr x30, [sp], #16
      word(code, 0xf81f0ffe);
      arm64Jump(code, step.label, (words) => 0x94000000 | (words & 0x3ffffff));
      return word(code, 0xf84107fe);
    case 'return':
      return word(code, 0xd65f03c0);
    case 'syscall':
      step.args.forEach((operand, index) => arm64Load(code, index, operand, place));
      arm64Constant(code, 8, syscalls[step.name][1]);
      word(code, 0xd4000001);
      return arm64Save(code, step.to, place);
    case 'label':
      return;
  }
}

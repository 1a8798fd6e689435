// Owns what a function of CEL is: overloads with types, behaviour and cost. The libraries are tables of these.
import type { CelType } from './types.ts';
import type { CelValue } from './values.ts';

/** How large a value is: characters, bytes or elements; what cost grows with. */
export interface SizeRange {
  readonly min: number;
  readonly max: number;
}

export interface Overload {
  /** Of the function it belongs to. */
  readonly name?: string;
  /** The receiver first, when it has one. */
  readonly params: readonly CelType[];
  readonly isMember: boolean;
  readonly result: CelType;
  /** Throws CelError. */
  call(args: readonly CelValue[]): CelValue;
  /** Units of work of one call, where its function's name does not say it (`costs.ts`). */
  cost?(args: readonly CelValue[], result: CelValue): number;
}

export interface CelFunction {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/** A set of functions that is declared together ("strings", "kubernetes.quantity"). */
export interface Library {
  readonly name: string;
  readonly functions: readonly CelFunction[];
}

export type Call = Overload['call'];
export type Costs = Pick<Overload, 'cost'>;

/** `f(params)` */
export function overload(params: readonly CelType[], result: CelType, call: Call, costs: Costs = {}): Overload {
  return { params, isMember: false, result, call, ...costs };
}

/** `receiver.f(params)` */
export function member(
  receiver: CelType,
  params: readonly CelType[],
  result: CelType,
  call: Call,
  costs: Costs = {},
): Overload {
  return { params: [receiver, ...params], isMember: true, result, call, ...costs };
}

export function define(name: string, ...overloads: Overload[]): CelFunction {
  return { name, overloads: overloads.map((each) => ({ ...each, name })) };
}

/** All overloads by name: what checking and evaluation look functions up in. */
export class FunctionTable {
  readonly #byName = new Map<string, Overload[]>();

  constructor(libraries: readonly Library[]) {
    for (const { functions } of libraries) {
      for (const { name, overloads } of functions)
        this.#byName.set(name, [...(this.#byName.get(name) ?? []), ...overloads]);
    }
  }

  overloads(name: string, isMember: boolean): readonly Overload[] {
    return (this.#byName.get(name) ?? []).filter((candidate) => candidate.isMember === isMember);
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }
}

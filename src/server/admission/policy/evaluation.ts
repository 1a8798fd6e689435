// Owns running a policy's expressions under its budget: match conditions, composed variables, results. Decides nothing.
import type { MatchCondition, Variable } from '../../../api/generated/admissionregistration.v1.ts';
import type { CompiledExpression } from '../../../api/cel/environment.ts';
import { admissionEnvironment } from '../../../api/cel/admission.ts';
import type { AdmissionVariables } from '../../../api/cel/admission.ts';
import type { CelType } from '../../../api/cel/types.ts';
import type { CelValue } from '../../../api/cel/values.ts';
import { CelError } from '../../../api/cel/values.ts';
import { CelBudgetExceeded } from '../../../api/cel/evaluate.ts';
import type { Frozen } from '../../../api/meta.ts';
import { ComposedVariables } from './context.ts';
import type { Variables } from './context.ts';

/** Upstream's limits: one expression, all of a policy for one request. */
const perCall = 1_000_000;
const perPolicy = 10_000_000;

export class Budget {
  #left = perPolicy;
  run(expression: CompiledExpression, variables: Variables): CelValue {
    const { value, cost } = expression.evaluate(variables, Math.min(perCall, this.#left));
    this.#left -= cost;
    if (this.#left < 0)
      throw new CelBudgetExceeded(
        'validation failed due to running out of cost budget, no further validation rules will be run',
      );
    return value;
  }
}

export function isExpressionError(error: unknown): error is Error {
  return error instanceof CelError || error instanceof CelBudgetExceeded;
}

export interface CompiledVariables {
  /** What the expressions that follow may see. */
  readonly sees: AdmissionVariables;
  bind(base: Variables, budget: Budget): Variables;
}

/** Throws CelSyntaxError. */
export function compileVariables(
  variables: readonly Frozen<Variable>[] | undefined | null,
  sees: AdmissionVariables,
): CompiledVariables {
  const types = new Map<string, CelType>();
  const programs = (variables ?? []).map(({ name, expression }) => {
    const program = admissionEnvironment({ ...sees, variables: types }).compile(expression);
    types.set(name, program.type);
    return { name, program };
  });
  const all = programs.length === 0 ? sees : { ...sees, variables: types };
  return {
    sees: all,
    bind(base, budget) {
      if (programs.length === 0) return base;
      const bound: Variables = (name) => (name === 'variables' ? composed : base(name));
      const composed = new ComposedVariables(
        new Map(programs.map(({ name, program }) => [name, () => budget.run(program, bound)])),
      );
      return bound;
    },
  };
}

export interface Condition {
  readonly name: string;
  readonly program: CompiledExpression;
}

export function compileConditions(
  conditions: readonly Frozen<MatchCondition>[] | undefined | null,
  sees: AdmissionVariables,
): Condition[] {
  return (conditions ?? []).map(({ name, expression }) => ({
    name,
    program: admissionEnvironment(sees).compile(expression),
  }));
}

/** False wins over errors; an error without a false is thrown. */
export function conditionsHold(conditions: readonly Condition[], variables: Variables, budget: Budget): boolean {
  let failure: Error | undefined;
  for (const { name, program } of conditions)
    try {
      if (budget.run(program, variables) !== true) return false;
    } catch (error) {
      if (!isExpressionError(error)) throw error;
      failure ??= new CelError(`match condition "${name}": ${error.message}`);
    }
  if (failure !== undefined) throw failure;
  return true;
}

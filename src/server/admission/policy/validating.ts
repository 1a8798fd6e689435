// Owns ValidatingAdmissionPolicy: policies in CEL that refuse, warn of or note what they find, as their bindings say.
import type { ValidatingAdmissionPolicy } from '../../../api/generated/admissionregistration.v1.ts';
import { CelSyntaxError } from '../../../api/cel/ast.ts';
import type { CompiledExpression } from '../../../api/cel/environment.ts';
import { admissionEnvironment } from '../../../api/cel/admission.ts';
import { fromJson } from '../../../api/cel/values.ts';
import { statusError } from '../../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { Parts } from '../../parts.ts';
import { annotate } from '../admission.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts';
import type { CheckMetrics, ConditionMetrics } from '../../metrics/policies.ts';
import { outcomeOf } from '../../metrics/policies.ts';
import { variablesFor, viewedAs } from './context.ts';
import type { Variables } from './context.ts';
import { Budget, compileConditions, compileVariables, conditionsHold, isExpressionError } from './evaluation.ts';
import type { CompiledVariables, Condition } from './evaluation.ts';
import { matchedAs } from './matching.ts';
import { isParamKindKnown, noParams, paramsOf, PolicyProblem } from './params.ts';
import { isExempt, policyRegistry } from './registry.ts';
import type { BoundPolicy } from './registry.ts';

interface Validation {
  readonly expression: string;
  readonly program: CompiledExpression;
  readonly message: string | undefined;
  readonly messageProgram: CompiledExpression | undefined;
  readonly reason: string | undefined;
}

interface Compiled {
  readonly conditions: readonly Condition[];
  readonly variables: CompiledVariables;
  readonly validations: readonly Validation[];
  readonly annotations: readonly { readonly key: string; readonly program: CompiledExpression }[];
}

function compile({ spec = {} }: Frozen<KubeObject & ValidatingAdmissionPolicy>): Compiled {
  const sees = { params: spec.paramKind !== undefined, authorizer: true };
  const variables = compileVariables(spec.variables, sees);
  const environment = admissionEnvironment(variables.sees);
  // A message may not ask the authorizer: it is told after the verdict.
  const messages = admissionEnvironment({ ...variables.sees, authorizer: false });
  return {
    conditions: compileConditions(spec.matchConditions, sees),
    variables,
    validations: (spec.validations ?? []).map(({ expression, message, messageExpression, reason }) => ({
      expression,
      program: environment.compile(expression),
      message,
      messageProgram: messageExpression ? messages.compile(messageExpression) : undefined,
      reason,
    })),
    annotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      program: environment.compile(valueExpression),
    })),
  };
}

interface Refusal {
  readonly message: string;
  readonly reason: string | undefined;
}

const codes: Readonly<Record<string, 'Forbidden' | 'Invalid' | 'RequestEntityTooLarge' | 'Unauthorized'>> = {
  Forbidden: 'Forbidden',
  Invalid: 'Invalid',
  RequestEntityTooLarge: 'RequestEntityTooLarge',
  Unauthorized: 'Unauthorized',
};
const maxMessage = 5 * 1024;

export function validatingAdmissionPolicy(
  authorizers: readonly Authorizer[],
  checks?: CheckMetrics,
  conditions?: ConditionMetrics,
): AdmissionPlugin {
  const policies = policyRegistry<ValidatingAdmissionPolicy, Compiled>(
    { policies: 'validatingadmissionpolicies', bindings: 'validatingadmissionpolicybindings' },
    compile,
  );

  /** Throws the refusal; warns and notes as the binding's actions say. */
  function conclude(
    request: AdmissionRequest,
    policy: string,
    binding: string,
    actions: readonly string[],
    { message, reason }: Refusal,
    startMs: number,
  ): void {
    const text = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${message}`;
    for (const action of actions) checks?.told(policy, binding, outcomeOf(message), startMs, action.toLowerCase());
    if (actions.includes('Warn'))
      request.warn(`Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${message}`);
    if (actions.includes('Audit'))
      annotate(
        request,
        'validation.policy.admission.k8s.io/validation_failure',
        JSON.stringify([{ message, policy, binding, validationActions: actions }]),
      );
    if (actions.includes('Deny')) throw refusalStatus(request, text, message, codes[reason ?? 'Invalid'] ?? 'Invalid');
  }

  function judgeOnce(
    request: AdmissionRequest,
    policy: BoundPolicy<Compiled>,
    program: Compiled,
    base: Variables,
    binding: BoundPolicy<Compiled>['bindings'][number],
  ): void {
    const budget = new Budget();
    const startMs = checks?.now() ?? 0;
    const actions = binding.spec.validationActions ?? ['Deny'];
    const failed = (error: Error): void => {
      if (policy.ignoresErrors) checks?.told(policy.name, binding.name, outcomeOf(error.message), startMs, 'allow');
      else
        conclude(request, policy.name, binding.name, actions, { message: error.message, reason: undefined }, startMs);
    };
    try {
      const hold = (): boolean => conditionsHold(program.conditions, base, budget);
      const isAbout =
        program.conditions.length === 0 ||
        (conditions === undefined ? hold() : conditions.measured(policy.name, request.operation, hold));
      if (!isAbout) return;
    } catch (error) {
      if (!isExpressionError(error)) throw error;
      return failed(error);
    }
    const variables = program.variables.bind(base, budget);
    for (const validation of program.validations)
      try {
        if (budget.run(validation.program, variables) !== true)
          conclude(
            request,
            policy.name,
            binding.name,
            actions,
            { message: messageOf(validation, variables, budget), reason: validation.reason },
            startMs,
          );
      } catch (error) {
        if (!isExpressionError(error)) throw error;
        failed(new PolicyProblem(`expression '${validation.expression}' resulted in error: ${error.message}`));
      }
    for (const { key, program: value } of program.annotations)
      try {
        const text = budget.run(value, variables);
        if (typeof text === 'string') annotate(request, `${policy.name}/${key}`, text.slice(0, 10 * 1024));
      } catch (error) {
        if (!isExpressionError(error)) throw error;
        failed(error);
      }
  }

  async function judge(request: AdmissionRequest, parts: Parts, policy: BoundPolicy<Compiled>): Promise<void> {
    const as = matchedAs(policy.constraints, request, parts);
    if (as === undefined) return;
    const problem = (why: string, binding = policy.bindings[0]!): void => {
      if (policy.ignoresErrors) return;
      const actions = binding.spec.validationActions ?? ['Deny'];
      const refusal = { message: `failed to configure policy: ${why}`, reason: undefined };
      conclude(request, policy.name, binding.name, actions, refusal, checks?.now() ?? 0);
    };
    const { paramKind } = policy.spec;
    if (paramKind && !isParamKindKnown(parts, paramKind)) {
      if (policy.ignoresErrors) return;
      // A policy that cannot work refuses all it is about, whatever its bindings say.
      const why = `failed to configure policy: failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`;
      throw refusalStatus(request, why, why, 'Invalid');
    }
    if ('problem' in policy.compiled) {
      if (!(policy.compiled.problem instanceof CelSyntaxError)) throw policy.compiled.problem;
      return problem(policy.compiled.problem.message);
    }
    const view = viewedAs(as, request);
    const base = variablesFor(view instanceof Promise ? await view : view, as, parts, authorizers);
    for (const binding of policy.bindings) {
      if (matchedAs(binding.constraints, request, parts) === undefined) continue;
      let params: readonly (Frozen<KubeObject> | undefined)[] = noParams;
      try {
        if (paramKind) params = await paramsOf(parts, paramKind, binding.spec.paramRef ?? undefined, request.namespace);
      } catch (error) {
        if (!(error instanceof PolicyProblem)) throw error;
        problem(error.message, binding);
        continue;
      }
      for (const param of params)
        judgeOnce(
          request,
          policy,
          policy.compiled.program,
          (name) => (name === 'params' ? fromJson(param ?? null) : base(name)),
          binding,
        );
    }
  }

  return {
    name: 'ValidatingAdmissionPolicy',
    concerns: (request, parts) => policies(parts).length > 0 && !isExempt(request.served.resource),
    async validate(request, parts) {
      for (const policy of policies(parts)) await judge(request, parts, policy);
    },
  };
}

function messageOf({ message, messageProgram, expression }: Validation, variables: Variables, budget: Budget): string {
  if (messageProgram !== undefined)
    try {
      const text = budget.run(messageProgram, variables);
      if (typeof text === 'string' && text.trim() !== '' && text.length <= maxMessage && !text.includes('\n'))
        return text.trim();
    } catch (error) {
      // A message that fails changes nothing: the next best is told.
      if (!isExpressionError(error)) throw error;
    }
  return message?.trim() || `failed expression: ${expression.trim()}`;
}

/** `reason` decides the code too, unless one is given. */
function refusalStatus(
  request: AdmissionRequest,
  text: string,
  cause: string,
  reason: 'Forbidden' | 'Invalid' | 'RequestEntityTooLarge' | 'Unauthorized',
): Error {
  const { group, plural } = request.served.resource;
  return statusError(reason, `${plural} "${request.name}" is forbidden: ${text}`, {
    name: request.name || 'Unknown',
    ...(group !== '' && { group }),
    kind: plural,
    causes: [{ message: cause }],
  });
}

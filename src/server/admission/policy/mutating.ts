// Owns MutatingAdmissionPolicy: policies in CEL that change what is written, by merging a configuration or by a JSON patch.
import { writeJson } from '../../../api/codec/json-write.ts';
import type { MutatingAdmissionPolicy, Mutation } from '../../../api/generated/admissionregistration.v1.ts';
import { mergeApplied } from '../../../api/apply/merge.ts';
import { atomicPlaces, checkApplied } from '../../../api/apply/check.ts';
import { CelSyntaxError } from '../../../api/cel/ast.ts';
import type { CompiledExpression } from '../../../api/cel/environment.ts';
import { admissionEnvironment } from '../../../api/cel/admission.ts';
import { fromJson, toJson } from '../../../api/cel/values.ts';
import { applyJsonPatch } from '../../../api/patch/json-patch.ts';
import { forbidden, isStatusError, statusError } from '../../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { Parts } from '../../parts.ts';
import type { Served } from '../../served/served.ts';
import { applyAllDefaults } from '../../verbs/decode.ts';
import { schemaFor } from '../../verbs/field-managers.ts';
import { backFrom } from '../../verbs/versions.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts';
import type { CheckMetrics, ConditionMetrics } from '../../metrics/policies.ts';
import { outcomeOf } from '../../metrics/policies.ts';
import { reinvocationOf } from '../reinvocation.ts';
import { seenAs, variablesFor, viewedAs } from './context.ts';
import { Budget, compileConditions, compileVariables, conditionsHold, isExpressionError } from './evaluation.ts';
import type { CompiledVariables, Condition } from './evaluation.ts';
import { matchedAs } from './matching.ts';
import { isParamKindKnown, noParams, paramsOf, PolicyProblem } from './params.ts';
import { isExempt, policyRegistry } from './registry.ts';
import type { BoundPolicy } from './registry.ts';

interface Change {
  readonly type: 'ApplyConfiguration' | 'JSONPatch';
  readonly program: CompiledExpression;
}

interface Compiled {
  readonly reinvoked: boolean;
  readonly conditions: readonly Condition[];
  readonly variables: CompiledVariables;
  readonly changes: readonly Change[];
}

function compile({ spec = {} }: Frozen<KubeObject & MutatingAdmissionPolicy>): Compiled {
  const sees = { params: spec.paramKind !== undefined, authorizer: true, mutations: true };
  const variables = compileVariables(spec.variables, sees);
  const environment = admissionEnvironment(variables.sees);
  const changeOf = ({ patchType, applyConfiguration, jsonPatch }: Frozen<Mutation>): Change =>
    patchType === 'JSONPatch'
      ? { type: 'JSONPatch', program: environment.compile(jsonPatch?.expression ?? '') }
      : { type: 'ApplyConfiguration', program: environment.compile(applyConfiguration?.expression ?? '') };
  return {
    reinvoked: spec.reinvocationPolicy === 'IfNeeded',
    conditions: compileConditions(spec.matchConditions, { ...sees, mutations: false }),
    variables,
    changes: (spec.mutations ?? []).map(changeOf),
  };
}

/** What a mutation was about is not as it thought: a `test` that fails changes nothing. */
class NoChange extends Error {
  override readonly name = 'NoChange';
}

/** Throws PolicyProblem when the result cannot be merged. */
function changed(as: Served, object: KubeObject, change: Change, result: unknown): KubeObject {
  if (change.type === 'JSONPatch') {
    try {
      return applyJsonPatch(object, result) as KubeObject;
    } catch (error) {
      if (!isStatusError(error)) throw error;
      if (error.message.includes('testing path ')) throw new NoChange(error.message);
      throw new PolicyProblem(error.message);
    }
  }
  const { apiVersion, kind, metadata, ...rest } = (result ?? {}) as Partial<KubeObject> & Record<string, unknown>;
  if (apiVersion !== undefined || kind !== undefined)
    throw new PolicyProblem('a configuration may not name apiVersion or kind');
  const schema = schemaFor(as);
  if (schema === undefined) throw new PolicyProblem('objects of this kind have no shape to merge by');
  const applied = { ...rest, ...(metadata !== undefined && { metadata }) };
  const problems = checkApplied(schema, applied);
  if (problems.length > 0) throw new PolicyProblem(problems.join(', '));
  const whole = atomicPlaces(schema, applied);
  if (whole.length > 0)
    throw new PolicyProblem(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${whole.join(', ')}`,
    );
  return mergeApplied(schema, object, applied) as KubeObject;
}

/** The object that everybody holds becomes `next`. */
export function replaceContents(object: KubeObject, next: KubeObject): void {
  const target = object as unknown as Record<string, unknown>;
  for (const key of Object.keys(target)) if (!Object.hasOwn(next, key)) delete target[key];
  for (const [key, value] of Object.entries(structuredClone(next))) target[key] = value;
}

export function mutatingAdmissionPolicy(
  authorizers: readonly Authorizer[],
  checks?: CheckMetrics,
  conditions?: ConditionMetrics,
): AdmissionPlugin {
  const policies = policyRegistry<MutatingAdmissionPolicy, Compiled>(
    { policies: 'mutatingadmissionpolicies', bindings: 'mutatingadmissionpolicybindings' },
    compile,
  );

  function refuse(request: AdmissionRequest, policy: string, binding: string, why: string): Error {
    const { group, plural } = request.served.resource;
    return statusError(
      'Invalid',
      `${plural} "${request.name}" is forbidden: policy '${policy}' with binding '${binding}' denied request: ${why}`,
      { name: request.name || 'Unknown', ...(group !== '' && { group }), kind: plural, causes: [{ message: why }] },
      403,
    );
  }

  /** Answers whether the policy was about the request. */
  async function mutate(
    request: AdmissionRequest,
    as: Served,
    parts: Parts,
    name: string,
    program: Compiled,
    param: Frozen<KubeObject> | undefined,
  ): Promise<boolean> {
    const budget = new Budget();
    const fresh = (viewed: AdmissionRequest) => {
      const base = variablesFor(viewed, as, parts, authorizers);
      return (name: string) => (name === 'params' ? fromJson(param ?? null) : base(name));
    };
    if (program.conditions.length > 0) {
      const base = fresh(await viewedAs(as, request));
      const hold = (): boolean => conditionsHold(program.conditions, base, budget);
      if (!(conditions === undefined ? hold() : conditions.measured(name, request.operation, hold))) return false;
    }
    for (const change of program.changes) {
      // Each mutation sees what the one before it made.
      const viewed = await viewedAs(as, request);
      const variables = program.variables.bind(fresh(viewed), budget);
      const result = toJson(budget.run(change.program, variables));
      const seen = seenAs(as, viewed.object as Frozen<KubeObject>) as KubeObject;
      try {
        const next = structuredClone(changed(as, structuredClone(seen), change, result));
        applyAllDefaults(as.resource, next, request.source.arrivedMs);
        replaceContents(request.object!, await backFrom(as, request.served, next));
      } catch (error) {
        if (!(error instanceof NoChange)) throw error;
      }
    }
    return true;
  }

  async function run(request: AdmissionRequest, parts: Parts, policy: BoundPolicy<Compiled>): Promise<void> {
    const as = matchedAs(policy.constraints, request, parts);
    if (as === undefined) return;
    const { paramKind } = policy.spec;
    const problem = (error: unknown, binding: string): void => {
      const isOurs = error instanceof PolicyProblem || error instanceof CelSyntaxError || isExpressionError(error);
      if (!isOurs) throw error;
      if (!policy.ignoresErrors) throw refuse(request, policy.name, binding, error.message);
    };
    if (paramKind && !isParamKindKnown(parts, paramKind))
      return problem(
        new PolicyProblem(
          `failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`,
        ),
        '',
      );
    if ('problem' in policy.compiled) return problem(policy.compiled.problem, '');
    const { program } = policy.compiled;
    for (const binding of policy.bindings) {
      if (matchedAs(binding.constraints, request, parts) === undefined) continue;
      const id = `policy ${policy.name} ${binding.name}`;
      const reinvocation = reinvocationOf(request);
      if (reinvocation.isSecond && !reinvocation.isWanted(id, request.object)) continue;
      let params: readonly (Frozen<KubeObject> | undefined)[] = noParams;
      try {
        if (paramKind) params = await paramsOf(parts, paramKind, binding.spec.paramRef ?? undefined, request.namespace);
      } catch (error) {
        if (!(error instanceof PolicyProblem)) throw error;
        if (!policy.ignoresErrors) throw forbidden(request.served.resource, request.name, error.message);
        continue;
      }
      const mayBeWanted = program.reinvoked && !reinvocation.isSecond;
      // A policy that changes the object sees it again, too: upstream asks for the second round after noting the policy.
      const before = mayBeWanted ? writeJson(request.object) : '';
      for (const param of params) {
        const startMs = checks?.now() ?? 0;
        try {
          if (!(await mutate(request, as, parts, policy.name, program, param))) continue;
          if (mayBeWanted) reinvocation.leftText(id, before);
          checks?.told(policy.name, binding.name, 'no_error', startMs);
        } catch (error) {
          checks?.told(policy.name, binding.name, outcomeOf((error as Error).message), startMs);
          problem(error, binding.name);
        }
      }
    }
  }

  return {
    name: 'MutatingAdmissionPolicy',
    concerns: (request, parts) =>
      policies(parts).length > 0 && request.object !== undefined && !isExempt(request.served.resource),
    async admit(request, parts) {
      for (const policy of policies(parts)) await run(request, parts, policy);
    },
  };
}

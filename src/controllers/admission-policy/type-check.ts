// Owns checking a ValidatingAdmissionPolicy's expressions against the kinds that it matches. Pure.
import { admissionEnvironment } from '../../api/cel/admission.ts';
import { CelSyntaxError } from '../../api/cel/ast.ts';
import { type CelType, dyn } from '../../api/cel/types.ts';
import type { Frozen } from '../../api/meta.ts';
import type { ExpressionWarning, ValidatingAdmissionPolicy } from '../../api/generated/admissionregistration.v1.ts';

/** As many kinds are checked; further ones are not. */
const mostKinds = 10;

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Rules with wildcards or subresources say no single type. In order, each once. */
export function resourcesToCheck({ spec }: Frozen<ValidatingAdmissionPolicy>): GroupVersionResource[] {
  const found = new Map<string, GroupVersionResource>();
  const isWild = (names: readonly string[] = []) => names.length === 0 || names.includes('*');
  for (const { apiGroups, apiVersions, resources } of spec.matchConstraints?.resourceRules ?? []) {
    if (isWild(apiGroups) || isWild(apiVersions) || isWild(resources)) continue;
    for (const group of apiGroups ?? [])
      for (const version of apiVersions ?? [])
        for (const resource of resources ?? [])
          if (!resource.includes('/')) found.set(`${group}/${version}/${resource}`, { group, version, resource });
  }
  return [...found.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, mostKinds)
    .map(([, resource]) => resource);
}

export interface CheckedKind {
  /** "apps/v1, Kind=Deployment" */
  readonly title: string;
  readonly type: CelType;
}

export function expressionWarnings(
  { spec }: Frozen<ValidatingAdmissionPolicy>,
  kinds: readonly CheckedKind[],
  /** Of spec.paramKind, where it is served. */
  params?: CelType,
): ExpressionWarning[] {
  const compilers = kinds.map((kind) => ({ kind, compile: compilerFor(spec, kind.type, params) }));
  const warnings: ExpressionWarning[] = [];
  const checkAt = (fieldRef: string, expression: string | undefined): void => {
    if (!expression) return;
    const texts = compilers.flatMap(({ kind, compile }) => {
      const problem = compile(expression);
      return problem === undefined ? [] : [`${kind.title}: ${problem}\n`];
    });
    if (texts.length > 0) warnings.push({ fieldRef, warning: texts.join('\n') });
  };
  for (const [index, { expression, messageExpression }] of (spec.validations ?? []).entries()) {
    checkAt(`spec.validations[${index}].expression`, expression);
    checkAt(`spec.validations[${index}].messageExpression`, messageExpression);
  }
  return warnings;
}

/** What is wrong with an expression, or undefined. A variable that is wrong itself may be anything. */
function compilerFor(
  spec: Frozen<ValidatingAdmissionPolicy>['spec'],
  type: CelType,
  params: CelType | undefined,
): (expression: string) => string | undefined {
  const variables = new Map<string, CelType>();
  const options = {
    params: spec.paramKind !== undefined,
    ...(params && { paramsType: params }),
    authorizer: true,
    variables,
    objectType: type,
  };
  for (const { name, expression } of spec.variables ?? []) {
    try {
      variables.set(name, admissionEnvironment(options).compile(expression).type);
    } catch (error) {
      if (!(error instanceof CelSyntaxError)) throw error;
      variables.set(name, dyn);
    }
  }
  const environment = admissionEnvironment(options);
  return (expression) => {
    try {
      environment.compile(expression);
      return undefined;
    } catch (error) {
      if (error instanceof CelSyntaxError) return error.message;
      throw error;
    }
  };
}

// Owns the validation of expressions in admission's kinds: each is compiled where it stands and must give what its place wants.
import type { MatchCondition, ParamKind, Variable } from '../../../api/generated/admissionregistration.v1.ts';
import { admissionEnvironment, type AdmissionVariables } from '../../../api/cel/admission.ts';
import { CelSyntaxError } from '../../../api/cel/ast.ts';
import { type CelType, dyn, typeText } from '../../../api/cel/types.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dns1035Label, dnsSubdomain, qualifiedName } from '../../../api/names.ts';
import type { Problems } from '../../../api/validation/problems.ts';

const maxMatchConditions = 64;

/** The type of the expression, or undefined after its problem was told. `results`: which types it may have; empty: any. */
export function compileExpression(
  problems: Problems,
  path: string,
  expression: string,
  sees: AdmissionVariables,
  results: readonly string[],
): CelType | undefined {
  try {
    const { type } = admissionEnvironment(sees).compile(expression);
    if (results.length === 0 || results.includes(typeText(type))) return type;
    problems.invalid(path, expression, `must evaluate to ${results.join(' or ')}`);
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    problems.invalid(path, expression, `compilation failed: ${error.message}`);
  }
  return undefined;
}

export const isBlank = (text: string | undefined | null): boolean => (text ?? '').trim() === '';

export function validateMatchConditions(
  problems: Problems,
  path: string,
  conditions: readonly Frozen<MatchCondition>[],
  params: boolean,
): void {
  if (conditions.length > maxMatchConditions) problems.tooMany(path, conditions.length, maxMatchConditions);
  const names = new Set<string>();
  conditions.forEach(({ name, expression }, at) => {
    const here = `${path}[${at}]`;
    if (isBlank(expression)) problems.required(`${here}.expression`);
    else compileExpression(problems, `${here}.expression`, expression.trim(), { params, authorizer: true }, ['bool']);
    if (!name) return problems.required(`${here}.name`);
    problems.each(`${here}.name`, name, qualifiedName(name));
    if (names.has(name)) problems.duplicate(`${here}.name`, name);
    names.add(name);
  });
}

const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);

/** Each variable sees those before it. Returns what all of them are. */
export function validateVariables(
  problems: Problems,
  path: string,
  variables: readonly Frozen<Variable>[],
  params: boolean,
  mutations = false,
): ReadonlyMap<string, CelType> | undefined {
  if (variables.length === 0) return undefined;
  const known = new Map<string, CelType>();
  variables.forEach(({ name, expression }, at) => {
    const here = `${path}[${at}]`;
    if (isBlank(name)) problems.required(`${here}.name`, 'name is not specified');
    else if (!isIdentifier(name)) problems.invalid(`${here}.name`, name, 'name is not a valid CEL identifier');
    if (isBlank(expression)) return problems.required(`${here}.expression`, 'expression is not specified');
    const sees = { params, authorizer: true, variables: known, mutations };
    const type = compileExpression(problems, `${here}.expression`, expression, sees, []);
    known.set(name, type ?? dyn);
  });
  return known;
}

export function validateParamKind(
  problems: Problems,
  path: string,
  { apiVersion = '', kind = '' }: Frozen<ParamKind>,
): void {
  const parts = apiVersion.split('/');
  const at = `${path}.apiVersion`;
  const joined = (value: string, wrong: readonly string[]): void => {
    if (wrong.length > 0) problems.invalid(at, value, wrong.join(','));
  };
  if (apiVersion === '') problems.required(at);
  else if (parts.length > 2) problems.invalid(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  else {
    const [group, version] = parts.length === 2 ? [parts[0]!, parts[1]!] : ['', parts[0]!];
    if (group !== '') joined(group, dnsSubdomain(group));
    if (version === '') problems.invalid(at, apiVersion, 'version must be specified');
    else joined(version, dns1035Label(version));
  }
  if (kind === '') return problems.required(`${path}.kind`);
  const wrong = dns1035Label(kind.toLowerCase());
  if (wrong.length > 0)
    problems.invalid(`${path}.kind`, kind, `may have mixed case, but should otherwise match: ${wrong.join(',')}`);
}

// Owns what expressions of Kubernetes may use: the libraries, and an expression's way from text to a program.
import { CelSyntaxError, type Expr } from './ast.ts';
import { check, type Checked, type Declarations } from './checker.ts';
import { compile, type Program } from './evaluate.ts';
import { FunctionTable, type Library } from './functions.ts';
import { conversions } from './library/conversions.ts';
import { lists, sets } from './library/lists.ts';
import { namedFormats } from './library/named-formats.ts';
import { networks } from './library/networks.ts';
import { operators } from './library/operators.ts';
import { optionals } from './library/optionals.ts';
import { quantities } from './library/quantities.ts';
import { regexes } from './library/regexes.ts';
import { semvers } from './library/semvers.ts';
import { strings } from './library/strings.ts';
import { times } from './library/times.ts';
import { urls } from './library/urls.ts';
import { checkLiterals } from './literals.ts';
import { parse } from './parser.ts';
import type { CelType } from './types.ts';
import { CelError } from './values.ts';

/** In every place where Kubernetes takes CEL; some places add their own (authorizer, jsonpatch). */
const kubernetesLibraries: readonly Library[] = [
  operators,
  conversions,
  times,
  strings,
  optionals,
  lists,
  sets,
  regexes,
  urls,
  quantities,
  networks,
  namedFormats,
  semvers,
];

const kubernetesFunctions = new FunctionTable(kubernetesLibraries);

function program(source: string, checked: Checked): Program {
  try {
    return compile(checked);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    throw new CelSyntaxError(source, [{ at: 0, message: `program instantiation failed: ${error.message}` }]);
  }
}

export interface EnvironmentOptions {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly libraries?: readonly Library[];
  readonly structType?: Declarations['structType'];
  readonly mixedLiterals?: boolean;
}

export interface CompiledExpression extends Program {
  readonly source: string;
  readonly expr: Expr;
  readonly checked: Checked;
  readonly type: CelType;
}

export interface Environment {
  /** Throws CelSyntaxError for what cannot be parsed or has wrong types. */
  compile(source: string): CompiledExpression;
}

export function environment({
  variables,
  libraries = [],
  structType,
  mixedLiterals = false,
}: EnvironmentOptions): Environment {
  const declarations: Declarations = {
    variables: new Map(Object.entries(variables)),
    functions: libraries.length === 0 ? kubernetesFunctions : new FunctionTable([...kubernetesLibraries, ...libraries]),
    ...(structType && { structType }),
    mixedLiterals,
  };
  return {
    compile(source) {
      const expr = parse(source);
      const checked = check(source, expr, declarations);
      checkLiterals(source, expr, checked);
      return { source, expr, checked, type: checked.type, ...program(source, checked) };
    },
  };
}

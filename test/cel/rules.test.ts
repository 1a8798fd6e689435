// Proves that rules compile, evaluate and cost what Kubernetes 1.37.2 says of them: rules.json holds what its libraries answered. Runs no server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CelSyntaxError } from '../../src/api/cel/ast.ts';
import type { CompiledExpression } from '../../src/api/cel/environment.ts';
import { estimateCost } from '../../src/api/cel/estimate.ts';
import { CelError, fromJson } from '../../src/api/cel/values.ts';
import { celSchema } from '../../src/server/custom/cel-types.ts';
import { compileExpressions } from '../../src/server/custom/compile-rules.ts';
import { structural } from '../../src/server/custom/structural.ts';
import type { Props } from '../../src/server/custom/structural.ts';

/** The rule, what becomes of it on `object`, the most it may cost by its schema, and what it did cost. */
type Row =
  | readonly [rule: string, outcome: 'refused']
  | readonly [rule: string, outcome: string, most: number, cost: number];

interface Table {
  readonly schema: Props;
  readonly object: unknown;
  readonly rules: readonly Row[];
}

const table = JSON.parse(readFileSync(new URL('../../../test/cel/rules.json', import.meta.url), 'utf8')) as Table;
const schema = celSchema(structural(table.schema), 'self', false)!;
const self = fromJson(table.object, schema.json);
const callLimit = 1_000_000;

function compiled(rule: string): CompiledExpression | undefined {
  try {
    const made = compileExpressions({ rule }, schema).program();
    return made.type.kind === 'bool' ? made : undefined;
  } catch (error) {
    if (error instanceof CelSyntaxError) return undefined;
    throw error;
  }
}

function outcome(program: CompiledExpression): { readonly outcome: string; readonly cost: number | undefined } {
  try {
    const { value, cost } = program.evaluate((name) => (name === 'self' ? self : undefined), callLimit);
    return { outcome: String(value), cost };
  } catch (error) {
    if (error instanceof CelError) return { outcome: 'error', cost: undefined };
    throw error;
  }
}

function told([rule, wanted, most, cost]: Row): string | undefined {
  const program = compiled(rule);
  if (program === undefined) return wanted === 'refused' ? undefined : 'is refused';
  if (wanted === 'refused') return 'is not refused';
  const estimate = Math.min(estimateCost(program, schema).max, Number.MAX_SAFE_INTEGER);
  if (estimate !== most) return `may cost ${estimate}, not ${most}`;
  const seen = outcome(program);
  if (seen.outcome !== wanted) return `is ${seen.outcome}, not ${wanted}`;
  return seen.cost === undefined || seen.cost === cost ? undefined : `costs ${seen.cost}, not ${cost}`;
}

describe('rules as upstream compiles, runs and counts them', () => {
  test(`${table.rules.length} rules`, () => {
    const wrong = table.rules.flatMap((row) => {
      const text = told(row);
      return text === undefined ? [] : [`${row[0]} ${text}`];
    });
    assert.deepEqual(wrong, []);
    assert.ok(table.rules.length > 3_000);
  });
});

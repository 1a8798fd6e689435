// Proves that our CEL passes the language's public conformance set, but for what Kubernetes does not have, which is named with the reason.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js';
import { CelSyntaxError } from '../../src/api/cel/ast.ts';
import { environment } from '../../src/api/cel/environment.ts';
import { equal } from '../../src/api/cel/equality.ts';
import * as types from '../../src/api/cel/types.ts';
import type { CelType } from '../../src/api/cel/types.ts';
import { CelError, CelUint, typeNameOf } from '../../src/api/cel/values.ts';
import type { CelValue } from '../../src/api/cel/values.ts';
import { Unsupported, typeOf, valueOf } from './conformance-values.ts';

interface Original {
  readonly name?: string;
  readonly expr: string;
  readonly value?: object;
  readonly typedResult?: { readonly result?: object };
  readonly evalError?: object;
  readonly anyEvalErrors?: object;
  readonly typeEnv?: readonly { readonly name: string; readonly ident?: { readonly type: object } }[];
  readonly bindings?: Readonly<Record<string, { readonly value?: object }>>;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: Original }[];
}

/** Whole files of the set: parts of the language, or extensions, that no place in Kubernetes has. */
const absent: Readonly<Record<string, string>> = {
  bindings_ext: 'cel.bind is undeclared in Kubernetes',
  block_ext: 'cel.block is undeclared in Kubernetes',
  encoders_ext: 'base64 is undeclared in Kubernetes',
  enums: 'enums of protobuf messages',
  math_ext: 'math is undeclared in Kubernetes',
  proto2: 'fields of protobuf messages',
  proto2_ext: 'extensions of protobuf messages',
  proto3: 'fields of protobuf messages',
  wrappers: 'fields of protobuf messages',
};

/** Single tests, each with why. */
const others: Readonly<Record<string, string>> = {
  'fields/qualified_identifier_resolution/map_key_float': constantMap(),
  'fields/qualified_identifier_resolution/map_value_repeat_key': constantMap(),
  'fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous': constantMap(),
  'string_ext/value_errors/indexof_out_of_range': stringsVersion(),
  'string_ext/value_errors/lastindexof_out_of_range': stringsVersion(),
};

/** Maps that are written down are made when the program is, which upstream does without looking at their keys (test/cel/rules.json has it). */
function constantMap(): string {
  return 'Kubernetes folds constants';
}

function stringsVersion(): string {
  return 'Kubernetes has version 2 of the extension, where this is -1 (test/cel/rules.json has it)';
}

const messages =
  /TestAllTypes|cel\.expr|GlobalEnum|NullValue|google\.protobuf\.(?:Any|Struct|Value|ListValue)\b|messageType|\b(?:Any|Struct|Value|ListValue|[A-Z][A-Za-z0-9]*Value)\{/;

/** Undefined: the test is run. */
function excluded(path: readonly string[], original: Original): string | undefined {
  const [file = ''] = path;
  if (absent[file] !== undefined) return absent[file];
  const id = [...path, original.name ?? original.expr].join('/');
  if (others[id] !== undefined) return others[id];
  if (original.disableCheck === true) return 'Kubernetes checks the types of every expression';
  const isMessage = messages.test(original.expr.replaceAll(/\/\/.*$/gm, '').replaceAll(/\s+/g, ''));
  if (
    isMessage ||
    messages.test(JSON.stringify([original.value, original.bindings, original.typeEnv, original.typedResult]))
  )
    return 'protobuf messages';
  if ((original.container ?? '') !== '') return 'expressions of Kubernetes have no container';
  if (original.typeEnv?.some(({ ident }) => ident === undefined) === true) return 'nobody can declare functions';
  if (path[0] === 'string_ext' && path[1] === 'format')
    return 'Kubernetes has version 2 of the extension, which writes lists, maps and exponents otherwise (test/cel/rules.json has it)';
  return undefined;
}

interface Case {
  readonly id: string;
  readonly original: Original;
  readonly why: string | undefined;
}

function* casesOf(suite: Suite, path: readonly string[]): Iterable<Case> {
  const here = [...path, suite.name];
  for (const { original } of suite.tests ?? [])
    yield { id: [...here, original.name ?? original.expr].join('/'), original, why: excluded(here, original) };
  for (const inner of suite.suites ?? []) yield* casesOf(inner, here);
}

interface Given {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly bound: ReadonlyMap<string, CelValue>;
}

function given({ typeEnv = [], bindings = {} }: Original): Given {
  const variables: Record<string, CelType> = {};
  for (const { name, ident } of typeEnv) {
    if (ident === undefined) throw new Unsupported('declarations of functions');
    variables[name] = typeOf(ident.type);
  }
  const bound = new Map(Object.entries(bindings).map(([name, { value }]) => [name, valueOf(value!)]));
  for (const name of bound.keys()) variables[name] ??= types.dyn;
  return { variables, bound };
}

type Outcome = { readonly value: CelValue } | { readonly failure: string } | { readonly checked: CelType };

function run({ variables, bound }: Given, { expr, checkOnly }: Original): Outcome {
  try {
    const program = environment({ variables, mixedLiterals: true }).compile(expr);
    if (checkOnly === true) return { checked: program.type };
    return { value: program.evaluate((name) => bound.get(name)).value };
  } catch (error) {
    if (error instanceof CelSyntaxError || error instanceof CelError) return { failure: error.message };
    throw error;
  }
}

function shown(value: CelValue): string {
  const text = typeof value === 'object' && value !== null ? '…' : String(value);
  return `${typeNameOf(value)} ${value instanceof CelUint ? value.value : text}`;
}

/** What is wrong, or undefined. */
function judged(original: Original): string | undefined {
  const outcome = run(given(original), original);
  const fails = original.evalError !== undefined || original.anyEvalErrors !== undefined;
  if (fails) return 'failure' in outcome ? undefined : 'does not fail';
  if ('failure' in outcome) return outcome.failure;
  if ('checked' in outcome) return undefined;
  const result = original.value ?? original.typedResult?.result;
  const want = result === undefined ? true : valueOf(result);
  const { value } = outcome;
  if (typeof want === 'number' && Number.isNaN(want) && typeof value === 'number' && Number.isNaN(value))
    return undefined;
  return equal(value, want) && typeNameOf(value) === typeNameOf(want)
    ? undefined
    : `is ${shown(value)}, not ${shown(want)}`;
}

describe('conformance of the language', () => {
  const cases = (conformance as unknown as Suite).suites!.flatMap((suite) => [...casesOf(suite, [])]);
  const kept = cases.filter(({ why }) => why === undefined);

  test(`${kept.length} of ${cases.length} expressions`, () => {
    const wrong = kept.flatMap(({ id, original }) => {
      const text = judged(original);
      return text === undefined ? [] : [`${id}: ${original.expr} ${text}`];
    });
    assert.deepEqual(wrong, []);
    assert.ok(kept.length > 1_000, String(kept.length));
  });

  test('what is left out would fail, or speaks of what is not there', () => {
    const single = new Map(cases.map((one) => [one.id, one]));
    for (const id of Object.keys(others)) {
      const found = single.get(id);
      assert.ok(found !== undefined, id);
      assert.notEqual(judged(found.original), undefined, `${id} passes`);
    }
  });
});

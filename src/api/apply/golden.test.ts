// Replays recorded writes through the pure functions: patches give what upstream stored, managedFields are byte for byte its own.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicPatch } from '../patch/strategic-patch.ts';
import { schemaOf as builtinSchema } from '../schema/builtin.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { isStatusError } from '../status-error.ts';
import { applyConfiguration } from './apply.ts';
import { managerName } from './manager-name.ts';
import { customKindSchema } from './custom-schema.suite.ts';
import { customResetFields, resetFieldsOf as builtinResetFields } from './reset-fields.ts';
import { equalJson, isMap, type JsonMap } from './structure.ts';
import { managedFieldsForUpdate } from './update.ts';

interface Step {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly text?: string;
  readonly note?: string;
  readonly save?: unknown;
}

interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly answers: readonly { readonly status: number; readonly body?: unknown }[];
}

type Entry = JsonMap & { readonly time?: string };
interface Stored extends JsonMap {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: JsonMap & { readonly name: string; readonly managedFields?: readonly Entry[] };
}

const recorded = new URL('../../../../test/golden/recorded/', import.meta.url);
const areas = ['semantics', 'objects-core', 'objects-groups', 'extension'];

function scenarios(): Scenario[] {
  return areas.flatMap((area) =>
    readdirSync(new URL(`${area}/`, recorded))
      // What a server adds to whole lives of kinds is proven by test/golden.
      .filter((file) => !file.includes('-whole-'))
      .filter((file) => area !== 'extension' || /^extension-(apply|managed-fields)/.test(file))
      .map((file) => JSON.parse(readFileSync(new URL(`${area}/${file}`, recorded), 'utf8')) as Scenario),
  );
}

interface CustomKind {
  readonly schema: ObjectSchema;
  readonly hasStatus: boolean;
}

const customKinds = new Map<string, CustomKind>();

/** Remembers the kinds that a scenario defines. */
function define(body: unknown): void {
  if (!isMap(body) || body['kind'] !== 'CustomResourceDefinition') return;
  const { group, names, versions } = body['spec'] as {
    group: string;
    names: { kind: string };
    versions: { name: string; schema?: { openAPIV3Schema: JsonMap }; subresources?: { status?: object } }[];
  };
  for (const { name, schema, subresources } of versions)
    if (schema !== undefined)
      customKinds.set(`${group}/${name}/${names.kind}`, {
        schema: customKindSchema(schema.openAPIV3Schema),
        hasStatus: subresources?.status !== undefined,
      });
}

function schemaOf(apiVersion: string, kind: string): ObjectSchema | undefined {
  return builtinSchema(apiVersion, kind) ?? customKinds.get(`${apiVersion}/${kind}`)?.schema;
}

function resetFieldsOf(apiVersion: string, kind: string, subresource: string | undefined) {
  const custom = customKinds.get(`${apiVersion}/${kind}`);
  if (custom === undefined) return builtinResetFields(apiVersion, kind, subresource);
  return custom.hasStatus ? customResetFields[subresource === 'status' ? 'status' : 'main'] : undefined;
}

function isStored(value: unknown): value is Stored {
  return (
    isMap(value) &&
    typeof value['apiVersion'] === 'string' &&
    typeof value['kind'] === 'string' &&
    isMap(value['metadata']) &&
    !value['apiVersion'].startsWith('meta.k8s.io') &&
    value['kind'] !== 'Status'
  );
}

interface Write {
  readonly where: string;
  readonly step: Step;
  readonly type: string;
  readonly query: URLSearchParams;
  readonly subresource: string | undefined;
  readonly live: Stored | undefined;
  readonly status: number;
  readonly answer: unknown;
}

/** Writes whose object before them is known from the answer before. */
function* writesOf(scenario: Scenario): Generator<Write> {
  const objects = new Map<string, Stored>();
  const hidden = new Set<string>();
  for (const [at, step] of scenario.steps.entries()) {
    const answer = scenario.answers[at];
    if (step.path === undefined || step.method === undefined || answer === undefined) continue;
    if (step.method !== 'GET' && answer.status < 300 && isStored(answer.body)) define(answer.body);
    const url = new URL(step.path, 'http://x');
    const segments = url.pathname.split('/').filter((segment) => segment !== '');
    const nameAt = segments[0] === 'api' ? 2 : 3;
    const inNamespace = segments[nameAt] === 'namespaces' && segments.length > nameAt + 2;
    const [plural = '', name, subresource] = segments.slice(inNamespace ? nameAt + 2 : nameAt);
    const prefix = `${segments.slice(0, nameAt).join('/')} ${inNamespace ? segments[nameAt + 1] : ''} ${plural}`;
    const body = answer.body;
    const named = name ?? (isStored(body) ? body.metadata.name : '');
    const key = `${prefix} ${named}`;
    const type = (step.headers?.['content-type'] ?? 'application/json').split(';')[0]!;
    // A scale shows little of its object: what that is now is not known until it is shown again.
    if (subresource === 'scale') {
      if (step.method !== 'GET' && !step.path.includes('dryRun')) hidden.add(key);
      continue;
    }
    if (hidden.has(key) && isStored(body) && body.metadata.name === named && 'uid' in body.metadata) {
      hidden.delete(key);
      objects.set(key, body);
      continue;
    }
    if (['POST', 'PUT', 'PATCH'].includes(step.method) && !hidden.has(key))
      yield {
        where: `${scenario.name} ${at} ${step.method} ${step.path} ${step.note ?? ''}`,
        step,
        type,
        query: url.searchParams,
        subresource,
        live: objects.get(key),
        status: answer.status,
        answer: body,
      };
    if (isStored(body) && !step.path.includes('dryRun') && answer.status < 300 && 'uid' in body.metadata)
      objects.set(key, body);
    else if (step.method !== 'GET' && answer.status < 300) objects.delete(key);
  }
}

/** Placeholders of the recorder in the request, as they stand in the answers. */
function filled(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value).replaceAll('{RUN}', '<run>'));
}

/** Everything that `part` says stands in `whole`, lists item by item. */
function missing(part: unknown, whole: unknown, path = ''): string[] {
  if (isMap(part) && (isMap(whole) || whole === undefined))
    return Object.keys(part).flatMap((name) => missing(part[name], whole?.[name], `${path}.${name}`));
  if (Array.isArray(part) && (Array.isArray(whole) || whole === undefined)) {
    if (part.length !== (whole?.length ?? 0)) return [`${path}: ${part.length} items, not ${whole?.length}`];
    return part.flatMap((item, at) => missing(item, (whole as unknown[])[at], `${path}[${at}]`));
  }
  // What the recorder put in the place of times and addresses.
  if (typeof whole === 'string' && /^<.*>$/.test(whole)) return [];
  if (equalJson(part ?? undefined, whole ?? undefined) || (whole === undefined && (part === '' || part === null)))
    return [];
  return [`${path}: ${JSON.stringify(part)}, not ${JSON.stringify(whole)}`];
}

const patches: Readonly<Record<string, (object: unknown, patch: unknown, kind: Stored) => unknown>> = {
  'application/json-patch+json': applyJsonPatch,
  'application/merge-patch+json': applyMergePatch,
  'application/strategic-merge-patch+json': (object, patch, kind) =>
    applyStrategicPatch(object, patch, schemaOf(kind.apiVersion, kind.kind)!),
};

/** What the server decides beside the patch. */
function withoutServerOwned(object: Stored): JsonMap {
  const { resourceVersion: _, generation: _g, managedFields: _m, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Where the server does more to the result than patch it: conversion, unknown fields, resource versions, owners named twice. */
const beyondPatching: readonly RegExp[] = [
  /^semantics-conversion-autoscaling 9 /,
  /\.(bogus|nope)(\.a)?: \d, not undefined$/,
  /^semantics-mergepatch-failures 16 /,
  /^semantics-owner-references 15 /,
  /^semantics-smp-service-and-status 13 /,
  /metadata\.selfLink/,
];

test('recorded patches give what upstream stored, or are refused where upstream refused them', () => {
  const wrong: string[] = [];
  let count = 0;
  for (const scenario of scenarios())
    for (const write of writesOf(scenario)) {
      const { live, step, status } = write;
      const patch = patches[write.type];
      // The kinds' own scenarios are about what strategies do to the result of a patch.
      if (!/^semantics|strategic/.test(scenario.name)) continue;
      if (patch === undefined || live === undefined || step.body === undefined || write.query.has('dryRun')) continue;
      if (schemaOf(live.apiVersion, live.kind) === undefined) continue;
      const text = JSON.stringify(step.body);
      if (/\{[A-Z][A-Z0-9]*\}/.test(text.replaceAll('{RUN}', ''))) continue;
      count++;
      try {
        const result = patch(live, filled(step.body), live) as Stored;
        if (status < 300 && isStored(write.answer) && write.subresource === undefined)
          for (const problem of missing(withoutServerOwned(result), write.answer))
            wrong.push(`${write.where}: ${problem}`);
        if (status === 500 && write.subresource === undefined) wrong.push(`${write.where}: accepted`);
      } catch (error) {
        assert.ok(isStatusError(error), `${write.where}: ${String(error)}`);
        if (status < 300) wrong.push(`${write.where}: ${error.message}`);
      }
    }
  assert.ok(count > 100, `only ${count} patches`);
  assert.deepEqual(
    wrong.filter((line) => !beyondPatching.some((pattern) => pattern.test(line))),
    [],
  );
});

/** Order and times depend on when upstream was asked; the rest must be equal. */
function comparable(entries: readonly Entry[] | undefined): Map<string, string> {
  return new Map(
    (entries ?? []).map((entry) => {
      const { fieldsV1, time, manager, operation, subresource, apiVersion } = entry;
      const who = [manager, operation, subresource ?? '', apiVersion].join(' ');
      return [who, `${time === undefined ? 'no time' : 'time'} ${JSON.stringify(sorted(fieldsV1))}`];
    }),
  );
}

/** The recorder sorts keys, and puts placeholders for uids into values only. */
function sorted(value: unknown): unknown {
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name.replace(/"uid":"[^"]*"/, '"uid":"…"'), sorted(value[name])]),
  );
}

function sameEntries(
  where: string,
  mine: readonly Entry[] | undefined,
  theirs: readonly Entry[] | undefined,
): string[] {
  const left = comparable(mine);
  const right = comparable(theirs);
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((who) => left.get(who) !== right.get(who))
    .map((who) => `${where}\n  ${who}\n   mine   ${left.get(who)}\n   theirs ${right.get(who)}`);
}

test('recorded writes leave the managedFields that upstream left', () => {
  const wrong: string[] = [];
  let count = 0;
  for (const scenario of scenarios())
    for (const write of writesOf(scenario)) {
      const found = checkManagedFields(write);
      if (found === undefined) continue;
      count++;
      wrong.push(...found);
    }
  assert.ok(count > 300, `only ${count} writes`);
  if (wrong.length > 0) assert.fail(wrong.join('\n'));
});

/** Kinds whose strategies, admission or allocators add to a new object after ownership is settled: the answer does not tell. */
const completedAfterwards: ReadonlySet<string> = new Set([
  'CSINode',
  'Job',
  'Lease',
  'Namespace',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Pod',
  'Role',
  'Service',
  'TokenRequest',
]);

/** Writes after which the answer differs from what ownership was settled on; conversion is tested elsewhere. */
const changedAfterwards: readonly RegExp[] = [
  /horizontalpodautoscalers/,
  /\/services\/|\/scale$/,
  /^semantics-finalizers 14 /,
  /^semantics-deletecollection-wide 24 /,
  /^semantics-smp-service-and-status 15 /,
  /^objects-core-node 14 /,
  /^objects-core-pod-ephemeral-containers 6 /,
  /^objects-core-pod-(status|table) \d+ /,
  /^objects-core-replicaset 5 |^objects-core-statefulset 9 /,
];

function decidedAfterwards({ step, where }: Write, kind: string): boolean {
  if (step.method === 'POST') return completedAfterwards.has(kind);
  return changedAfterwards.some((pattern) => pattern.test(step.path!) || pattern.test(where));
}

function checkManagedFields(write: Write): string[] | undefined {
  const { live, step, answer, status, subresource, query } = write;
  if (status >= 300 || !isStored(answer) || query.has('dryRun')) return undefined;
  const schema = schemaOf(answer.apiVersion, answer.kind);
  if (schema === undefined || answer.metadata['uid'] === undefined) return undefined;
  const manager = managerName(query.get('fieldManager') ?? undefined, step.headers?.['user-agent']);
  const context = {
    schema,
    apiVersion: answer.apiVersion,
    nowMs: 0,
    ...(subresource !== undefined && { subresource }),
    resetFields: resetFieldsOf(answer.apiVersion, answer.kind, subresource),
  };
  if (write.type === 'application/apply-patch+yaml') {
    if (step.body === undefined) return undefined;
    try {
      const force = query.has('force') && !['false', '0'].includes(query.get('force')!);
      const result = applyConfiguration({ ...context, live, applied: filled(step.body) as object, manager, force });
      return sameEntries(
        write.where,
        result.managedFields as readonly Entry[] | undefined,
        answer.metadata.managedFields,
      );
    } catch (error) {
      assert.ok(isStatusError(error), `${write.where}: ${String(error)}`);
      return [`${write.where}: ${error.message}`];
    }
  }
  if (step.method !== 'POST' && live === undefined) return undefined;
  if (decidedAfterwards(write, answer.kind)) return undefined;
  const { managedFields: _, ...metadata } = answer.metadata;
  const managedFields = step.method === 'POST' ? undefined : sentManagedFields(write);
  const patch = patches[write.type];
  // What a subresource leaves alone is put back after ownership is settled.
  const next =
    subresource !== undefined && patch !== undefined
      ? (patch(live, filled(step.body), live!) as Stored)
      : { ...answer, metadata: { ...metadata, ...(managedFields !== undefined && { managedFields }) } };
  const mine = managedFieldsForUpdate({ ...context, live: step.method === 'POST' ? undefined : live, next, manager });
  return sameEntries(write.where, mine as readonly Entry[] | undefined, answer.metadata.managedFields);
}

/** What the write makes of managedFields before the server looks at them. */
function sentManagedFields({ type, live, step }: Write): unknown {
  const patch = patches[type];
  if (!JSON.stringify(step.body ?? null).includes('managedFields')) return live?.metadata.managedFields;
  const sent = patch === undefined || step.body === undefined ? step.body : patch(live, filled(step.body), live!);
  return (sent as Stored | undefined)?.metadata?.managedFields;
}

test('recorded conflicts are found with the same causes, and bad configurations are refused', () => {
  let conflicts = 0;
  let refused = 0;
  for (const scenario of scenarios())
    for (const { where, step, type, query, live, status, answer, subresource } of writesOf(scenario)) {
      const body = step.body === undefined ? undefined : (filled(step.body) as Stored);
      if (type !== 'application/apply-patch+yaml' || body === undefined || query.get('fieldManager') === null) continue;
      const schema = live && schemaOf(live.apiVersion, live.kind);
      const causes = (answer as { details?: { causes?: { field: string }[] } } | undefined)?.details?.causes;
      const wanted = status === 409 && causes !== undefined ? 409 : status === 500 ? 400 : undefined;
      // A resourceVersion that is no number is the server's to refuse.
      if (live === undefined || schema === undefined || wanted === undefined || body.metadata?.['resourceVersion'])
        continue;
      if (body.kind !== live.kind) continue;
      const context = {
        schema,
        apiVersion: live.apiVersion,
        nowMs: 0,
        ...(subresource !== undefined && { subresource }),
      };
      const resetFields = resetFieldsOf(live.apiVersion, live.kind, subresource);
      const apply = () =>
        applyConfiguration({
          ...context,
          resetFields,
          live,
          applied: body,
          manager: query.get('fieldManager')!,
          force: false,
        });
      assert.throws(
        apply,
        (error: unknown) => {
          assert.ok(isStatusError(error), where);
          assert.equal(error.code, wanted, `${where}: ${error.message}`);
          if (wanted === 409) {
            const fields = (list: readonly { field?: string }[] | undefined) => list?.map(({ field }) => field).sort();
            assert.deepEqual(fields(error.status.details?.causes), fields(causes), where);
            conflicts++;
          } else refused++;
          return true;
        },
        where,
      );
    }
  assert.ok(conflicts > 10 && refused > 5, `${conflicts} conflicts, ${refused} refused`);
});

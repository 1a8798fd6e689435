// Proves the laws of server-side apply, versions, the limit of updaters, and that strangers' input never breaks it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ManagedFieldsEntry } from '../generated/meta.v1.ts';
import { freeze } from '../meta.ts';
import { schemaOf } from '../schema/builtin.ts';
import { haveOneShape } from '../../testing/same-shape.ts';
import { isStatusError } from '../status-error.ts';
import { type ApplyRequest, applyConfiguration } from './apply.ts';
import { type Entries, sameButTimes } from './managed-fields.ts';
import { managedFieldsForUpdate } from './update.ts';

const deployments = { schema: schemaOf('apps/v1', 'Deployment')!, apiVersion: 'apps/v1', nowMs: 1_700_000_000_000 };
const configMaps = { schema: schemaOf('v1', 'ConfigMap')!, apiVersion: 'v1', nowMs: 1_700_000_000_000 };

type Stored = { metadata: { managedFields?: ManagedFieldsEntry[] } } & Record<string, unknown>;

function stored(request: Omit<ApplyRequest, 'force'> & { force?: boolean }): Stored {
  const { object, managedFields } = applyConfiguration({ force: false, ...request });
  const { managedFields: _, ...rest } = object['metadata'] as { managedFields?: unknown };
  const metadata = { ...rest, uid: 'u', ...(managedFields && { managedFields }) };
  return freeze({ ...object, metadata }) as Stored;
}

const text = fc.constantFrom('1', '2', '3');
const container = fc.record(
  {
    name: fc.constantFrom('a', 'b', 'c'),
    image: text,
    args: fc.array(text, { maxLength: 2 }),
    env: fc.uniqueArray(fc.record({ name: text, value: text }), { selector: ({ name }) => name, maxLength: 3 }),
  },
  { requiredKeys: ['name'] },
);
const configuration = fc
  .record(
    {
      replicas: fc.constantFrom(1, 2),
      containers: fc.uniqueArray(container, { selector: ({ name }) => name, maxLength: 3 }),
      labels: fc.dictionary(text, text),
      nodeSelector: fc.dictionary(text, text),
    },
    { requiredKeys: [] },
  )
  .map(({ labels, replicas, ...spec }) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', ...(labels && { labels }) },
    spec: { ...(replicas && { replicas }), template: { spec } },
  }));

test('applying the same twice changes nothing the second time', () => {
  fc.assert(
    fc.property(configuration, configuration, (first, second) => {
      const base = stored({ ...deployments, live: undefined, applied: first, manager: 'other' });
      const once = stored({ ...deployments, live: base, applied: second, manager: 'me', force: true });
      const again = applyConfiguration({
        ...deployments,
        live: once,
        applied: second,
        manager: 'me',
        force: false,
        nowMs: 0,
      });
      assert.equal(again.changed, false);
      assert.equal(again.object, once);
      assert.ok(
        sameButTimes(again.managedFields as Entries | undefined, once.metadata.managedFields as Entries | undefined),
      );
      assert.deepEqual(again.managedFields, once.metadata.managedFields);
    }),
  );
});

test('a lone manager gets exactly what it says, whatever it said before', () => {
  fc.assert(
    fc.property(configuration, configuration, (first, second) => {
      const base = stored({ ...deployments, live: undefined, applied: first, manager: 'me' });
      // Who owned nothing leaves nobody: what is there then counts as somebody else's from before.
      fc.pre(base.metadata.managedFields !== undefined);
      const next = stored({ ...deployments, live: base, applied: second, manager: 'me' });
      const fresh = stored({ ...deployments, live: undefined, applied: second, manager: 'me' });
      const templates = [next, fresh].map((object) => withoutEmpty(object['spec']));
      assert.deepEqual(templates[0], templates[1]);
      assert.deepEqual(
        next.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1),
        fresh.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1),
      );
    }),
  );
});

/** Without nulls and empty parts: what Go drops, and keys in order of their names. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value))
    return value.length === 0
      ? undefined
      : value.map(withoutEmpty).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value ?? undefined;
  const entries = Object.entries(value)
    .map(([name, part]) => [name, withoutEmpty(part)] as const)
    .filter(([, part]) => part !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

test('what one manager applied survives what another applies beside it', () => {
  fc.assert(
    fc.property(configuration, configuration, (first, second) => {
      const base = stored({ ...deployments, live: undefined, applied: first, manager: 'one' });
      // Of an object that nobody owns one manager holds what was there before: it may be in the way.
      fc.pre(base.metadata.managedFields !== undefined);
      const both = stored({ ...deployments, live: base, applied: second, manager: 'two', force: true });
      const gone = stored({
        ...deployments,
        live: both,
        applied: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' } },
        manager: 'two',
      });
      assert.equal(gone.metadata.managedFields?.some(({ manager }) => manager === 'two') ?? false, false);
    }),
  );
});

test('any applied body is applied or refused with a 4xx', () => {
  const base = stored({
    ...configMaps,
    live: undefined,
    applied: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: '1' } },
    manager: 'x',
  });
  const body = fc.dictionary(
    fc.constantFrom('metadata', 'data', 'binaryData', 'immutable', '__proto__', 'x'),
    fc.jsonValue({ maxDepth: 3 }),
  );
  fc.assert(
    fc.property(body, fc.boolean(), (parts, force) => {
      try {
        applyConfiguration({
          ...configMaps,
          live: base,
          applied: { ...parts, apiVersion: 'v1', kind: 'ConfigMap' },
          manager: 'me',
          force,
        });
      } catch (error) {
        assert.ok(isStatusError(error), String(error));
        assert.ok(error.code >= 400 && error.code < 500);
      }
    }),
    { numRuns: 500 },
  );
});

test('any managedFields are kept, reset or ignored, never an error', () => {
  const entry = fc.record(
    {
      manager: fc.oneof(text, fc.anything()),
      operation: fc.oneof(fc.constantFrom('Apply', 'Update'), fc.jsonValue()),
      apiVersion: fc.oneof(fc.constantFrom('v1', 'v9'), fc.jsonValue()),
      time: fc.oneof(fc.constant('2024-01-01T00:00:00Z'), fc.jsonValue()),
      fieldsType: fc.oneof(fc.constant('FieldsV1'), fc.jsonValue()),
      fieldsV1: fc.oneof(fc.constant({ 'f:data': { 'f:a': {} } }), fc.jsonValue({ maxDepth: 4 })),
      subresource: fc.oneof(fc.constant('status'), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  const live = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', uid: 'u' }, data: { a: '1' } };
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.array(entry)),
      fc.oneof(fc.jsonValue(), fc.array(entry)),
      (mine, theirs) => {
        const before = { ...live, metadata: { ...live.metadata, managedFields: theirs } };
        const next = { ...live, data: { a: '2' }, metadata: { ...live.metadata, managedFields: mine } };
        const result = managedFieldsForUpdate({ ...configMaps, live: before, next, manager: 'm' });
        JSON.stringify(result);
      },
    ),
    { numRuns: 500 },
  );
});

test('the eleventh updater makes the oldest two one', () => {
  let live: Stored = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: {} } as Stored;
  for (let at = 0; at < 14; at++) {
    const next = { ...live, metadata: { uid: 'u' }, data: { ...(live['data'] as object), [`k${at}`]: 'v' } };
    const managedFields = managedFieldsForUpdate({
      ...configMaps,
      live: at === 0 ? undefined : live,
      next,
      manager: `m${at}`,
      nowMs: at * 1000,
    });
    live = { ...next, metadata: { ...next.metadata, ...(managedFields && { managedFields }) } } as Stored;
  }
  const entries = live.metadata.managedFields!;
  assert.equal(entries.length, 10);
  assert.deepEqual(
    entries.map(({ manager }) => manager),
    ['ancient-changes', ...[5, 6, 7, 8, 9, 10, 11, 12, 13].map((at) => `m${at}`)],
  );
  assert.deepEqual(Object.keys(entries[0]!.fieldsV1!['f:data'] as object), [
    '.',
    'f:k0',
    'f:k1',
    'f:k2',
    'f:k3',
    'f:k4',
  ]);
});

test('claims in another version are compared in that version, and dropped when it is no longer served', () => {
  const schema = configMaps.schema;
  const claim = (apiVersion: string, field: string): ManagedFieldsEntry => ({
    manager: 'old',
    operation: 'Update',
    apiVersion,
    time: '2020-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { [`f:${field}`]: {}, 'f:kept': {} } },
  });
  const object = (value: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { uid: 'u', managedFields: [claim('v0', 'renamed'), { ...claim('gone', 'a'), manager: 'x' }] },
    data: { a: value, kept: '1' },
  });
  const convert = (given: unknown, apiVersion: string) => {
    if (apiVersion !== 'v0') return undefined;
    const { data } = given as { data: Record<string, string> };
    return { object: { ...(given as object), data: { renamed: data['a'], kept: data['kept'] } }, schema };
  };
  const entries = managedFieldsForUpdate({
    ...configMaps,
    live: object('1'),
    next: object('2'),
    manager: 'm',
    convert,
  })!;
  assert.deepEqual(
    entries.map(({ manager, apiVersion, fieldsV1 }) => [manager, apiVersion, fieldsV1]),
    [
      ['old', 'v0', { 'f:data': { 'f:kept': {} } }],
      ['m', 'v1', { 'f:data': { 'f:a': {} } }],
    ],
  );
});

test('what is applied counts as it was sent: null and emptiness conflict where a value is owned as a whole', () => {
  const context = { schema: schemaOf('storage.k8s.io/v1', 'CSIDriver')!, apiVersion: 'storage.k8s.io/v1', nowMs: 0 };
  const driver = (spec: object): object => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: 'd' },
    spec,
  });
  const live = stored({
    ...context,
    live: undefined,
    applied: driver({ tokenRequests: [{ audience: 'a' }], requiresRepublish: true }),
    manager: 'one',
  });
  for (const spec of [{ tokenRequests: [] }, { tokenRequests: null }, { requiresRepublish: null }])
    assert.throws(
      () => stored({ ...context, live, applied: driver(spec), manager: 'two' }),
      (error) => isStatusError(error, 'Conflict'),
      JSON.stringify(spec),
    );
  // Of lists that are merged by item nothing is taken away.
  const services = { schema: schemaOf('v1', 'Service')!, apiVersion: 'v1', nowMs: 0 };
  const service = (spec: object): object => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec });
  const base = stored({ ...services, live: undefined, applied: service({ ports: [{ port: 1 }] }), manager: 'one' });
  assert.doesNotThrow(() => stored({ ...services, live: base, applied: service({ ports: [] }), manager: 'two' }));
});

test('an item of an associative list says who it is, unless its key has a default', () => {
  const apply = (kind: string, rest: object): unknown =>
    applyConfiguration({
      schema: schemaOf('v1', kind)!,
      apiVersion: 'v1',
      nowMs: 0,
      live: undefined,
      applied: { apiVersion: 'v1', kind, metadata: { name: 'a' }, ...rest },
      manager: 'm',
      force: false,
      kind,
    });
  assert.throws(
    () => apply('ServiceAccount', { secrets: [{}] }),
    (error) => isStatusError(error, 'BadRequest'),
  );
  assert.doesNotThrow(() => apply('ServiceAccount', { imagePullSecrets: [{}] }));
  assert.doesNotThrow(() => apply('Pod', { spec: { containers: [{ image: 'i' }] } }));
  assert.throws(() => apply('Pod', { kind: 'Service' }), /invalid object type/);
});

test('what one applies and takes back leaves what others applied as it was', () => {
  const beside = fc.record({
    labels: fc.dictionary(
      text.map((name) => `two-${name}`),
      text,
    ),
    containers: fc.uniqueArray(fc.record({ name: text.map((name) => `two-${name}`), image: text }), {
      selector: ({ name }) => name,
      maxLength: 2,
    }),
  });
  fc.assert(
    fc.property(configuration, beside, (first, { labels, ...spec }) => {
      const identity = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' } };
      const base = stored({ ...deployments, live: undefined, applied: first, manager: 'one' });
      // Who applies an empty map or list owns the whole of it, which another manager's fields within it conflict with.
      fc.pre(base.metadata.managedFields !== undefined && !/:(\{\}|\[\])/.test(JSON.stringify([first, labels, spec])));
      const added = { ...identity, metadata: { name: 'd', labels }, spec: { template: { spec } } };
      const both = stored({ ...deployments, live: base, applied: added, manager: 'two' });
      const back = stored({ ...deployments, live: both, applied: identity, manager: 'two' });
      const shown = (object: Stored): unknown => {
        const { managedFields: _, ...metadata } = object.metadata;
        return withoutEmpty({ ...object, metadata });
      };
      assert.deepEqual(shown(back), shown(base));
      assert.deepEqual(
        back.metadata.managedFields?.map(({ manager, fieldsV1 }) => [manager, fieldsV1]),
        base.metadata.managedFields?.map(({ manager, fieldsV1 }) => [manager, fieldsV1]),
      );
    }),
    { numRuns: 300 },
  );
});

test('an object whose stored lists have items without keys is not applied to, and the client is told which', () => {
  const accounts = { schema: schemaOf('v1', 'ServiceAccount')!, apiVersion: 'v1', nowMs: 1_700_000_000_000 };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'a', namespace: 'n' } };
  const live = { ...account, secrets: [{ name: 'x' }, {}] };
  assert.throws(
    () =>
      stored({
        ...accounts,
        live,
        applied: { ...account, secrets: [{ name: 'x' }] },
        manager: 'm',
        kind: account.kind,
      }),
    (error) => {
      assert.ok(isStatusError(error));
      assert.equal(error.status.code, 400);
      assert.match(error.message, /\(n\/a; v1, Kind=ServiceAccount\) to smd typed: \.secrets: element 1: /);
      return true;
    },
  );
});

test('entries of managedFields have one shape: every stored object has some', () => {
  const entries = ['a', 'b', 'c'].map((name) => {
    const [entry] = managedFieldsForUpdate({
      ...configMaps,
      live: undefined,
      next: { metadata: { name }, data: { [name]: '1' } },
      manager: 'm',
    })!;
    return entry!;
  });
  assert.ok(haveOneShape(entries));
});

// Proves that custom objects keep whole numbers of 64 bits through every verb and form, and that those make nobody stumble.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { decodeCbor, encodeCbor } from '../../api/codec/cbor.ts';
import { parseExact } from '../../api/codec/json-parse.ts';
import { writeJson } from '../../api/codec/json-write.ts';
import { parseYaml } from '../../api/codec/yaml.ts';
import { writeYaml } from '../../api/codec/yaml-write.ts';
import { ask } from '../http/ask.suite.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const path = '/apis/example.com/v1/nums';
const int = { type: 'integer' };

const definition = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "nums.example.com"},
  "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "nums", "kind": "Num"}, "versions": [{
    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
    "additionalPrinterColumns": [
      {"name": "I", "type": "integer", "jsonPath": ".spec.i"}, {"name": "L", "type": "string", "jsonPath": ".spec.list"}],
    "selectableFields": [{"jsonPath": ".spec.i"}],
    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
      "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
      "spec": {"type": "object", "properties": {
        "i": {"type": "integer"}, "short": {"type": "integer", "format": "int32"}, "n": {"type": "number"},
        "either": {"x-kubernetes-int-or-string": true}, "three": {"type": "integer", "multipleOf": 3},
        "most": {"type": "integer", "maximum": 9007199254740991}, "one": {"type": "integer", "enum": [9007199254740993]},
        "given": {"type": "integer", "default": 9223372036854775806},
        "list": {"type": "array", "items": {"type": "integer"}},
        "set": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
          "items": {"type": "object", "required": ["id"], "properties": {"id": ${JSON.stringify(int)}, "v": ${JSON.stringify(int)}}}},
        "free": {"x-kubernetes-preserve-unknown-fields": true},
        "rule": {"type": "integer", "x-kubernetes-validations": [{"rule": "self + 1 == 9007199254740994"}]}
      }}}}}}]}}`;

let running: TestServer;

const call = (method: string, at: string, body?: string, type = 'application/json', accept = 'application/json') =>
  ask(running.port, {
    method,
    path: at,
    headers: { accept, ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { body }),
  });

const num = (spec: string, name = 'a'): string =>
  `{"apiVersion":"example.com/v1","kind":"Num","metadata":{"name":"${name}"},"spec":{${spec}}}`;

before(async () => {
  running = await startTestServer();
  assert.equal((await call('POST', definitions, definition)).status, 201);
  const first = num('"i":9223372036854775806,"list":[9007199254740993],"free":{"a":1152921504606846976}');
  let made = await call('POST', path, first);
  // Definitions are taken up by a loop.
  for (let tries = 0; made.status === 404 && tries < 1000; tries++) {
    await new Promise((resolve) => setImmediate(resolve));
    made = await call('POST', path, first);
  }
  assert.equal(made.status, 201, made.text);
});

after(() => running.stop());

test('every read shows every digit', async () => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const reads: readonly (readonly [at: string, accept: string, digits: readonly string[]])[] = [
    [`${path}/a`, 'application/json', ['"i":9223372036854775806', '"given":9223372036854775806', '[9007199254740993]']],
    [`${path}/a?pretty=true`, 'application/json', ['"a": 1152921504606846976']],
    [`${path}/a`, 'application/yaml', ['i: 9223372036854775806\n', 'a: 1152921504606846976\n', '- 9007199254740993\n']],
    [path, 'application/json', ['"i":9223372036854775806']],
    [`${path}?watch=true&resourceVersion=0&timeoutSeconds=1`, 'application/json', ['"i":9223372036854775806']],
    [path, table, ['9223372036854775806,"[9007199254740993]"']],
    [`${path}?fieldSelector=spec.i%3D9223372036854775806`, 'application/json', ['"name":"a"']],
    [
      `${definitions}/nums.example.com`,
      'application/json',
      ['"default":9223372036854775806', '"enum":[9007199254740993]'],
    ],
    ['/openapi/v3/apis/example.com/v1', 'application/json', ['"default":9223372036854775806']],
  ];
  for (const [at, accept, digits] of reads) {
    const { status, text } = await call('GET', at, undefined, undefined, accept);
    assert.equal(status, 200, `${at}: ${text.slice(0, 300)}`);
    for (const wanted of digits)
      assert.ok(text.includes(wanted), `${at} ${accept}: ${wanted} in ${text.slice(0, 900)}`);
  }
  const none = await call('GET', `${path}?fieldSelector=spec.i%3D9223372036854775807`);
  assert.match(none.text, /"items":\[\]/);
});

test('schemas judge them', async () => {
  const table: readonly (readonly [spec: string, code: number])[] = [
    ['"i":9223372036854775807', 201],
    ['"i":9223372036854775808', 422],
    ['"i":1e18', 422],
    ['"short":9007199254740993', 422],
    ['"n":9007199254740993', 201],
    ['"either":9007199254740993', 201],
    ['"three":9007199254740993', 201],
    ['"three":9223372036854775807', 422],
    ['"three":2147483648', 422],
    ['"most":9007199254740993', 422],
    ['"one":9007199254740993', 201],
    ['"one":9007199254740992', 422],
    ['"set":[9007199254740993,9007199254740992]', 201],
    ['"set":[9007199254740993,9007199254740993]', 422],
    ['"map":[{"id":9007199254740993},{"id":9007199254740992}]', 201],
    ['"map":[{"id":9007199254740993},{"id":9007199254740993}]', 422],
    ['"rule":9007199254740993', 201],
    ['"rule":9007199254740992', 422],
  ];
  for (const [spec, code] of table) {
    const { status, text } = await call('POST', `${path}?dryRun=All`, num(spec, 'b'));
    assert.equal(status, code, `${spec}: ${text.slice(0, 400)}`);
  }
});

test('patches of every type keep them, and tests compare them', async () => {
  const operations = (value: string) =>
    `[{"op":"test","path":"/spec/i","value":${value}},{"op":"copy","from":"/spec/i","path":"/spec/n"}]`;
  const patches: readonly (readonly [type: string, body: string, code: number, wanted: string])[] = [
    ['application/merge-patch+json', '{"spec":{"free":9007199254740993}}', 200, '"free":9007199254740993'],
    ['application/json-patch+json', operations('9223372036854775806'), 200, '"n":9223372036854775806'],
    ['application/json-patch+json', operations('9223372036854775807'), 422, 'test'],
    ['application/json-patch+json', operations('9.223372036854775806e18'), 422, 'test'],
    [
      'application/json-patch+json',
      '[{"op":"add","path":"/spec/n","value":1.0},{"op":"test","path":"/spec/n","value":1.0}]',
      200,
      '"n":1',
    ],
    [
      'application/json-patch+json',
      '[{"op":"add","path":"/spec/n","value":1},{"op":"test","path":"/spec/n","value":1.0}]',
      422,
      'test',
    ],
    [
      'application/json-patch+json',
      '[{"op":"add","path":"/spec/free","value":1.5},{"op":"add","path":"/spec/free/text","value":1}]',
      422,
      '',
    ],
    [
      'application/apply-patch+yaml',
      num('"set":[9007199254740993],"map":[{"id":9007199254740993,"v":1}]'),
      200,
      'v:9007199254740993',
    ],
    [
      'application/apply-patch+yaml',
      num('"set":[9007199254740993],"map":[{"id":9007199254740993,"v":1}]'),
      200,
      '{\\"id\\":9007199254740993}',
    ],
  ];
  for (const [type, body, code, wanted] of patches) {
    const { status, text } = await call('PATCH', `${path}/a?fieldManager=me`, body, type);
    assert.equal(status, code, `${type} ${body}: ${text.slice(0, 400)}`);
    assert.ok(text.includes(wanted), `${wanted} in ${text.slice(0, 1200)}`);
  }
  const other = num('"map":[{"id":9007199254740993,"v":2}]');
  assert.equal(
    (await call('PATCH', `${path}/a?fieldManager=other`, other, 'application/apply-patch+yaml')).status,
    409,
  );
});

test('mutating policies that ask for a second round read and write them', async () => {
  const policies = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
  const bindings = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings';
  const rule = { apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['nums'], operations: ['CREATE'] };
  const jsonPatch = {
    expression: '[JSONPatch{op: "add", path: "/spec/n", value: object.spec.i + 1}]',
  };
  const made = [
    await call(
      'POST',
      policies,
      JSON.stringify({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingAdmissionPolicy',
        metadata: { name: 'next' },
        spec: {
          reinvocationPolicy: 'IfNeeded',
          failurePolicy: 'Fail',
          matchConstraints: { resourceRules: [rule] },
          matchConditions: [{ name: 'next', expression: 'object.metadata.name.startsWith("next")' }],
          mutations: [{ patchType: 'JSONPatch', jsonPatch }],
        },
      }),
    ),
    await call(
      'POST',
      bindings,
      JSON.stringify({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingAdmissionPolicyBinding',
        metadata: { name: 'next' },
        spec: { policyName: 'next' },
      }),
    ),
  ];
  for (const { status, text } of made) assert.equal(status, 201, text);
  let answer = await call('POST', `${path}?dryRun=All`, num('"i":9223372036854775806', 'next'));
  // Policies are taken up by a loop.
  for (let tries = 0; !answer.text.includes('"n"') && answer.status < 400 && tries < 1000; tries++) {
    await new Promise((resolve) => setImmediate(resolve));
    answer = await call('POST', `${path}?dryRun=All`, num('"i":9223372036854775806', 'next'));
  }
  assert.equal(answer.status, 201, answer.text);
  assert.ok(answer.text.includes('"n":9223372036854775807'), answer.text);
});

const whole = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => parseExact(String(value))),
  fc.constantFrom(0, 1, 1.5, -2.25, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, whole, fc.string(), fc.boolean(), fc.constant(null), tie('list'), tie('map')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  map: fc.dictionary(fc.string({ minLength: 1 }), tie('value'), { maxKeys: 4 }),
}));

test('JSON, YAML and CBOR give back what they were given', () => {
  fc.assert(
    fc.property(json.map, (value) => {
      assert.deepEqual(parseExact(writeJson(value)), parseExact(writeJson(value, 2)));
      assert.deepEqual(decodeCbor(encodeCbor(value)), parseExact(writeJson(value)));
      assert.deepEqual(parseYaml(writeYaml(value)).value, parseExact(writeJson(value)));
    }),
  );
});

test("wherever they stand, no answer is the server's fault", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.constantFrom('i', 'short', 'n', 'either', 'three', 'one', 'list', 'set', 'map', 'free', 'rule'),
        json.value,
      ),
      fc.constantFrom('POST', 'merge', 'json', 'apply'),
      async (spec, how) => {
        const body = writeJson({ apiVersion: 'example.com/v1', kind: 'Num', metadata: { name: 'a' }, spec });
        const { status, text } =
          how === 'POST'
            ? await call('POST', `${path}?dryRun=All`, body.replace('"name":"a"', '"name":"z"'))
            : how === 'merge'
              ? await call('PATCH', `${path}/a?dryRun=All`, body, 'application/merge-patch+json')
              : how === 'json'
                ? await call(
                    'PATCH',
                    `${path}/a?dryRun=All`,
                    writeJson([{ op: 'replace', path: '/spec', value: spec }]),
                    'application/json-patch+json',
                  )
                : await call(
                    'PATCH',
                    `${path}/a?dryRun=All&force=true&fieldManager=f`,
                    body,
                    'application/apply-patch+yaml',
                  );
        assert.ok(status < 500, `${how} ${body}: ${status} ${text.slice(0, 300)}`);
      },
    ),
    { numRuns: 150 },
  );
});

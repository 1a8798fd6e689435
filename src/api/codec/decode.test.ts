// Proves decoding of strangers' bytes: refusals, unknown and duplicate fields, canonical forms, zero values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { schemaOf } from '../schema/builtin.ts';
import { applyStaticDefaults } from '../schema/static-defaults.ts';
import { isStatusError } from '../status-error.ts';
import { type Decoded, decodeParsed, strictError, typeMetaOf } from './decode.ts';
import { encodeText } from './encode.ts';
import { parseJson, plainValue } from './json-parse.ts';

const pod = schemaOf('v1', 'Pod')!;
const decode = (text: string, schema = pod): Decoded => decodeParsed(schema, parseJson(text), 'Pod', 'v1');
const spec = (text: string): unknown => decode(`{"spec":${text}}`).object['spec'];

test('zero values are dropped or filled in, fields ordered, forms canonical', () => {
  const text = encodeText(
    pod,
    decode(
      '{"spec":{"hostNetwork":false,"containers":[{"image":"i","name":"c","resources":{"limits":{"memory":"1.5Gi","cpu":0.5}}}],"priority":0},"metadata":{"name":"p","labels":{}},"kind":"Pod","apiVersion":"v1"}',
    ).object,
  );
  assert.equal(
    text,
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"500m","memory":"1536Mi"}}}],"priority":0},"status":{}}',
  );
});

test('types are checked as Go does', () => {
  const refused: [string, RegExp][] = [
    ['{"spec":{"containers":"x"}}', /cannot unmarshal string into Go struct field spec\.containers/],
    ['{"spec":{"priority":2.0}}', /cannot unmarshal number 2\.0 into Go struct field spec\.priority of type int32/],
    ['{"spec":{"priority":1e1}}', /number 1e1/],
    ['{"spec":{"priority":3000000000}}', /number 3000000000/],
    ['{"spec":{"priority":"1"}}', /string into/],
    ['{"spec":{"hostNetwork":"true"}}', /of type bool/],
    ['{"metadata":{"labels":{"a":1}}}', /metadata\.labels\.a of type string/],
    ['{"metadata":{"creationTimestamp":"yesterday"}}', /parsing time/],
    ['{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}', /quantities must match/],
    ['[]', /json/],
    ['{', /json parse error/],
    ['{} {}', /json parse error/],
    ['', /json parse error/],
    [`${'['.repeat(10001)}${']'.repeat(10001)}`, /max depth/],
    [`{"a":${'{"a":'.repeat(10001)}1${'}'.repeat(10002)}`, /max depth/],
  ];
  for (const [text, message] of refused)
    assert.throws(
      () => decode(text),
      (error) => isStatusError(error, 'BadRequest') && error.code === 400 && message.test(error.message),
      text.slice(0, 80),
    );
});

test('nulls, int-or-string, large integers', () => {
  assert.deepEqual(spec('{"containers":[null],"nodeSelector":null,"priority":null}'), {
    containers: [{ name: '', resources: {} }],
  });
  const service = schemaOf('v1', 'Service')!;
  const port = (text: string): unknown =>
    (decode(`{"spec":{"ports":[{"port":1,"targetPort":${text}}]}}`, service).object['spec'] as { ports: unknown[] })
      .ports[0];
  assert.deepEqual(port('"http"'), { port: 1, targetPort: 'http' });
  assert.deepEqual(port('80'), { port: 1, targetPort: 80 });
  assert.deepEqual(port('null'), { port: 1, targetPort: 0 });
  assert.deepEqual(spec('{"containers":[],"activeDeadlineSeconds":9223372036854775807}'), {
    containers: [],
    activeDeadlineSeconds: 2 ** 63 - 1024,
  });
});

test('unknown and duplicate fields are told with their paths; nobody looks for doubles in what is unknown', () => {
  const decoded = decode(
    '{"spec":{"foo":1,"containers":[{"name":"a","name":"b","Image":"x"}],"foo":{"q":1,"q":2}},"__proto__":{"x":1}}',
  );
  assert.deepEqual(decoded.strict, [
    'unknown field "spec.foo"',
    'duplicate field "spec.containers[0].name"',
    'unknown field "spec.containers[0].Image"',
    'unknown field "__proto__"',
  ]);
  assert.equal(({} as { x?: number }).x, undefined);
  assert.match(
    strictError(decoded, 'Pod', 'v1')!.message,
    /strict decoding error: unknown field "spec.foo", duplicate field "spec.containers\[0\].name", /,
  );
  assert.equal(strictError(decode('{}'), 'Pod', 'v1'), undefined);
});

test('halves of surrogate pairs become U+FFFD', () => {
  const read = parseJson('{"a":"\\ud800x","b":"\\ud83d\\ude00","c":"\\udc00"}').value;
  assert.deepEqual(read, { a: '\ufffdx', b: '😀', c: '\ufffd' });
});

test('prototype keys are data', () => {
  const decoded = decode('{"data":{"__proto__":"a","constructor":"b"}}', schemaOf('v1', 'ConfigMap')!);
  assert.equal(JSON.stringify(decoded.object['data']), '{"__proto__":"a","constructor":"b"}');
});

test('what a body says of itself', () => {
  assert.deepEqual(typeMetaOf(parseJson('{"apiVersion":"v1","kind":"Pod"}')), { apiVersion: 'v1', kind: 'Pod' });
  assert.deepEqual(typeMetaOf(parseJson('null')), { apiVersion: '', kind: '' });
  for (const bad of ['1', '[]', '{"kind":1}']) assert.throws(() => typeMetaOf(parseJson(bad)), /json/);
});

test('static defaults', () => {
  const { object } = decode(
    '{"spec":{"containers":[{"name":"c","ports":[{"containerPort":80},{"containerPort":81,"protocol":"UDP"}]}]}}',
  );
  applyStaticDefaults(pod, object);
  const { ports } = (object['spec'] as { containers: { ports: unknown }[] }).containers[0]!;
  assert.deepEqual(ports, [
    { containerPort: 80, protocol: 'TCP' },
    { containerPort: 81, protocol: 'UDP' },
  ]);
});

test('any bytes decode or are refused with 400', () => {
  const check = (input: string | Uint8Array): void => {
    try {
      decodeParsed(pod, parseJson(input), 'Pod', 'v1');
    } catch (error) {
      assert.ok(isStatusError(error, 'BadRequest'), String(error));
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 50 }), check));
  fc.assert(fc.property(fc.json(), check));
  const key = fc.constantFrom('spec', 'containers', 'metadata', 'name', 'labels', 'ports', '__proto__', 'status');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom('x', 1, 2.5, -0, 1e300, null, true, ''),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(fc.property(value, (one) => check(JSON.stringify(one))));
});

/** Whole numbers of 64 bits beyond 2^53 are read as bigints. */
const asRead = (value: unknown): unknown =>
  typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 2 ** 63
    ? BigInt(String(value))
    : value;

test('the careful parser agrees with JSON.parse', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      // A second look at numbers is forced by the odd one in front.
      const parsed = parseJson(`[1.5,${text}]`);
      assert.deepEqual(
        plainValue(parsed),
        JSON.parse(`[1.5,${text}]`, (_, value) => asRead(value)),
      );
      assert.deepEqual(parsed.problems, []);
    }),
  );
});

// Owns the table of what reads strangers' text and bytes without a server: how each is called and what it may throw.
import { X509Certificate } from 'node:crypto';
import { parseFields } from '../../../src/api/apply/fields.ts';
import { CelSyntaxError } from '../../../src/api/cel/ast.ts';
import { environment } from '../../../src/api/cel/environment.ts';
import { CelBudgetExceeded } from '../../../src/api/cel/evaluate.ts';
import { dyn } from '../../../src/api/cel/types.ts';
import { CelError, fromJson } from '../../../src/api/cel/values.ts';
import { decodeBody } from '../../../src/api/codec/media.ts';
import { FieldSelectorError, parseFieldSelector } from '../../../src/api/field-selector.ts';
import { qualifiedName, wildcardDnsSubdomain } from '../../../src/api/names.ts';
import { applyJsonPatch } from '../../../src/api/patch/json-patch.ts';
import { applyMergePatch } from '../../../src/api/patch/merge-patch.ts';
import { applyStrategicPatch } from '../../../src/api/patch/strategic-patch.ts';
import { formatQuantity, parseQuantity, QuantityError } from '../../../src/api/quantity.ts';
import { schemaOf } from '../../../src/api/schema/builtin.ts';
import { parseSelectorText, SelectorError, selectorText } from '../../../src/api/selector.ts';
import { StatusError } from '../../../src/api/status-error.ts';
import { parseDuration, parseInstant, parseMicroTime } from '../../../src/api/time.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { createAuthority, createRequest, InvalidRequest, newPrivateKey, parseRequest } from '../../../src/base/x509.ts';
import { parseSchedule } from '../../../src/controllers/cronjob/schedule.ts';
import { attributesOf } from '../../../src/server/authn/client-certificate.ts';
import { parseToken } from '../../../src/server/authn/jwt.ts';
import { JsonPathError, jsonPath } from '../../../src/server/custom/json-path.ts';
import { isPattern, textMatcher } from '../../../src/server/custom/patterns.ts';
import { decodeContinue } from '../../../src/server/verbs/continue.ts';
import {
  answersQuestion,
  DnsFormatError,
  encodeAnswer,
  encodeQuery,
  inspectAnswer,
  parseQuery,
} from '../../../src/wire/dns-message.ts';
import { RangeRequest, TxnRequest, WatchRequest } from '../../../src/wire/generated/etcd-rpc.ts';
import { frameOf, GrpcFrames } from '../../../src/wire/grpc-frames.ts';
import { GrpcError } from '../../../src/wire/grpc-service.ts';
import { ProtobufError } from '../../../src/wire/protobuf.ts';
import {
  cborExamples,
  celExamples,
  fieldSelectorExamples,
  jsonExamples,
  jsonPathExamples,
  labelSelectorExamples,
  patchExamples,
  patternExamples,
  pod,
  protobufExamples,
  yamlExamples,
} from './examples.ts';

export interface Reader {
  readonly name: string;
  readonly good: readonly (Buffer | string)[];
  /** The errors with which it refuses; any other is a defect. */
  readonly refuses: readonly (abstract new (
    ...args: never[]
  ) => Error)[];
  read(input: Buffer): unknown;
}

function ofText(
  name: string,
  good: readonly string[],
  refuses: Reader['refuses'],
  read: (text: string) => unknown,
): Reader {
  return { name, good, refuses, read: (input) => read(input.toString()) };
}

function body(name: string, mediaType: string, good: readonly (Buffer | string)[]): Reader {
  return { name, good, refuses: [StatusError], read: (input) => decodeBody(input, mediaType) };
}

const podSchema = schemaOf('v1', 'Pod')!;

/** A patch as the server applies it: parsed, then on an object. */
function patch(name: string, type: string, apply: (parsed: unknown) => unknown): Reader {
  const good = patchExamples.flatMap(([of, text]) => (of === type ? [text] : []));
  return ofText(name, good, [StatusError, SyntaxError], (text) => apply(JSON.parse(text)));
}

const cel = environment({ variables: { self: dyn, oldSelf: dyn } });
const self = fromJson({ a: 1, s: 'text', list: ['x', 'y'] });

const object = { spec: { a: [{ k: 'x', v: 1 }], b: { c: [1, 2, 3] } }, a: [{ b: [{ x: 1, y: 2 }] }] };

const key = newPrivateKey();
const certificateRequest = createRequest(
  key,
  { commonName: 'a', organizations: ['b'] },
  { dnsNames: ['c'], ipAddresses: ['::1'] },
);
const certificate = createAuthority('ca', 0, 2e12, seededRandom(1)).certificatePem;

const pemBytes = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
const asRequest = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;

const question = { name: 'web.default.svc.cluster.local', type: 1, class: 1 };
const query = encodeQuery(7, question, { dnssecOk: true });
const answer = encodeAnswer(
  parseQuery(query),
  {
    code: 'NOERROR',
    authoritative: true,
    answers: [
      { name: question.name, ttl: 5, type: 'A', address: '10.96.0.1' },
      { name: question.name, ttl: 5, type: 'SRV', priority: 0, weight: 1, port: 80, target: 'a.b' },
    ],
  },
  1232,
);

const header = Buffer.from('{"alg":"ES256","kid":"a"}').toString('base64url');
const claims = Buffer.from('{"iss":"https://a","exp":9999999999,"sub":"x"}').toString('base64url');

export const readers: readonly Reader[] = [
  body('JSON', 'application/json', jsonExamples),
  body('YAML', 'application/yaml', yamlExamples),
  body('protobuf', 'application/vnd.kubernetes.protobuf', protobufExamples),
  body('CBOR', 'application/cbor', cborExamples),
  patch('JSON patch', 'application/json-patch+json', (parsed) => applyJsonPatch(pod, parsed)),
  patch('merge patch', 'application/merge-patch+json', (parsed) => applyMergePatch(pod, parsed)),
  patch('strategic merge patch', 'application/strategic-merge-patch+json', (parsed) =>
    applyStrategicPatch(pod, parsed, podSchema),
  ),
  ofText(
    'fields of managers',
    ['{"f:metadata":{".":{},"f:x":{}},"f:l":{"k:{\\"a\\":1}":{},"v:5":{},"i:0":{}}}'],
    [SyntaxError],
    (text) => parseFields(JSON.parse(text)),
  ),
  ofText('label selector', labelSelectorExamples, [SelectorError], (text) => {
    const selector = parseSelectorText(text);
    // What was read can be written, and reads the same.
    if (selectorText(parseSelectorText(selectorText(selector))) !== selectorText(selector))
      throw new Error('reads otherwise');
  }),
  ofText('field selector', fieldSelectorExamples, [FieldSelectorError], parseFieldSelector),
  ofText('quantity', ['1Gi', '-1.5e3', '100m', '+0.000001n', '12345678901234567890E'], [QuantityError], (text) =>
    formatQuantity(parseQuantity(text)),
  ),
  ofText('duration', ['1h2m3.5s', '-1us', '100ms'], [], parseDuration),
  ofText('time', ['2026-01-01T00:00:00.000001Z', '2026-12-31T23:59:60+14:00'], [], (text) => [
    parseInstant(text),
    parseMicroTime(text),
  ]),
  ofText('schedule', ['*/5 1-3 * jan,2 0', '@every 1h', '@daily', '0 0 30 2 *'], [Error], (text) =>
    parseSchedule(text).next(0),
  ),
  ofText('names', ['a.b/c-d', '*.a.b'], [], (text) => [qualifiedName(text), wildcardDnsSubdomain(text)]),
  ofText(
    'continue token',
    [Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"a\\u0000"}').toString('base64url')],
    [StatusError],
    decodeContinue,
  ),
  ofText('token', [`${header}.${claims}.AAAA`], [], parseToken),
  ofText('CEL', celExamples, [CelSyntaxError, CelError, CelBudgetExceeded], (text) =>
    cel.compile(text).evaluate((name) => (name === 'self' ? self : undefined), 10_000_000),
  ),
  ofText('JSONPath', jsonPathExamples, [JsonPathError], (text) => jsonPath(text)(object)),
  ofText(
    'pattern',
    patternExamples,
    [],
    (text) => isPattern(text) && textMatcher(text)('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.repeat(50)),
  ),
  {
    name: 'certificate request',
    good: [pemBytes(certificateRequest)],
    refuses: [InvalidRequest],
    read: (input) => parseRequest(asRequest(input)),
  },
  ofText('certificate request as PEM', [certificateRequest], [InvalidRequest], parseRequest),
  {
    name: 'certificate',
    good: [pemBytes(certificate)],
    // Node says with plain errors that it cannot read one; what it reads must not break us.
    refuses: [Error],
    read: (input) => attributesOf(new X509Certificate(input).subject ?? '', 'O'),
  },
  { name: 'DNS query', good: [query], refuses: [DnsFormatError], read: parseQuery },
  {
    name: 'DNS answer',
    good: [answer],
    refuses: [DnsFormatError],
    read: (input) => [inspectAnswer(input), answersQuestion(input, 7, question)],
  },
  {
    name: 'gRPC frames',
    good: [Buffer.concat([frameOf(Buffer.from('abc')), frameOf(Buffer.alloc(0)), frameOf(Buffer.alloc(300))])],
    refuses: [GrpcError],
    read: (input) => {
      const frames = new GrpcFrames(1024 * 1024);
      for (let at = 0; at < input.length; at += 7) frames.push(input.subarray(at, at + 7));
    },
  },
  {
    name: 'etcd range',
    good: [
      Buffer.from(RangeRequest.encode({ key: Buffer.from('/registry/a'), rangeEnd: Buffer.from('/b'), revision: 7 })),
    ],
    refuses: [ProtobufError],
    read: (input) => RangeRequest.decode(input),
  },
  {
    name: 'etcd transaction',
    good: [
      Buffer.from(
        TxnRequest.encode({
          compare: [{ key: Buffer.from('a') }],
          success: [{ requestPut: { key: Buffer.from('a'), value: Buffer.from('b') } }],
        }),
      ),
    ],
    refuses: [ProtobufError],
    read: (input) => TxnRequest.decode(input),
  },
  {
    name: 'etcd watch',
    good: [Buffer.from(WatchRequest.encode({ createRequest: { key: Buffer.from('a'), startRevision: 5 } }))],
    refuses: [ProtobufError],
    read: (input) => WatchRequest.decode(input),
  },
];

import assert from 'node:assert/strict';
import test from 'node:test';
import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import {
  type DnsRecord,
  DnsFormatError,
  encodeAnswer,
  encodeQuery,
  inspectAnswer,
  ipv6Bytes,
  parseQuery,
  recordTypes,
} from './dns-message.ts';

const question = { name: 'web.default.svc.cluster.local', type: recordTypes.A, class: 1 };
const query = parseQuery(encodeQuery(7, question));

test('queries read as another library writes them', () => {
  const parsed = parseQuery(
    encode({
      type: 'query',
      id: 99,
      flags: 0x100,
      questions: [{ type: 'AAAA', name: 'a.b', class: 'IN' }],
      additionals: [
        {
          type: 'OPT',
          name: '.',
          udpPayloadSize: 1400,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          flag_do: false,
          options: [],
        },
      ],
    }),
  );
  assert.deepEqual(parsed.question, { name: 'a.b', type: 28, class: 1 });
  assert.equal(parsed.id, 99);
  assert.equal(parsed.edns?.udpSize, 1400);
});

test('answers read back in another library, compressed', () => {
  const answers: DnsRecord[] = [
    ...['10.0.0.1', '10.0.0.2'].map((address) => ({ name: question.name, ttl: 30, type: 'A', address }) as const),
    { name: question.name, ttl: 5, type: 'AAAA', address: 'fd00::1' },
    { name: question.name, ttl: 5, type: 'SRV', priority: 0, weight: 1, port: 80, target: `x.${question.name}` },
    { name: question.name, ttl: 5, type: 'CNAME', target: 'default.svc.cluster.local' },
    { name: question.name, ttl: 5, type: 'TXT', text: 'hello' },
  ];
  const message = encodeAnswer(query, { code: 'NOERROR', authoritative: true, answers }, 512);
  const read = decode(message);
  assert.equal(read.id, 7);
  assert.deepEqual(
    read.answers!.map((answer) => ('data' in answer ? answer.data : undefined)),
    [
      '10.0.0.1',
      '10.0.0.2',
      'fd00::1',
      { priority: 0, weight: 1, port: 80, target: `x.${question.name}` },
      'default.svc.cluster.local',
      [Buffer.from('hello')],
    ],
  );
  assert.ok(message.length < 210, `${message.length} bytes`);
});

test('what does not fit is cut at a record and marked', () => {
  const answers = Array.from(
    { length: 100 },
    (_, at): DnsRecord => ({ name: question.name, ttl: 30, type: 'A', address: `10.0.1.${at}` }),
  );
  const message = encodeAnswer(query, { code: 'NOERROR', authoritative: true, answers }, 512);
  assert.ok(message.length <= 512);
  assert.equal(inspectAnswer(message).truncated, true);
  const read = decode(message);
  assert.ok(read.answers!.length > 20);
  assert.equal(read.additionals![0]!.type, 'OPT');
});

test('no bytes make it crash or loop', () => {
  const only = (run: () => unknown) => {
    try {
      run();
    } catch (error) {
      assert.ok(error instanceof DnsFormatError, String(error));
    }
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, asQuery) => {
      const message = Buffer.from(bytes);
      if (message.length > 12) {
        message[2] = asQuery ? 0 : 0x80;
        message.writeUInt16BE(1, 4);
      }
      only(() => parseQuery(message));
      only(() => inspectAnswer(message));
    }),
    { numRuns: 2000 },
  );
  const loop = Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1]);
  assert.throws(() => parseQuery(loop), DnsFormatError);
});

test('IPv6 addresses', () => {
  for (const [text, hex] of [
    ['::', '0'.repeat(32)],
    ['fd00::1', `fd00${'0'.repeat(27)}1`],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['::ffff:1.2.3.4', `${'0'.repeat(20)}ffff01020304`],
  ] as const)
    assert.equal(ipv6Bytes(text).toString('hex'), hex);
  assert.throws(() => ipv6Bytes('1:2:3'), DnsFormatError);
});

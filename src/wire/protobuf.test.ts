// Tests the protobuf codec: known encodings, round trips of every scalar, and malformed bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ContainerStatus, LinuxContainerResources, PodSandboxConfig } from './generated/cri-runtime-v1.ts';
import { Compare, RangeRequest, TxnRequest } from './generated/etcd-rpc.ts';
import { enumType, message, type Message, ProtobufError } from './protobuf.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

test('encodes as the protobuf documentation shows', () => {
  const Test1: Message<{ a: number }> = message('Test1', () => [[1, 'a', 'int32', 'one']]);
  const Test2: Message<{ b: string }> = message('Test2', () => [[2, 'b', 'string', 'one']]);
  const Test3: Message<{ c?: { a: number } }> = message('Test3', () => [[3, 'c', Test1, 'opt']]);
  const Test4: Message<{ d: string; e: number[] }> = message('Test4', () => [
    [4, 'd', 'string', 'one'],
    [6, 'e', 'int32', 'rep'],
  ]);
  assert.equal(hex(Test1.encode({ a: 150 })), '089601');
  assert.equal(hex(Test1.encode({ a: -2 })), '08feffffffffffffffff01');
  assert.equal(hex(Test2.encode({ b: 'testing' })), '120774657374696e67');
  assert.equal(hex(Test3.encode({ c: { a: 150 } })), '1a03089601');
  assert.equal(hex(Test4.encode({ e: [3, 270, 86942] })), '3206038e029ea705');
  assert.deepEqual(Test4.decode(Buffer.from('3003308e02309ea705', 'hex')).e, [3, 270, 86942]);
  assert.equal(Test1.encode({ a: 0 }).length, 0);
});

test('round trips every scalar', () => {
  const E = enumType({ ZERO: 0, ONE: 1 });
  const All: Message<Record<string, unknown>> = message('All', () => [
    [1, 's', 'string', 'one'],
    [2, 'b', 'bytes', 'one'],
    [3, 't', 'bool', 'one'],
    [4, 'i', 'int32', 'one'],
    [5, 'u', 'uint32', 'one'],
    [6, 'z', 'sint32', 'one'],
    [7, 'l', 'int64', 'one'],
    [8, 'ul', 'uint64', 'one'],
    [9, 'zl', 'sint64', 'one'],
    [10, 'f', 'fixed32', 'one'],
    [11, 'sf', 'sfixed32', 'one'],
    [12, 'fl', 'fixed64', 'one'],
    [13, 'sfl', 'sfixed64', 'one'],
    [14, 'd', 'double', 'one'],
    [15, 'e', E, 'one'],
    [160, 'rs', 'string', 'rep'],
    [161, 'rl', 'int64', 'rep'],
    [162, 'm', 'string', 'map', 'string'],
  ]);
  const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const text = fc.string({ unit: 'grapheme' });
  fc.assert(
    fc.property(
      fc.record({
        s: text,
        b: fc.uint8Array(),
        t: fc.boolean(),
        i: int32,
        u: uint32,
        z: int32,
        l: int64,
        ul: uint64,
        zl: int64,
        f: uint32,
        sf: int32,
        fl: uint64,
        sfl: int64,
        d: fc.double().map((value) => value + 0 || 0),
        e: fc.constantFrom('ZERO', 'ONE', '17'),
        rs: fc.array(text),
        rl: fc.array(int64),
        m: fc.dictionary(text, text),
      }),
      (value) => {
        const back = All.decode(All.encode(value as never));
        assert.deepEqual({ ...back, m: Object.entries(back['m'] as object) }, { ...value, m: Object.entries(value.m) });
      },
    ),
    { numRuns: 200 },
  );
});

test('nested, optional and map fields of real messages', () => {
  const config = PodSandboxConfig.decode(
    PodSandboxConfig.encode({
      metadata: { name: 'p', namespace: 'n', uid: 'u', attempt: 3 },
      labels: JSON.parse('{"__proto__":"x","a":""}') as Record<string, string>,
      linux: { securityContext: { namespaceOptions: { network: 'NODE' } } },
    }),
  );
  assert.equal(config.metadata?.attempt, 3);
  assert.deepEqual(Object.entries(config.labels), [
    ['__proto__', 'x'],
    ['a', ''],
  ]);
  assert.equal(config.linux?.securityContext?.namespaceOptions?.network, 'NODE');
  assert.equal(config.linux?.securityContext?.namespaceOptions?.pid, 'POD');
  assert.equal(config.dnsConfig, undefined);
  const status = ContainerStatus.decode(ContainerStatus.encode({ createdAt: 1_764_543_210_123_456_789n }));
  assert.equal(status.createdAt, 1_764_543_210_123_456_789n);
  assert.equal(LinuxContainerResources.decode(LinuxContainerResources.encode({ cpuQuota: -1 })).cpuQuota, -1n);
  const txn = TxnRequest.decode(
    TxnRequest.encode({
      compare: [{ target: 'MOD', result: 'EQUAL', key: Buffer.from('k'), modRevision: 0 }],
      success: [{ requestRange: { key: Buffer.from('k') } }],
    }),
  );
  assert.equal(txn.compare[0]?.modRevision, 0n, 'a set oneof member is written even when it is the default');
  assert.equal(txn.compare[0]?.version, undefined);
  assert.deepEqual(txn.success[0]?.requestRange, RangeRequest.decode(RangeRequest.encode({ key: Buffer.from('k') })));
  assert.equal(txn.success[0]?.requestPut, undefined);
  assert.equal(Compare.name, 'etcdserverpb.Compare');
});

test('refuses malformed bytes, whatever they are', () => {
  for (const bad of ['0a05aa', '0a', 'ffffffffffffffffffffff', '0b', '08'])
    assert.throws(() => PodSandboxConfig.decode(Buffer.from(bad, 'hex')), ProtobufError, bad);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        PodSandboxConfig.decode(bytes);
      } catch (error) {
        assert.ok(error instanceof ProtobufError);
      }
    }),
  );
  const Deep: Message<{ x?: object }> = message('Deep', () => [[1, 'x', Deep, 'opt']]);
  let bytes: Uint8Array = new Uint8Array(0);
  for (let i = 0; i < 200; i++) bytes = Buffer.concat([Deep.encode({ x: {} }).slice(0, 1), lengthOf(bytes), bytes]);
  assert.throws(() => Deep.decode(bytes), /too deep/);
});

function lengthOf(bytes: Uint8Array): Uint8Array {
  return bytes.length < 128
    ? Uint8Array.of(bytes.length)
    : Uint8Array.of((bytes.length & 0x7f) | 0x80, bytes.length >> 7);
}

// Tests gRPC's framing: however the bytes are cut, the messages are the same; what is not allowed is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GrpcFrames, frameOf } from './grpc-frames.ts';
import { isGrpcError } from './grpc-service.ts';

test('messages are whole however their bytes are cut', () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(frameOf));
      const frames = new GrpcFrames(1000);
      const seen: Buffer[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = cuts[turn % cuts.length]!;
        seen.push(...frames.push(bytes.subarray(at, at + size)));
        at += size;
      }
      assert.deepEqual(
        seen.map((one) => [...one]),
        sent.map((one) => [...one]),
      );
    }),
  );
});

test('compressed and too large messages are refused before they are read', () => {
  assert.throws(
    () => new GrpcFrames(10).push(Buffer.from([1, 0, 0, 0, 0])),
    (error) => isGrpcError(error, 'UNIMPLEMENTED'),
  );
  assert.throws(
    () => new GrpcFrames(10).push(Buffer.from([0, 0, 0, 0, 11])),
    (error) => isGrpcError(error, 'RESOURCE_EXHAUSTED'),
  );
});

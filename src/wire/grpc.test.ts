// Tests both gRPC clients against the server over a unix socket.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, after, before, test } from 'node:test';
import { deferred } from '../base/task-group.ts';
import { type GrpcClientOptions, type GrpcConnection, grpcConnection } from './grpc-client.ts';
import { http2Connection } from './grpc-http2.ts';
import { type GrpcServer, grpcServer, served } from './grpc-server.ts';
import { GrpcError, isGrpcError } from './grpc-service.ts';
import { RuntimeService } from './generated/cri-runtime-v1.ts';
import { Lease } from './generated/etcd-rpc.ts';

type Dial = (options: GrpcClientOptions) => Promise<GrpcConnection>;

const dials: Readonly<Record<string, Dial>> = {
  'grpc-js': grpcConnection,
  'node:http2': async (options) => http2Connection(options),
};

for (const [name, dial] of Object.entries(dials)) describe(`gRPC over ${name}`, () => suite(dial));

function suite(dial: Dial): void {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-'));
  let server: GrpcServer;
  let connection: GrpcConnection;
  const cancelled = deferred();

  before(async () => {
    server = await grpcServer(`unix:${folder}/s.sock`, [
      served(RuntimeService, {
        version: async (request) => ({ version: request.version, runtimeName: 'fake' }),
        stopContainer: async (request) => {
          throw new GrpcError('NOT_FOUND', `no container ${request.containerId}`);
        },
        stopPodSandbox: (_request, signal) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => {
              cancelled.resolve();
              reject(new Error('cancelled'));
            }),
          ),
        getContainerEvents: async function* (_request, signal) {
          for (let at = 0; at < 3; at++) yield { containerId: `c${at}` };
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        },
      }),
    ]);
    connection = await dial({ address: server.address });
  });

  after(() => {
    connection.close();
    server.close();
    rmSync(folder, { recursive: true });
  });

  test('unary calls answer, fail with their code, and time out', async () => {
    const runtime = connection.service(RuntimeService);
    const answer = await runtime.version({ version: 'v1' });
    assert.equal(answer.runtimeName, 'fake');
    await assert.rejects(
      runtime.stopContainer({ containerId: 'x' }),
      (error) => isGrpcError(error, 'NOT_FOUND') && error.message === 'StopContainer: no container x',
    );
    await assert.rejects(runtime.status({}), (error) => isGrpcError(error, 'UNIMPLEMENTED'));
    await assert.rejects(runtime.stopPodSandbox({}, { timeoutMs: 20 }), (error) =>
      isGrpcError(error, 'DEADLINE_EXCEEDED'),
    );
    const abort = new AbortController();
    const call = runtime.stopPodSandbox({}, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await assert.rejects(call, /enough/);
    await cancelled.promise;
  });

  test('streams end with their consumer', async () => {
    const runtime = connection.service(RuntimeService);
    const seen: string[] = [];
    for await (const event of runtime.getContainerEvents({})) {
      seen.push(event.containerId);
      if (seen.length === 3) break;
    }
    assert.deepEqual(seen, ['c0', 'c1', 'c2']);
  });

  test('an unreachable server is UNAVAILABLE', async () => {
    const nobody = await dial({ address: `unix:${folder}/nobody.sock` });
    await assert.rejects(nobody.service(RuntimeService).version({}, { timeoutMs: 5000 }), (error) =>
      isGrpcError(error, 'UNAVAILABLE'),
    );
    nobody.close();
  });

  test('bidirectional calls send and receive at once, end from either side, and fail with their code', async () => {
    const ended = deferred();
    const both = await grpcServer(`unix:${folder}/both.sock`, [
      served(Lease, {
        leaseKeepAlive: async function* (requests) {
          try {
            for await (const { ID } of requests) {
              if (ID === 13n) throw new GrpcError('NOT_FOUND', 'no such lease');
              yield { ID, TTL: ID * 2n };
            }
          } finally {
            ended.resolve();
          }
        },
      }),
    ]);
    const client = await dial({ address: both.address });
    try {
      const lease = client.service(Lease);
      const call = lease.leaseKeepAlive();
      const seen: bigint[] = [];
      call.send({ ID: 1 });
      for await (const { ID, TTL } of call) {
        seen.push(TTL);
        if (ID < 3n) call.send({ ID: ID + 1n });
        else call.end();
      }
      assert.deepEqual(seen, [2n, 4n, 6n]);
      await ended.promise;
      const failing = lease.leaseKeepAlive();
      failing.send({ ID: 13 });
      await assert.rejects(failing[Symbol.asyncIterator]().next(), (error) => isGrpcError(error, 'NOT_FOUND'));
      const abort = new AbortController();
      const aborted = lease.leaseKeepAlive({ signal: abort.signal });
      const waiting = aborted[Symbol.asyncIterator]().next();
      abort.abort(new Error('enough'));
      await assert.rejects(waiting, /enough/);
    } finally {
      client.close();
      both.close();
    }
  });

  test('messages larger than a window arrive whole, too large ones are refused', async () => {
    const big = 'x'.repeat(3_500_000);
    const answer = await connection.service(RuntimeService).version({ version: big });
    assert.equal(answer.version, big);
    const small = await dial({ address: server.address, maxMessageBytes: 1000 });
    await assert.rejects(
      small.service(RuntimeService).version({ version: big.slice(0, 900) + 'y'.repeat(200) }),
      (error) => isGrpcError(error, 'RESOURCE_EXHAUSTED'),
    );
    small.close();
  });

  test('a server that comes back is called again', async () => {
    const address = `unix:${folder}/again.sock`;
    const start = () =>
      grpcServer(address, [served(RuntimeService, { version: async () => ({ runtimeName: 'again' }) })]);
    const client = await dial({ address });
    const runtime = client.service(RuntimeService);
    for (let turn = 0; turn < 2; turn++) {
      const one = await start();
      assert.equal((await until(() => runtime.version({}))).runtimeName, 'again');
      one.close();
      rmSync(`${folder}/again.sock`, { force: true });
      await assert.rejects(runtime.version({}, { timeoutMs: 5000 }), (error) => isGrpcError(error, 'UNAVAILABLE'));
    }
    client.close();
  });

  /** grpc-js dials again after a while only. */
  async function until<T>(ask: () => Promise<T>): Promise<T> {
    for (let left = 100; ; left--)
      try {
        return await ask();
      } catch (error) {
        if (left === 0 || !isGrpcError(error, 'UNAVAILABLE')) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
  }
}

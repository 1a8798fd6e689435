import assert from 'node:assert/strict';
import { Agent, createServer, get, IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { haveOneShape } from '../testing/same-shape.ts';
import { exchangeOfHttp1, exchangeOfHttp2, exchangeOfUpgrade } from './http-exchange.ts';

const times = <T>(make: () => T): T[] => Array.from({ length: 3 }, make);
const message = (): IncomingMessage => new IncomingMessage(new Socket());

test('exchanges of a kind have one shape: none keeps its request until the next major garbage collection', () => {
  const http1 = times(() => {
    const request = message();
    return exchangeOfHttp1(request, new ServerResponse(request));
  });
  const http2 = times(() => exchangeOfHttp2(new PassThrough() as unknown as ServerHttp2Stream, { ':path': '/' }));
  const upgrades = times(() => exchangeOfUpgrade(message(), new PassThrough(), Buffer.alloc(0)));
  for (const exchanges of [http1, http2, upgrades]) assert.ok(haveOneShape(exchanges));
  assert.ok(!haveOneShape([http1[0]!, http2[0]!]), 'the question can be answered with no');
});

test('a stream that ends in the same turn as its bytes is whole, and so is the next on its connection', async (t) => {
  const server = createServer((request, response) => {
    const stream = exchangeOfHttp1(request, response).open(200, {});
    stream.together(() => {
      stream.write(Buffer.from('one '));
      stream.together(() => stream.write(Buffer.from(`of ${request.url}`)));
      stream.end();
      assert.equal(stream.write(Buffer.from('late')), true);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => {
    agent.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  for (const path of ['/a', '/b', '/c']) {
    const text = await new Promise<string>((resolve, reject) => {
      get({ port, host: '127.0.0.1', path, agent }, (answer) => {
        let all = '';
        answer.on('data', (chunk: Buffer) => (all += chunk.toString()));
        answer.on('end', () => resolve(all));
      }).on('error', reject);
    });
    assert.equal(text, `one of ${path}`);
  }
});

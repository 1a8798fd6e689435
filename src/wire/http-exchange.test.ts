import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { Socket } from 'node:net';
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

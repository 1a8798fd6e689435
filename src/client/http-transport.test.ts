import assert from 'node:assert/strict';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { generateKeyPairSync } from 'node:crypto';
import { systemClock } from '../base/clock.ts';
import { isStatusError } from '../api/status-error.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { httpTransport, type HttpTransportOptions } from './http-transport.ts';

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  answer(status: number, body: string, headers?: Record<string, string>): void;
  /** Starts a stream; write pieces, then end. */
  stream(): { write(text: string): void; end(): void };
}

type Serve = (exchange: Exchange) => void;

const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'P-256' }));

async function withServer(
  kind: 'http1' | 'http2',
  serve: Serve,
  run: (make: (options?: Partial<HttpTransportOptions>) => ReturnType<typeof httpTransport>) => Promise<void>,
): Promise<void> {
  const listener = (request: http.IncomingMessage | http2.Http2ServerRequest, response: http.ServerResponse) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () =>
      serve({
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body,
        answer: (status, text, headers = {}) =>
          void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text),
        stream() {
          response.writeHead(200, { 'content-type': 'application/json' });
          return { write: (text) => void response.write(text), end: () => void response.end() };
        },
      }),
    );
  };
  const server =
    kind === 'http1'
      ? http.createServer(listener)
      : http2.createSecureServer({ key, cert: certificate, allowHTTP1: false }, listener as never);
  const sessions = new Set<{ destroy(): void }>();
  server.on('connection', (socket: { destroy(): void }) => sessions.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const made: { close(): void }[] = [];
  try {
    await run((options = {}) => {
      const transport = httpTransport({
        server: `${kind === 'http1' ? 'http' : 'https'}://127.0.0.1:${port}`,
        tls: { ca: certificate },
        clock: systemClock,
        userAgent: 'test',
        ...options,
      });
      made.push(transport);
      return transport;
    });
  } finally {
    for (const transport of made) transport.close();
    for (const socket of sessions) socket.destroy();
    server.close();
  }
}

for (const kind of ['http1', 'http2'] as const) {
  test(`${kind}: calls carry credentials and bodies, answers are frozen`, () =>
    withServer(
      kind,
      (exchange) =>
        exchange.answer(
          200,
          JSON.stringify({
            method: exchange.method,
            path: exchange.path,
            token: exchange.headers.authorization,
            type: exchange.headers['content-type'],
            body: exchange.body,
          }),
        ),
      async (make) => {
        const transport = make({ token: () => Promise.resolve('t0ken') });
        const answer = await transport.call({
          method: 'POST',
          path: '/api/v1/pods',
          query: new URLSearchParams({ dryRun: 'All' }),
          body: { a: 1 },
        });
        assert.deepEqual(answer, {
          method: 'POST',
          path: '/api/v1/pods?dryRun=All',
          token: 'Bearer t0ken',
          type: 'application/json',
          body: '{"a":1}',
        });
        assert.ok(Object.isFrozen(answer));
      },
    ));

  test(`${kind}: refusals become StatusErrors`, () =>
    withServer(
      kind,
      ({ path, answer }) =>
        path === '/status'
          ? answer(404, JSON.stringify({ kind: 'Status', reason: 'NotFound', message: 'no pod', code: 404 }))
          : answer(403, 'go away', { 'content-type': 'text/plain' }),
      async (make) => {
        const transport = make();
        await assert.rejects(transport.call({ method: 'GET', path: '/status' }), (error) =>
          isStatusError(error, 'NotFound'),
        );
        await assert.rejects(
          transport.call({ method: 'GET', path: '/text' }),
          (error) => isStatusError(error, 'Forbidden') && error.message === 'go away' && error.code === 403,
        );
      },
    ));

  test(`${kind}: a 429 with Retry-After is sent again`, () => {
    let tries = 0;
    return withServer(
      kind,
      ({ answer }) => (++tries < 3 ? answer(429, '{}', { 'retry-after': '0' }) : answer(200, '{"ok":true}')),
      async (make) => {
        assert.deepEqual(await make().call({ method: 'PUT', path: '/x', body: {} }), { ok: true });
        assert.equal(tries, 3);
      },
    );
  });

  test(`${kind}: watches deliver events cut anywhere and stop when the reader leaves`, () => {
    const events = [1, 2, 3].map((n) => ({ type: 'ADDED', object: { name: `größe-${n}` } }));
    const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    return withServer(
      kind,
      (exchange) => {
        const stream = exchange.stream();
        for (let at = 0; at < bytes.length; at += 7) stream.write(bytes.subarray(at, at + 7) as unknown as string);
        if (exchange.path === '/ends') stream.end();
      },
      async (make) => {
        const transport = make();
        const seen: unknown[] = [];
        for await (const event of transport.watch({ method: 'GET', path: '/ends' })) seen.push(event);
        assert.deepEqual(seen, events);
        for await (const event of transport.watch({ method: 'GET', path: '/stays' })) {
          assert.deepEqual(event, events[0]);
          break;
        }
        const abort = new AbortController();
        let count = 0;
        for await (const _ of transport.watch({ method: 'GET', path: '/stays', signal: abort.signal }))
          if (++count === 3) abort.abort();
        assert.equal(count, 3);
      },
    );
  });

  test(`${kind}: an endless line is refused, not kept`, () =>
    withServer(
      kind,
      (exchange) => exchange.stream().write('x'.repeat(5000)),
      async (make) => {
        const transport = make({ maxLineBytes: 1000 });
        await assert.rejects(async () => {
          for await (const event of transport.watch({ method: 'GET', path: '/' })) assert.fail(JSON.stringify(event));
        }, /exceeds 1000 bytes/);
      },
    ));

  test(`${kind}: no answer in time is a Timeout, an aborted signal its reason`, () =>
    withServer(
      kind,
      () => undefined,
      async (make) => {
        await assert.rejects(make({ timeoutMs: 30 }).call({ method: 'GET', path: '/' }), (error) =>
          isStatusError(error, 'Timeout'),
        );
        const abort = new AbortController();
        const call = make().call({ method: 'GET', path: '/', signal: abort.signal });
        const reason = new Error('enough');
        setImmediate(() => abort.abort(reason));
        await assert.rejects(call, reason);
      },
    ));
}

test('a certificate of an unknown authority is refused', () =>
  withServer(
    'http2',
    ({ answer }) => answer(200, '{}'),
    async (make) => {
      await assert.rejects(make({ tls: {} }).call({ method: 'GET', path: '/' }), /self.signed/);
    },
  ));

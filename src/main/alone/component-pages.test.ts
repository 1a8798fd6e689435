// Proves the port of components without an API: who may read what, and what becomes of a port that is taken.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { metricsRegistry } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { parseFlags } from '../../cli/flags.ts';
import { client } from '../../client/rest.ts';
import { adminToken, startTestServer } from '../../server/start.suite.ts';
import { UserError } from '../user-error.ts';
import { pagesFlags, runComponentPages, withPages } from './component-pages.ts';
import { freePort } from '../../testing/free-port.ts';

async function ask(port: number, path: string, token?: string): Promise<{ status: number; text: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const asked = request({ host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode ?? 0, text };
}

async function taken(t: TestContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('health for anybody, metrics for those whom the API server lets in', async (t) => {
  const running = await startTestServer();
  t.after(() => running.stop());
  const metrics = metricsRegistry();
  metrics.counter('something_total', 'Of something.').inc();
  const deps = {
    client: client(running.admin),
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    metrics,
  };
  const port = await freePort();
  const flags = parseFlags(pagesFlags, ['--bind-address=127.0.0.1', `--secure-port=${port}`]);
  const abort = new AbortController();
  const ended = runComponentPages(flags, 1, deps, abort.signal);
  t.after(async () => {
    abort.abort();
    await ended;
  });
  for (let tries = 0; ; tries++) {
    const answer = await ask(port, '/healthz').catch(() => undefined);
    if (answer?.status === 200) break;
    assert.ok(tries < 2000, `no health: ${answer?.status}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const table: readonly (readonly [string, string | undefined, number])[] = [
    ['/livez', undefined, 200],
    ['/readyz?verbose', undefined, 200],
    ['/readyz/ping', undefined, 200],
    ['/metrics', undefined, 401],
    ['/metrics', 'nobody-knows', 401],
    ['/metrics', 'other-token', 403],
    ['/metrics', adminToken, 200],
    ['/version', adminToken, 200],
    ['/nothing', adminToken, 404],
  ];
  for (const [path, token, status] of table)
    assert.equal((await ask(port, path, token)).status, status, `${path} ${token}`);
  assert.match((await ask(port, '/metrics', adminToken)).text, /^something_total 1$/m);
});

test('a port that was asked for must be free; the usual one is done without; 0 is none', async (t) => {
  const port = await taken(t);
  const deps = {
    client: undefined as never,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    metrics: metricsRegistry(),
  };
  const run = (...args: string[]) =>
    runComponentPages(
      parseFlags(pagesFlags, ['--bind-address=127.0.0.1', ...args]),
      port,
      deps,
      new AbortController().signal,
    );
  await run();
  await run('--secure-port=0');
  await assert.rejects(run(`--secure-port=${port}`), UserError);
  const component = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await assert.rejects(
    withPages(component, () => run(`--secure-port=${port}`), new AbortController().signal),
    UserError,
  );
});

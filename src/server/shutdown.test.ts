// Tests over real sockets how a server ends: told first, then finished, nothing cut that could be finished.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { request } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { adminToken, startTestServer } from './start.suite.ts';
import type { TestServer } from './start.suite.ts';

const authorization = `Bearer ${adminToken}`;
const maps = '/api/v1/namespaces/default/configmaps';

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

function open({ port }: TestServer, method: string, path: string): { sent: ClientRequest; reply: Promise<Reply> } {
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { authorization, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    rejectUnauthorized: false,
    agent: false,
  });
  const reply = new Promise<Reply>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
    });
  });
  reply.catch(() => undefined);
  return { sent, reply };
}

function get(running: TestServer, path: string): Promise<Reply> {
  const { sent, reply } = open(running, 'GET', path);
  sent.end();
  return reply;
}

/** A create whose body is not complete yet: the server has begun with it. */
async function begun(running: TestServer, name: string): Promise<{ finish(): Promise<Reply> }> {
  const { sent, reply } = open(running, 'POST', maps);
  sent.write('{"apiVersion":"v1","kind":"ConfigMap","metadata":');
  await once(sent, 'socket');
  await once(sent.socket!, 'secureConnect');
  // One answer more, and what was written before has been read.
  await get(running, '/version');
  return {
    finish() {
      sent.end(`{"name":"${name}"}}`);
      return reply;
    },
  };
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) assert.ok(performance.now() < deadline, what);
}

const refuses = (running: TestServer): Promise<boolean> =>
  get(running, '/version').then(
    () => false,
    () => true,
  );

test('while the delay lasts /readyz says no and everything else goes on; then nobody is there', async () => {
  const running = await startTestServer({ shutdown: { delayMs: 600, graceMs: 5000 } });
  assert.equal((await get(running, '/readyz')).status, 200);
  const ended = running.stop();
  await until('readyz says no', async () => (await get(running, '/readyz')).status === 500);
  assert.equal((await get(running, '/livez')).status, 200);
  assert.equal((await get(running, maps)).status, 200, 'a new connection is still served');
  await ended;
  assert.ok(await refuses(running));
});

test('requests under way finish, new connections find nobody, watches end cleanly', async () => {
  const running = await startTestServer({ shutdown: { graceMs: 10_000 } });
  const create = await begun(running, 'late');
  const watch = open(running, 'GET', `${maps}?watch=1`);
  watch.sent.end();
  await once(watch.sent, 'response');
  const session = connect(`https://127.0.0.1:${running.port}`, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  const stream = session.request({ ':path': `${maps}?watch=1`, authorization });
  await once(stream, 'response');
  const away = once(session, 'goaway');
  const streamEnd = once(stream, 'end');
  stream.resume();
  const ended = running.stop();
  await away;
  await streamEnd;
  assert.equal((await watch.reply).status, 200, 'it ended, it was not cut');
  await until('the port closes', () => refuses(running));
  const made = await create.finish();
  assert.equal(made.status, 201);
  assert.match(made.body, /"name":"late"/);
  await ended;
});

test('what does not finish is cut when its time is over', async () => {
  const running = await startTestServer({ shutdown: { graceMs: 100 } });
  const create = await begun(running, 'never');
  await running.stop();
  await assert.rejects(create.finish());
});

test('with --shutdown-send-retry-after new requests are told to come back while others finish', async () => {
  const running = await startTestServer({ shutdown: { graceMs: 10_000, sendRetryAfter: true } });
  const create = await begun(running, 'slow');
  const ended = running.stop();
  let told: Reply | undefined;
  await until('it turns away', async () => (told = await get(running, maps)).status === 429);
  assert.equal(told?.headers['retry-after'], '5');
  assert.equal(told?.headers['connection'], 'close');
  assert.equal((await create.finish()).status, 201);
  await ended;
});

test('watches end one after the other when they are given time', async () => {
  const running = await startTestServer({ shutdown: { graceMs: 5000, watchGraceMs: 400 } });
  const ends: Promise<number>[] = [];
  for (let at = 0; at < 4; at++) {
    const watch = open(running, 'GET', `${maps}?watch=1`);
    watch.sent.end();
    await once(watch.sent, 'response');
    ends.push(watch.reply.then(() => performance.now()));
  }
  const ended = running.stop();
  const times = (await Promise.all(ends)).sort((a, b) => a - b);
  assert.ok(times[3]! - times[0]! > 150, `over time, not at once: ${times.map((time) => time - times[0]!).join(' ')}`);
  await ended;
});

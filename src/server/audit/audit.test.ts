import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { adminToken, startTestServer } from '../start.suite.ts';
import { auditPolicy } from './policy.ts';
import { logFileSink } from './sinks.ts';

interface Event {
  level: string;
  stage: string;
  verb: string;
  objectRef?: { resource: string; name?: string };
  user: { username?: string };
  responseStatus?: { code: number };
  requestObject?: { data?: unknown };
  responseObject?: unknown;
  annotations?: Record<string, string>;
}

function send(port: number, method: string, path: string, body?: object, token = adminToken): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        rejectUnauthorized: false,
        agent: false,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

test('requests are noted at the level of the first rule that fits, secrets never with their content', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'audit-'));
  const path = join(directory, 'audit.log');
  const policy = auditPolicy({
    kind: 'Policy',
    apiVersion: 'audit.k8s.io/v1',
    omitStages: ['RequestReceived'],
    rules: [
      { level: 'None', verbs: ['get'] },
      { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] },
      { level: 'RequestResponse', resources: [{ group: '', resources: ['configmaps'] }] },
    ],
  });
  const running = await startTestServer({ audit: { policy, log: { path } } });
  const at = '/api/v1/namespaces/default';
  const meta = { apiVersion: 'v1', metadata: { name: 'x' } };
  assert.equal(
    await send(running.port, 'POST', `${at}/configmaps`, { ...meta, kind: 'ConfigMap', data: { a: 'b' } }),
    201,
  );
  assert.equal(
    await send(running.port, 'POST', `${at}/secrets`, { ...meta, kind: 'Secret', stringData: { password: 'hush' } }),
    201,
  );
  assert.equal(await send(running.port, 'GET', `${at}/configmaps/x`), 200);
  assert.equal(
    await send(running.port, 'POST', `${at}/configmaps`, { ...meta, kind: 'ConfigMap' }, 'other-token'),
    403,
  );
  await running.stop();
  const text = readFileSync(path, 'utf8');
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
  const about = events.filter(({ objectRef, user }) => objectRef !== undefined && user.username !== 'system:apiserver');
  assert.deepEqual(
    about.map(({ level, verb, objectRef, responseStatus }) => [level, verb, objectRef!.resource, responseStatus?.code]),
    [
      ['RequestResponse', 'create', 'configmaps', 201],
      ['Metadata', 'create', 'secrets', 201],
      ['RequestResponse', 'create', 'configmaps', 403],
    ],
  );
  assert.deepEqual(about[0]!.requestObject?.data, { a: 'b' });
  assert.ok(about[0]!.responseObject !== undefined);
  assert.ok(!text.includes('hush') && !text.includes(Buffer.from('hush').toString('base64')));
  assert.equal(about[2]!.annotations?.['authorization.k8s.io/decision'], 'forbid');
  rmSync(directory, { recursive: true });
});

test('the log is rotated and old parts are removed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'audit-'));
  const path = join(directory, 'audit.log');
  let now = Date.now();
  const clock = { ...systemClock, now: () => (now += 1000) };
  const sink = logFileSink({ path, maxSizeMegabytes: 0.001, maxBackups: 2 }, clock, silentLogger);
  for (let round = 0; round < 5; round++) {
    sink.take({ text: 'x'.repeat(900), round });
    const abort = new AbortController();
    const running = sink.run(abort.signal);
    abort.abort();
    await running;
  }
  assert.equal(readdirSync(directory).length, 3);
  assert.match(readFileSync(path, 'utf8'), /"round":4/);
  rmSync(directory, { recursive: true });
});

test('a policy that is not understood ends the start', () => {
  assert.throws(() => auditPolicy({ kind: 'Policy', apiVersion: 'audit.k8s.io/v1', rules: [{ level: 'All' }] }));
  assert.throws(() => auditPolicy({ kind: 'Policy', apiVersion: 'audit.k8s.io/v1', rules: [] }));
});

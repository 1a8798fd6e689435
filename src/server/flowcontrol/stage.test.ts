// Tests over real sockets: who waits, who is turned away, what people and clients are told of it.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { ApiServerOptions } from '../options.ts';
import { adminToken, startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const alice = 'other-token';
const maps = '/api/v1/namespaces/default/configmaps';

async function withServer(options: Partial<ApiServerOptions>, use: (running: TestServer) => Promise<void>) {
  const running = await startTestServer(options);
  const rbac = 'rbac.authorization.k8s.io';
  const create = (path: string, body: object) => running.admin.call({ method: 'POST', path, body });
  try {
    await create(`/apis/${rbac}/v1/clusterroles`, {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'maps' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }],
    });
    await create(`/apis/${rbac}/v1/clusterrolebindings`, {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'alice' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'maps' },
      subjects: [{ kind: 'User', apiGroup: rbac, name: 'alice' }],
    });
    await use(running);
  } finally {
    await running.stop();
  }
}

/** `end` is called by whoever wants the body to be complete; a GET has none. */
function send(
  { port }: TestServer,
  method: string,
  path: string,
  token: string,
): { readonly sent: ClientRequest; readonly reply: Promise<Reply>; end(): void } {
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { authorization: `Bearer ${token}`, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    rejectUnauthorized: false,
    agent: false,
  });
  const reply = new Promise<Reply>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
    });
  });
  reply.catch(() => undefined);
  if (method === 'POST') sent.write('{"apiVersion":"v1","kind":"ConfigMap","metadata":');
  return { sent, reply, end: () => sent.end(method === 'POST' ? '{"generateName":"x-"}}' : undefined) };
}

function get(running: TestServer, path: string, token = adminToken): Promise<Reply> {
  const asked = send(running, 'GET', path, token);
  asked.end();
  return asked.reply;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) assert.ok(performance.now() < deadline, 'it did not come');
}

test('each answer says by which FlowSchema and priority level it was served', () =>
  withServer({}, async (running) => {
    const uidOf = async (plural: string, name: string): Promise<string> => {
      const path = `/apis/flowcontrol.apiserver.k8s.io/v1/${plural}/${name}`;
      const found = (await running.admin.call({ method: 'GET', path })) as { metadata: { uid: string } };
      return found.metadata.uid;
    };
    for (const [token, schema, level] of [
      [adminToken, 'exempt', 'exempt'],
      [alice, 'global-default', 'global-default'],
    ] as const) {
      const { headers } = await get(running, maps, token);
      assert.equal(headers['x-kubernetes-pf-flowschema-uid'], await uidOf('flowschemas', schema));
      assert.equal(headers['x-kubernetes-pf-prioritylevel-uid'], await uidOf('prioritylevelconfigurations', level));
    }
  }));

test('who finds no seat waits in the queue of their flow, as the dumps and metrics say, and is served in turn', async () => {
  await withServer({ maxInflight: { reads: 1, writes: 0 } }, async (running) => {
    const [first, second] = [send(running, 'POST', maps, alice), send(running, 'POST', maps, alice)];
    const dump = async (what: string): Promise<string[][]> =>
      (await get(running, `/debug/api_priority_and_fairness/${what}`)).body
        .trim()
        .split('\n')
        .map((line) => line.split(',').map((cell) => cell.trim()));
    await until(async () => (await dump('dump_requests')).length === 2);
    const [header, waiting] = await dump('dump_requests?includeRequestDetails=1');
    const cell = (name: string): string | undefined => waiting?.[header?.indexOf(name) ?? -1];
    assert.equal(cell('PriorityLevelName'), 'global-default');
    assert.equal(cell('FlowSchemaName'), 'global-default');
    assert.equal(cell('FlowDistingsher'), 'alice');
    assert.equal(cell('UserName'), 'alice');
    assert.equal(cell('Verb'), 'create');
    const levels = await dump('dump_priority_levels');
    const row = levels.find(([name]) => name === 'global-default')!;
    assert.deepEqual(row.slice(1, 6), ['1', 'false', 'false', '1', '1']);
    assert.ok((await dump('dump_queues')).some((line) => line[0] === 'global-default' && line[2] === '1'));
    // Others are not held up.
    assert.equal((await get(running, maps)).status, 200);
    first.end();
    assert.equal((await first.reply).status, 201);
    second.end();
    assert.equal((await second.reply).status, 201);
    assert.equal((await dump('dump_requests')).length, 1);
  });
});

test('without fairness reads and writes have limits of their own; those who can help get through', () =>
  withServer({ priorityAndFairness: false, maxInflight: { reads: 1, writes: 1 } }, async (running) => {
    const open = send(running, 'POST', maps, alice);
    let refused: Reply | undefined;
    await until(async () => {
      const next = send(running, 'POST', maps, alice);
      next.end();
      refused = await next.reply;
      return refused.status === 429;
    });
    assert.equal(refused?.headers['retry-after'], '1');
    assert.equal((await get(running, maps, alice)).status, 200, 'reads are counted apart');
    const admin = send(running, 'POST', maps, adminToken);
    admin.end();
    assert.equal((await admin.reply).status, 201);
    open.end();
    assert.equal((await open.reply).status, 201);
  }));

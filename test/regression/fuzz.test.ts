// Owns seeded random input for what reads strangers' bytes: never a crash, never a 5xx, never long. The seed is fixed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent, request } from 'node:https';
import { seededRandom } from '../../src/base/random.ts';
import { adminToken, startTestServer } from '../../src/server/start.suite.ts';
import type { TestServer } from '../../src/server/start.suite.ts';

let running: TestServer;
const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false });
before(async () => {
  running = await startTestServer();
});
after(async () => {
  agent.destroy();
  await running.stop();
});

const random = seededRandom(20_261_201);
const below = (count: number): number => Math.floor(random.next() * count);

function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Buffer,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: running.port,
        method,
        path,
        agent,
        headers: { authorization: `Bearer ${adminToken}`, ...headers },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString().slice(0, 500) }),
        );
      },
    );
    sent.setTimeout(10_000, () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end(body);
  });
}

const json = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', labels: { a: 'b' }, annotations: { c: 'd' }, ownerReferences: [] },
  spec: {
    containers: [
      {
        name: 'c',
        image: 'x',
        resources: { requests: { cpu: '1', memory: '1Gi' } },
        ports: [{ containerPort: 80 }],
        env: [{ name: 'A', value: '1' }],
      },
    ],
    volumes: [{ name: 'v', emptyDir: {} }],
  },
});
const yaml =
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n  labels: {a: "b"}\ndata:\n  k: |\n    text\n  l: !!str 5\n';
const protobuf = Buffer.concat([
  Buffer.from('6b387300', 'hex'),
  Buffer.from('0a0f0a02763112 09436f6e6669674d61701207 0a050a0170 1200'.replaceAll(' ', ''), 'hex'),
]);
const splices = [
  'null',
  '{}',
  '[]',
  '"',
  '1e400',
  '-1',
  '__proto__',
  '\\u0000',
  '\ud800',
  '[[[[[[',
  '{"',
  '99999999999999999999',
  'true',
  '&a',
  '*a',
  '!!binary',
  '\t',
];

function mutated(source: Buffer): Buffer {
  let bytes = Buffer.from(source);
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const at = below(bytes.length);
    switch (below(5)) {
      case 0:
        bytes[at] = below(256);
        break;
      case 1:
        bytes = bytes.subarray(0, at + 1);
        break;
      case 2:
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          Buffer.from(splices[below(splices.length)]!),
          bytes.subarray(at),
        ]);
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(bytes.length, at + 1 + below(20)))]);
        break;
      default:
        bytes = Buffer.concat([bytes, bytes.subarray(at)]);
    }
    if (bytes.length === 0) return bytes;
  }
  return bytes;
}

async function hold(
  what: string,
  count: number,
  one: () => Promise<{ status: number; text: string; sent: string }>,
): Promise<void> {
  for (let at = 0; at < count; at++) {
    const { status, text, sent } = await one();
    assert.ok(status > 0 && status < 500, `${what}: ${status} ${text}\n${sent.slice(0, 2000)}`);
  }
}

const bodies: readonly (readonly [string, string, string, Buffer])[] = [
  ['JSON', '/api/v1/namespaces/default/pods', 'application/json', Buffer.from(json)],
  ['YAML', '/api/v1/namespaces/default/configmaps', 'application/yaml', Buffer.from(yaml)],
  ['protobuf', '/api/v1/namespaces/default/configmaps', 'application/vnd.kubernetes.protobuf', protobuf],
];
for (const [name, path, type, source] of bodies)
  test(`mutated ${name} bodies`, () =>
    hold(name, 400, async () => {
      const body = mutated(source);
      return {
        ...(await send('POST', `${path}?dryRun=All`, { 'content-type': type }, body)),
        sent: body.toString('latin1'),
      };
    }));

test('mutated patches', async () => {
  await send(
    'POST',
    '/api/v1/namespaces/default/configmaps',
    { 'content-type': 'application/json' },
    Buffer.from('{"metadata":{"name":"t"},"data":{"a":"b"}}'),
  );
  const patches: [string, string][] = [
    [
      'application/json-patch+json',
      '[{"op":"add","path":"/data/x","value":"y"},{"op":"move","from":"/data/a","path":"/data/b"},{"op":"test","path":"/kind","value":"ConfigMap"}]',
    ],
    ['application/merge-patch+json', '{"data":{"a":null,"x":"y"},"metadata":{"labels":{"q":"r"}}}'],
    [
      'application/strategic-merge-patch+json',
      '{"data":{"$patch":"replace","x":"y"},"metadata":{"finalizers":["a/b"],"$setElementOrder/finalizers":["a/b"]}}',
    ],
    ['application/apply-patch+yaml', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"t"},"data":{"x":"y"}}'],
  ];
  await hold('patch', 600, async () => {
    const [type, source] = patches[below(patches.length)]!;
    const body = mutated(Buffer.from(source));
    return {
      ...(await send(
        'PATCH',
        '/api/v1/namespaces/default/configmaps/t?dryRun=All&fieldManager=f',
        { 'content-type': type },
        body,
      )),
      sent: `${type} ${body.toString('latin1')}`,
    };
  });
});

test('mutated tokens, selectors and paths', async () => {
  const header = Buffer.from('{"alg":"ES256","kid":"a"}').toString('base64url');
  const claims = Buffer.from('{"iss":"https://kubernetes.default.svc","exp":9999999999,"sub":"x"}').toString(
    'base64url',
  );
  await hold('token', 200, async () => {
    const token = mutated(Buffer.from(`${header}.${claims}.AAAA`))
      .toString('latin1')
      .replaceAll(/[^\x21-\x7e]/g, '');
    return { ...(await send('GET', '/api/v1/pods', { authorization: `Bearer ${token}` })), sent: token };
  });
  await hold('selector', 300, async () => {
    const text = encodeURIComponent(mutated(Buffer.from('a in (b,c),!d,e!=f,g>5')).toString('latin1'));
    const which = below(2) === 0 ? 'labelSelector' : 'fieldSelector';
    return {
      ...(await send(
        'GET',
        `/api/v1/pods?${which}=${text}&limit=${below(2) === 0 ? 5 : 'x'}&continue=${below(3) === 0 ? text : ''}`,
        {},
      )),
      sent: text,
    };
  });
  await hold('path', 300, async () => {
    const path = `/${mutated(Buffer.from('apis/apps/v1/namespaces/default/deployments/x/scale'))
      .toString('latin1')
      .replaceAll(/[^\x21-\x7e]/g, '%')
      .replaceAll('#', '')}`;
    return { ...(await send('GET', path, {})), sent: path };
  });
});

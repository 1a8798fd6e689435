// Tests how discovery answers: methods, forms and what is not there, as measured with kube-apiserver 1.37.
import assert from 'node:assert/strict';
import { get, request } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { adminToken, startTestServer, type TestServer } from '../start.suite.ts';

interface Answer {
  readonly code: number;
  readonly type: string;
  readonly vary: string;
  readonly body: Buffer;
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const protobuf = 'application/vnd.kubernetes.protobuf';

describe('discovery', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server.stop());

  function ask(path: string, accept?: string, method = 'GET'): Promise<Answer> {
    const headers = { authorization: `Bearer ${adminToken}`, ...(accept !== undefined && { accept }) };
    const options = { port: server.port, path, method, headers, rejectUnauthorized: false, agent: false as const };
    return new Promise((resolve, reject) => {
      const sent = (method === 'GET' ? get : request)(options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({
            code: answer.statusCode ?? 0,
            type: answer.headers['content-type'] ?? '',
            vary: answer.headers.vary ?? '',
            body: Buffer.concat(chunks),
          }),
        );
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  for (const [method, path, accept, code, type] of [
    ['GET', '/apis/', undefined, 200, 'application/json'],
    ['GET', '/apis/', aggregated, 406, 'application/json'],
    ['GET', '/apis', aggregated, 200, aggregated],
    ['GET', '/apis/apps/v9', undefined, 404, 'application/json'],
    ['GET', '/apis/apps/v9', 'application/yaml', 404, 'application/yaml'],
    ['GET', '/apis/apps/v9', 'text/html', 404, 'application/json'],
    ['GET', '/apis/none.example/v1', undefined, 404, 'text/plain; charset=utf-8'],
    ['GET', '/api/v2', undefined, 404, 'application/json'],
    ['GET', '/apis/apps/v1/nothings', 'text/html', 404, 'application/json'],
    ['POST', '/apis/apps', undefined, 200, 'application/json'],
    ['POST', '/apis/apiregistration.k8s.io', undefined, 405, 'application/json'],
    ['GET', '/api', protobuf, 200, protobuf],
    ['GET', '/api/v1', protobuf, 200, protobuf],
    ['GET', '/apis', protobuf, 200, protobuf],
  ] as const)
    it(`answers ${method} ${path} for ${accept ?? 'anything'} with ${code}`, async () => {
      const answer = await ask(path, accept, method);
      assert.deepEqual([answer.code, answer.type], [code, type]);
    });

  it('refuses forms in two ways: with details where a kind is told, without where all groups are', async () => {
    const details = async (path: string): Promise<unknown> =>
      (JSON.parse((await ask(path, 'text/html')).body.toString()) as { details?: unknown }).details;
    assert.deepEqual(
      [await details('/apis'), await details('/apis/apps'), await details('/api/v1')],
      [undefined, undefined, {}],
    );
  });

  it('tells the categories of all kinds', async () => {
    const { body } = await ask('/apis', aggregated);
    const { items } = JSON.parse(body.toString()) as {
      items: { versions: { resources: { resource: string; categories?: string[] }[] }[] }[];
    };
    const all = items.flatMap(({ versions }) => versions.flatMap(({ resources }) => resources));
    const found = all.find(({ resource }) => resource === 'mutatingadmissionpolicies');
    assert.deepEqual(found?.categories, ['api-extensions']);
  });

  it('names what the forms of OpenAPI depend on', async () => {
    const vary = async (path: string, accept?: string): Promise<string> => (await ask(path, accept)).vary;
    assert.deepEqual(
      [await vary('/openapi/v3'), await vary('/openapi/v3/apis/apps/v1', 'text/html'), await vary('/openapi/v2')],
      ['', 'Accept', 'Accept-Encoding, Accept'],
    );
  });
});

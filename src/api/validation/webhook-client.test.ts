import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problems } from './problems.ts';
import { validateWebhookClient } from './webhook-client.ts';

function found(client: Parameters<typeof validateWebhookClient>[2]): string[] {
  const problems = new Problems();
  validateWebhookClient(problems, 'c', client);
  return problems.list.map(({ field, reason }) => `${field} ${reason.replace('FieldValue', '')}`);
}

test('webhooks are reached in exactly one way, over https, at a plain path', () => {
  const service = { namespace: 'a', name: 'b', port: 443 };
  const cases: readonly (readonly [Parameters<typeof found>[0], readonly string[]])[] = [
    [{}, ['c Required']],
    [{ url: 'https://x/', service }, ['c Required']],
    [{ url: 'https://x:8443/path' }, []],
    [{ url: 'http://x/' }, ['c.url Invalid']],
    [{ url: 'https://u:p@x/?a#b' }, ['c.url Invalid', 'c.url Invalid', 'c.url Invalid']],
    [{ url: 'https:///path' }, ['c.url Invalid']],
    [{ url: 'https://x/%zz' }, ['c.url Required']],
    [{ service }, []],
    [{ service: { ...service, path: '/a/b' } }, []],
    [{ service: { ...service, path: '//' } }, ['c.service.path Invalid']],
    [{ service: { ...service, path: 'x' } }, ['c.service.path Invalid', 'c.service.path Invalid']],
    [{ service: { port: 0 } }, ['c.service.name Required', 'c.service.namespace Required', 'c.service.port Invalid']],
  ];
  for (const [client, problems] of cases) assert.deepEqual(found(client), problems, JSON.stringify(client));
});

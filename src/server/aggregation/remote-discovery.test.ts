import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resourcesOf } from './remote-discovery.ts';

const things = {
  resource: 'things',
  responseKind: { group: 'g', version: 'v1', kind: 'Thing' },
  scope: 'Namespaced',
  singularResource: 'thing',
  verbs: ['get', 'list'],
};

test('aggregated discovery is taken as it is', async () => {
  const value = {
    kind: 'APIGroupDiscoveryList',
    items: [{ metadata: { name: 'g' }, versions: [{ version: 'v1', resources: [things] }] }],
  };
  assert.deepEqual(await resourcesOf('g', 'v1', async () => ({ code: 200, value })), [things]);
  await assert.rejects(
    resourcesOf('g', 'v2', async () => ({ code: 200, value })),
    /does not name g\/v2/,
  );
});

test('the older form becomes the same, with subresources in their places', async () => {
  const resources = [
    { name: 'things', singularName: 'thing', namespaced: true, kind: 'Thing', verbs: ['get', 'list'] },
    { name: 'things/scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get'] },
  ];
  const ask = async (path: string) =>
    path === '/apis' ? { code: 406, value: undefined } : { code: 200, value: { resources } };
  assert.deepEqual(await resourcesOf('g', 'v1', ask), [
    {
      ...things,
      subresources: [
        {
          subresource: 'scale',
          responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          verbs: ['get'],
        },
      ],
    },
  ]);
});

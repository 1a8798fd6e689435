// Proves that every kind's table can show an object with nothing in it, as bookmarks of a watch are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { resources } from '../resources/all.ts';
import type { Served } from '../served/served.ts';
import { objectView } from './view.ts';

test('the bookmark of every kind is a row of a table', () => {
  for (const resource of resources) {
    const served = { resource, collection: undefined, custom: false, verbs: new Set(), subresources: new Map() };
    const object = { metadata: { resourceVersion: '7' } } as Frozen<KubeObject>;
    const form = { media: 'json', as: 'Table', asVersion: 'v1', pretty: false } as const;
    const view = () =>
      objectView(served as unknown as Served, undefined, object, form, 0, { columns: false, bookmark: true });
    assert.doesNotThrow(view, `${resource.kind} of ${resource.group}/${resource.version}`);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestInfo } from './request-info.ts';

const table: readonly (readonly [string, string, string])[] = [
  ['GET', '/api/v1/pods', 'list //v1 pods'],
  ['GET', '/api/v1/namespaces/a/pods/p', 'get a//v1 pods p'],
  ['GET', '/api/v1/namespaces/a/pods?watch=true', 'watch a//v1 pods'],
  ['GET', '/api/v1/namespaces/a/pods?watch=0', 'list a//v1 pods'],
  ['DELETE', '/apis/apps/v1/namespaces/a/deployments', 'deletecollection a/apps/v1 deployments'],
  ['PUT', '/apis/apps/v1/namespaces/a/deployments/d/status', 'update a/apps/v1 deployments d status'],
  ['GET', '/api/v1/namespaces/a', 'get a//v1 namespaces a'],
  ['PUT', '/api/v1/namespaces/a/finalize', 'update a//v1 namespaces a finalize'],
  ['GET', '/api/v1/nodes/n/proxy/a/b', 'get //v1 nodes n proxy a/b'],
  ['GET', '/api/v1/watch/namespaces/a/pods', 'watch a//v1 pods'],
  ['GET', '/api/v1/namespaces/a/pods%2Fp', 'get a//v1 pods p'],
  ['GET', '/apis/apps/v1', '-'],
  ['GET', '/healthz', '-'],
];

for (const [method, url, want] of table)
  test(`${method} ${url}`, () => {
    const [path, query = ''] = url.split('?') as [string, string | undefined];
    const info = requestInfo(method, path, new URLSearchParams(query));
    const { verb, namespace, group, version, resource, name, subresource, rest } = info;
    const shown = info.isResource
      ? [verb, `${namespace}/${group}/${version}`, resource, name, subresource, rest]
          .filter((part) => part !== '')
          .join(' ')
      : '-';
    assert.equal(shown, want);
  });

// Proves what requests for a pod's streams are refused for, and what kubelets are asked; and whom proxy requests go to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, Service } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import { isStatusError } from '../../api/status-error.ts';
import { chooseContainer, commandPath, commandRequest, logPath, portForwardPath, requireNode } from './pod-options.ts';
import { parseProxyName, pathBehindProxy, podBackend, proxiedLocation, serviceBackend } from './proxy-address.ts';

const pod = (containers: string[], more: object = {}): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'ns' },
    spec: { containers: containers.map((name) => ({ name, image: 'x' })), initContainers: [{ name: 'i', image: 'x' }] },
    ...more,
  }) as unknown as Pod;

function refused(call: () => unknown): [number, string[] | undefined] {
  try {
    call();
  } catch (error) {
    assert.ok(isStatusError(error), String(error));
    return [error.code, error.status.details?.causes?.map(({ field, reason }) => `${field} ${reason}`)];
  }
  throw new Error('accepted');
}

const query = (text: string): URLSearchParams => new URLSearchParams(text);

test('containers: the only one, the annotated one, or the one that is named', () => {
  assert.equal(chooseContainer(pod(['a']), ''), 'a');
  assert.equal(chooseContainer(pod(['a', 'b']), 'b'), 'b');
  assert.equal(chooseContainer(pod(['a', 'b']), 'i'), 'i');
  const annotated = pod(['a', 'b'], {
    metadata: { name: 'p', annotations: { 'kubectl.kubernetes.io/default-container': 'b' } },
  });
  assert.equal(chooseContainer(annotated, ''), 'b');
  assert.deepEqual(
    refused(() => chooseContainer(pod(['a', 'b']), '')),
    [400, undefined],
  );
  assert.deepEqual(
    refused(() => chooseContainer(pod(['a']), 'zzz')),
    [400, undefined],
  );
  assert.deepEqual(
    refused(() => requireNode(pod(['a']))),
    [400, undefined],
  );
});

test('commands', () => {
  for (const text of ['', 'command=ls&stdin=false&stdout=false&stderr=false', 'command=ls&tty=true&stderr=true'])
    assert.deepEqual(
      refused(() => commandRequest(query(text), 'exec')),
      [400, undefined],
      text,
    );
  const words = query('command=ls&command=-l a&stdin=1&stdout=true');
  const wish = commandRequest(words, 'exec');
  assert.equal(
    commandPath('exec', pod(['a']), 'a', wish, words),
    '/exec/ns/p/a?input=1&output=1&error=1&command=ls&command=-l+a',
  );
  assert.equal(portForwardPath(pod(['a']), query('ports=80,81&ports=82')), '/portForward/ns/p?port=80&port=81&port=82');
  assert.equal(portForwardPath(pod(['a']), query('')), '/portForward/ns/p');
});

test('logs: the options, and the causes of those refused', () => {
  const cases: readonly [string, [number, string[] | undefined]][] = [
    ['tailLines=-1', [422, ['tailLines FieldValueInvalid']]],
    ['limitBytes=0', [422, ['limitBytes FieldValueInvalid']]],
    ['sinceSeconds=0', [422, ['sinceSeconds FieldValueInvalid']]],
    ['sinceSeconds=5&sinceTime=2024-01-01T00:00:00Z', [422, ['[] FieldValueForbidden']]],
    ['tailLines=abc', [400, undefined]],
    ['stream=Stdout', [422, ['stream FieldValueForbidden']]],
  ];
  for (const [text, wanted] of cases)
    assert.deepEqual(
      refused(() => logPath(pod(['a']), 'a', query(text))),
      wanted,
      text,
    );
  assert.equal(
    logPath(pod(['a']), 'a', query('follow=true&tailLines=10&previous=false&timestamps=1&container=a')),
    '/containerLogs/ns/p/a?follow=true&timestamps=true&tailLines=10',
  );
});

test('proxy names', () => {
  assert.deepEqual(parseProxyName('https:a:web', 'service'), { tls: true, schemeSaid: true, name: 'a', port: 'web' });
  assert.deepEqual(parseProxyName('a:81', 'service'), { tls: false, schemeSaid: false, name: 'a', port: '81' });
  for (const text of ['ftp:a:web', 'a:b:c:d', ':', ''])
    assert.deepEqual(
      refused(() => parseProxyName(text, 'service')),
      [400, undefined],
      text,
    );
});

test('proxy addresses: never the server itself, and a ready endpoint of the port', () => {
  const at = (podIP: string) => pod(['a'], { status: { podIP } });
  assert.deepEqual(podBackend(at('10.0.0.1'), parseProxyName('p:8080', 'pod')), {
    host: '10.0.0.1',
    port: 8080,
    tls: false,
  });
  for (const host of ['', '127.0.0.1', '169.254.169.254', '::1', 'fe80::1'])
    assert.deepEqual(
      refused(() => podBackend(at(host), parseProxyName('p', 'pod'))),
      [400, undefined],
      host,
    );
  assert.deepEqual(
    refused(() => podBackend(at('10.0.0.1'), parseProxyName('p:abc', 'pod'))),
    [400, undefined],
  );

  const service = { metadata: { name: 's' }, spec: { ports: [{ name: 'web', port: 80 }] } } as unknown as Service;
  const slice = {
    ports: [{ name: 'web', port: 8080 }],
    endpoints: [
      { addresses: ['10.0.0.1'], conditions: { ready: false } },
      { addresses: ['10.0.0.2'], conditions: { ready: true } },
    ],
  } as unknown as EndpointSlice;
  const choose = () => 0;
  for (const name of ['s', 's:web', 's:80'])
    assert.equal(serviceBackend(service, [slice], parseProxyName(name, 'service'), choose).host, '10.0.0.2', name);
  for (const [known, name] of [
    [service, 's:81'],
    [undefined, 's'],
  ] as const)
    assert.deepEqual(
      refused(() => serviceBackend(known, [slice], parseProxyName(name, 'service'), choose)),
      [503, undefined],
    );
  assert.deepEqual(
    refused(() => serviceBackend(service, [], parseProxyName('s', 'service'), choose)),
    [503, undefined],
  );
});

test('paths through the proxy and back', () => {
  assert.equal(pathBehindProxy('/api/v1/nodes/n/proxy/a%20b/c'), '/a%20b/c');
  assert.equal(pathBehindProxy('/api/v1/nodes/n/proxy/'), '/');
  assert.equal(pathBehindProxy('/api/v1/nodes/n/proxy'), undefined);
  const prefix = '/api/v1/nodes/n/proxy';
  assert.equal(proxiedLocation('/login?x=1', prefix, 'h:80'), `${prefix}/login?x=1`);
  assert.equal(proxiedLocation('http://elsewhere/x', prefix, 'h:80'), 'http://elsewhere/x');
});

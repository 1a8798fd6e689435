// Many alike in one body are told of shortly, and cost little.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodSpec } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { warn, warningTexts } from '../../request.ts';
import { podSpecWarnings } from './pod-warnings.ts';

const many = 20_000;
const repeat = <T>(item: (at: number) => T): T[] => Array.from({ length: many }, (_, at) => item(at));
const withPorts = (ports: unknown[]): unknown => ({ containers: [{ name: 'a', ports }] });
const withItems = (source: string, items: unknown[]): unknown => ({
  volumes: [
    {
      name: 'v',
      ...(source === 'projected' ? { projected: { sources: [{ secret: { items } }] } } : { [source]: { items } }),
    },
  ],
});

const bodies: Readonly<Record<string, unknown>> = {
  'the same port': withPorts(repeat(() => ({ containerPort: 1, protocol: 'TCP' }))),
  'the same port on other ports of the host': withPorts(
    repeat((at) => ({ containerPort: 1, protocol: 'TCP', hostPort: at + 1 })),
  ),
  'the same name of a port': withPorts(repeat((at) => ({ name: 'a', containerPort: at + 1, protocol: 'TCP' }))),
  'the same file of a ConfigMap': withItems(
    'configMap',
    repeat(() => ({ key: 'k', path: 'a' })),
  ),
  'the same projected file': withItems(
    'projected',
    repeat(() => ({ key: 'k', path: 'a' })),
  ),
  'other files': withItems(
    'secret',
    repeat((at) => ({ key: 'k', path: `a${at}` })),
  ),
  'a path of slashes': withItems('secret', [{ key: 'k', path: `a${'/'.repeat(1_000_000)}b` }]),
};

for (const [name, spec] of Object.entries(bodies))
  test(`${name}, ${many} times`, () => {
    const texts = podSpecWarnings('', {}, spec as Frozen<PodSpec>);
    assert.ok(texts.length <= 100, `${texts.length} warnings`);
  });

test('warnings end at 4096 characters, each of 256', () => {
  const request = { warnings: [] as string[] };
  for (let at = 0; at < many; at++) warn(request, `${at}: ${'x'.repeat(1000)}`);
  const texts = warningTexts(request);
  assert.equal(texts.length, 16);
  for (const text of texts) assert.equal(text.length, 256);
});

test('fewer are told whole', () => {
  const request = { warnings: [] as string[] };
  for (const text of ['a'.repeat(4000), 'b', 'b']) warn(request, text);
  assert.deepEqual(warningTexts(request), ['a'.repeat(4000), 'b']);
});

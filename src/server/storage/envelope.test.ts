import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeze } from '../../api/meta.ts';
import type { KubeObject } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import { protobufStorage } from './envelope.ts';

const codec = protobufStorage(schemaOf('v1', 'Pod')!);

function pod(): KubeObject & { spec: object; status: object } {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: 'a',
      namespace: 'b',
      uid: 'u',
      creationTimestamp: '2026-01-02T03:04:05Z',
    } as KubeObject['metadata'],
    spec: { containers: [{ image: 'i', name: 'c', resources: { limits: { memory: '1024Mi' } } }] },
    status: { phase: 'Pending' },
  };
}

type Made = ReturnType<typeof pod>;

test('a part of a stored object that comes again in a later state is shared; what is changed or only alike is not', () => {
  const stored = freeze(codec.canonical(pod())) as Made;
  assert.deepEqual((stored.spec as { containers: { resources: unknown }[] }).containers[0]!.resources, {
    limits: { memory: '1Gi' },
  });
  const next = codec.canonical({ ...stored, status: { phase: 'Running' } } as Made) as Made;
  assert.equal(next.spec, stored.spec);
  assert.notEqual(next.status, stored.status);
  assert.deepEqual(codec.decode(codec.encode(next)), next);
  const alike = freeze(pod()) as Made;
  const other = codec.canonical({ ...stored, spec: alike.spec } as Made) as Made;
  assert.notEqual(other.spec, alike.spec);
  assert.deepEqual(other.spec, stored.spec);
});

test('a part that is not frozen yet is looked at again', () => {
  const made = codec.canonical(pod()) as Made;
  (made.status as { podIP?: string; phase: string }).podIP = '';
  const again = codec.canonical(made) as Made;
  assert.notEqual(again.status, made.status);
  assert.deepEqual(again.status, { phase: 'Pending' });
});

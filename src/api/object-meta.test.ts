// Proves the rules of metadata against what upstream was recorded to refuse.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectMeta } from './generated/meta.v1.ts';
import { subdomainName } from './names.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from './object-meta.ts';

const rules = { namespaced: true, validateName: subdomainName };
const good: Partial<ObjectMeta> = { name: 'a', namespace: 'b' };
const fields = (meta: Partial<ObjectMeta>): string[] =>
  validateObjectMeta(meta, rules).map(({ field, reason }) => `${field} ${reason.replace('FieldValue', '')}`);

test('create', () => {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' };
  const table: [Partial<ObjectMeta>, string[]][] = [
    [{}, []],
    [{ name: '' }, ['metadata.name Required']],
    [{ name: 'A' }, ['metadata.name Invalid']],
    [{ generateName: 'a-' }, []],
    [{ generateName: 'AB-' }, ['metadata.generateName Invalid']],
    [{ namespace: '' }, ['metadata.namespace Required']],
    [{ labels: { 'bad key!': 'v', ok: 'bad value!' } }, ['metadata.labels Invalid', 'metadata.labels Invalid']],
    [{ annotations: { 'UPPER/x': 'any thing', ok: '' } }, []],
    [{ annotations: { a: 'x'.repeat(256 * 1024) } }, ['metadata.annotations TooLong']],
    [{ finalizers: ['unqualified'] }, ['metadata.finalizers[0] Invalid']],
    [{ finalizers: ['a b/c'] }, ['metadata.finalizers Invalid']],
    [
      { finalizers: [''] },
      ['metadata.finalizers Invalid', 'metadata.finalizers Invalid', 'metadata.finalizers[0] Invalid'],
    ],
    [{ finalizers: ['orphan', 'foregroundDeletion'] }, ['metadata.finalizers Invalid']],
    [{ ownerReferences: [owner] }, []],
    [{ ownerReferences: [{ ...owner, uid: '' }] }, ['metadata.ownerReferences[0].uid Required']],
    [{ ownerReferences: [{ ...owner, apiVersion: 'a/b/c' }] }, ['metadata.ownerReferences[0].apiVersion Invalid']],
    [{ ownerReferences: [{ ...owner, kind: 'Event' }] }, ['metadata.ownerReferences[0] Invalid']],
    [
      {
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, uid: 'v', controller: true },
        ],
      },
      ['metadata.ownerReferences Invalid'],
    ],
    [
      { managedFields: [{ manager: 'x'.repeat(129), operation: 'Update' }] },
      ['metadata.managedFields[0].manager TooLong'],
    ],
  ];
  for (const [meta, wanted] of table)
    assert.deepEqual(fields({ ...good, ...meta }), wanted, JSON.stringify(meta).slice(0, 80));
  assert.deepEqual(
    validateObjectMeta(good, { ...rules, namespaced: false }).map(({ reason }) => reason),
    ['FieldValueForbidden'],
  );
});

test('update', () => {
  const prev = { ...good, uid: 'u', generation: 2, creationTimestamp: '2026-01-01T00:00:00Z' };
  const changes = (next: Partial<ObjectMeta>, before: Partial<ObjectMeta> = prev): string[] =>
    validateObjectMetaUpdate({ ...before, ...next }, before).map(({ field }) => field);
  assert.deepEqual(changes({}), []);
  assert.deepEqual(changes({ uid: 'v', generation: 1 }), ['metadata.generation', 'metadata.uid']);
  assert.deepEqual(changes({ finalizers: ['x/y'] }), []);
  const deleting = { ...prev, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] };
  assert.deepEqual(changes({ finalizers: ['x/z'] }, deleting), ['metadata.finalizers']);
  assert.deepEqual(changes({ finalizers: [] }, deleting), []);
});

// Proves the shared judgements: tolerations, node selection, ownership, conditions, resource sums.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec, Toleration } from '../generated/core.v1.ts';
import { type ConditionLike, isConditionTrue, withCondition, withoutCondition } from './conditions.ts';
import { matchesNodeTerm, podSelectsNode } from './node-selection.ts';
import { controllerOf, controllerReference, isControlledBy } from './owners.ts';
import { podLimits, podRequests, resourceList } from './pod-resources.ts';
import { tolerates, toleratedSeconds, untolerated } from './taints.ts';

test('tolerations', () => {
  const taint = { key: 'k', value: '5', effect: 'NoSchedule' };
  const table: [Toleration, boolean][] = [
    [{ operator: 'Exists' }, true],
    [{ key: 'k', operator: 'Exists' }, true],
    [{ key: 'k', value: '5' }, true],
    [{ key: 'k', operator: 'Equal', value: '6' }, false],
    [{ key: 'j', operator: 'Exists' }, false],
    [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }, false],
    [{ key: 'k', operator: 'Gt', value: '4' }, true],
    [{ key: 'k', operator: 'Lt', value: '4' }, false],
    [{ key: 'k', operator: 'Lt', value: 'x' }, false],
  ];
  for (const [toleration, wanted] of table)
    assert.equal(tolerates(toleration, taint), wanted, JSON.stringify(toleration));
  assert.equal(untolerated([taint], [{ key: 'k', value: '5' }]), undefined);
  assert.equal(untolerated([taint], []), taint);
  assert.equal(
    untolerated([taint], [], ({ effect }) => effect === 'NoExecute'),
    undefined,
  );
  const evicting = { key: 'k', effect: 'NoExecute' };
  assert.equal(toleratedSeconds([evicting], []), undefined);
  assert.equal(toleratedSeconds([taint], []), Number.POSITIVE_INFINITY);
  assert.equal(
    toleratedSeconds(
      [evicting],
      [
        { operator: 'Exists', tolerationSeconds: 9 },
        { key: 'k', operator: 'Exists', tolerationSeconds: 5 },
      ],
    ),
    5,
  );
});

test('node selection', () => {
  const node = { name: 'n', labels: { zone: 'a', n: '7' } };
  const term = (key: string, operator: string, ...values: string[]): boolean =>
    matchesNodeTerm({ matchExpressions: [{ key, operator, values }] }, node);
  assert.equal(term('zone', 'In', 'a', 'b'), true);
  assert.equal(term('zone', 'NotIn', 'a'), false);
  assert.equal(term('rack', 'NotIn', 'a'), true);
  assert.equal(term('n', 'Gt', '6'), true);
  assert.equal(term('n', 'Lt', '6'), false);
  assert.equal(term('constructor', 'Exists'), false);
  assert.equal(matchesNodeTerm({}, node), false);
  assert.equal(matchesNodeTerm({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }, node), true);
  const spec: PodSpec = { containers: [], nodeSelector: { zone: 'a' } };
  assert.equal(podSelectsNode(spec, node), true);
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } };
  assert.equal(podSelectsNode({ ...spec, affinity }, node), false);
});

test('ownership', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'r', uid: 'u' } };
  const reference = controllerReference(owner);
  assert.deepEqual(reference, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'r',
    uid: 'u',
    controller: true,
    blockOwnerDeletion: true,
  });
  const owned = { metadata: { ownerReferences: [{ ...reference, uid: 'x', controller: false }, reference] } };
  assert.equal(controllerOf(owned)?.uid, 'u');
  assert.equal(isControlledBy(owned, owner), true);
  assert.equal(isControlledBy({ metadata: {} }, { metadata: {} }), false);
});

test('conditions', () => {
  const first = withCondition<ConditionLike>([], { type: 'Ready', status: 'False', reason: 'A' }, 't1');
  assert.deepEqual(first, [{ type: 'Ready', status: 'False', reason: 'A', lastTransitionTime: 't1' }]);
  assert.equal(withCondition(first, { type: 'Ready', status: 'False', reason: 'A' }, 't2'), first);
  assert.equal(
    withCondition(first, { type: 'Ready', status: 'False', reason: 'B' }, 't2')[0]!.lastTransitionTime,
    't1',
  );
  const ready = withCondition<ConditionLike>(first, { type: 'Ready', status: 'True' }, 't3');
  assert.equal(ready[0]!.lastTransitionTime, 't3');
  assert.equal(isConditionTrue(ready, 'Ready'), true);
  assert.deepEqual(withoutCondition(ready, 'Ready'), []);
});

test('resource sums', () => {
  const container = (name: string, cpu: string, restartPolicy?: string): PodSpec['containers'][number] => ({
    name,
    resources: { requests: { cpu } },
    ...(restartPolicy !== undefined && { restartPolicy }),
  });
  const sum = (spec: Partial<PodSpec>): Record<string, string> =>
    resourceList(podRequests({ containers: [], ...spec }));
  assert.deepEqual(sum({ containers: [container('a', '1'), container('b', '500m')] }), { cpu: '1500m' });
  assert.deepEqual(sum({ containers: [container('a', '1')], initContainers: [container('i', '3')] }), { cpu: '3' });
  const sidecar = container('s', '2', 'Always');
  assert.deepEqual(sum({ containers: [container('a', '1')], initContainers: [sidecar, container('i', '3')] }), {
    cpu: '5',
  });
  assert.deepEqual(sum({ containers: [container('a', '1')], initContainers: [container('i', '3'), sidecar] }), {
    cpu: '3',
  });
  assert.deepEqual(
    sum({ containers: [container('a', '1')], resources: { requests: { cpu: '4' } }, overhead: { cpu: '1' } }),
    { cpu: '5' },
  );
  assert.deepEqual(resourceList(podLimits({ containers: [container('a', '1')], overhead: { cpu: '1' } })), {});
});

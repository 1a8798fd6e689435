import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareVersions, orderGroups } from './order.ts';

describe('the order of versions', () => {
  it('is the one of the documentation', () => {
    const documented = [
      'v10',
      'v2',
      'v1',
      'v11beta2',
      'v10beta3',
      'v3beta1',
      'v12alpha1',
      'v11alpha2',
      'foo1',
      'foo10',
    ];
    assert.deepEqual(documented.toReversed().sort(compareVersions), documented);
  });
});

describe('the order of groups', () => {
  const ranked = (group: string, version: string, groupPriority: number, versionPriority = 10) => ({
    group,
    version,
    groupPriority,
    versionPriority,
  });

  it('goes by the highest priority of a version, then by name', () => {
    const groups = orderGroups([
      ranked('b', 'v1', 10),
      ranked('a', 'v1', 10),
      ranked('c', 'v1', 5),
      ranked('c', 'v2', 20),
      ranked('apiregistration.k8s.io', 'v1', 1),
    ]);
    assert.deepEqual(
      groups.map(({ name }) => name),
      ['apiregistration.k8s.io', 'c', 'a', 'b'],
    );
  });

  it('puts the version of the highest priority first', () => {
    const [group] = orderGroups([ranked('g', 'v1', 1, 1), ranked('g', 'v1alpha1', 1, 9), ranked('g', 'v2', 1, 1)]);
    assert.deepEqual(group!.versions, ['v1alpha1', 'v2', 'v1']);
  });
});

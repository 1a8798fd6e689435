// Owns the kind CSIStorageCapacity.
import { csiStorageCapacities } from '../../../api/generated/resources.ts';
import type { CSIStorageCapacity } from '../../../api/generated/storage.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { subdomainName } from '../../../api/names.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { nano } from '../../../api/validation/quantities.ts';
import { same } from '../../../api/validation/same.ts';
import { defineResource } from '../define.ts';
import { selectorWarnings } from '../node-labels.ts';

function validate(obj: Frozen<CSIStorageCapacity>): Problems {
  const problems = new Problems();
  validateLabelSelector(problems, 'nodeTopology', obj.nodeTopology);
  problems.each('storageClassName', obj.storageClassName, subdomainName(obj.storageClassName ?? ''));
  if (nano(obj.capacity ?? undefined) < 0n)
    problems.invalid('capacity', obj.capacity, 'must be greater than or equal to 0');
  return problems;
}

export const csiStorageCapacity = defineResource<CSIStorageCapacity>(csiStorageCapacities, {
  validate: (obj) => validate(obj).list,
  warnings: ({ nodeTopology }) => [...selectorWarnings('nodeTopology', nodeTopology)],
  validateUpdate(next, prev) {
    const problems = new Problems();
    // None at all and one that fits everything are two things.
    const isSaid = [next, prev].map(({ nodeTopology }) => nodeTopology !== undefined);
    if (isSaid[0] !== isSaid[1] || !same(next.nodeTopology, prev.nodeTopology))
      problems.invalid('nodeTopology', next.nodeTopology, 'field is immutable');
    problems.immutable('storageClassName', next.storageClassName, prev.storageClassName, same);
    return problems.list;
  },
  unconditionalUpdate: false,
});

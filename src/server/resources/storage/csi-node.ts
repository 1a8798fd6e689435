// Owns the kind CSINode.
import { csiNodes } from '../../../api/generated/resources.ts';
import type { CSINode, CSINodeDriver } from '../../../api/generated/storage.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { qualifiedName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { validateDriverName } from './driver-name.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep, onlyStatus } from '../define.ts';

const maxNodeId = 256;

function validateDriver(problems: Problems, path: string, driver: Frozen<CSINodeDriver>, names: Set<string>): void {
  const { name, nodeID, topologyKeys, allocatable } = driver;
  validateDriverName(problems, `${path}.name`, name);
  if (!nodeID) problems.required(`${path}.nodeID`);
  else if (nodeID.length > maxNodeId)
    problems.invalid(`${path}.nodeID`, nodeID, `must be ${maxNodeId} characters or less`);
  problems.notNegative(`${path}.allocatable.count`, allocatable?.count);
  if (names.has(name)) problems.duplicate(`${path}.name`, name);
  names.add(name);
  const keys = new Set<string>();
  // Upstream reports wrong keys at the driver.
  for (const key of topologyKeys ?? []) {
    if (key === '') problems.required(path);
    if (keys.has(key)) problems.duplicate(path, key);
    keys.add(key);
    problems.each(path, key, qualifiedName(key));
  }
}

function validate({ spec }: Frozen<CSINode>): Problems {
  const problems = new Problems();
  const names = new Set<string>();
  spec?.drivers?.forEach((driver, at) => validateDriver(problems, `spec.drivers[${at}]`, driver, names));
  return problems;
}

const fixed = ({ name, nodeID, topologyKeys }: Frozen<CSINodeDriver>): object => ({ name, nodeID, topologyKeys });

export const csiNode = defineResource<CSINode>(csiNodes, {
  prepareForCreate(obj) {
    obj.status = {};
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate: (obj) => validate(obj).list,
  validateUpdate(next, prev) {
    const problems = new Problems();
    for (const before of prev.spec?.drivers ?? [])
      for (const after of next.spec?.drivers ?? [])
        if (before.name === after.name && !same(fixed(before), fixed(after)))
          problems.invalid('spec.drivers', after, 'field is immutable');
    return problems.list;
  },
  columns: [
    nameColumn,
    { name: 'Drivers', type: 'integer', cell: ({ spec }) => (spec?.drivers ?? []).length },
    ageColumn,
  ],
  subresources: {
    status: {
      // All that a status can hold belongs to a feature which is off.
      prepareForUpdate(next, prev) {
        onlyStatus(next, prev);
        next.status = {};
      },
    },
  },
  unconditionalUpdate: false,
  deleteReturnsObject: true,
});

// Owns the kind ResourceSlice.
import type { ResourceSlice, ResourceSliceSpec } from '../../../api/generated/resource.v1.ts';
import { resourceSlices } from '../../../api/generated/resources.ts';
import { quoteText } from '../../../api/field-error.ts';
import type { Frozen } from '../../../api/meta.ts';
import { subdomainName } from '../../../api/names.ts';
import { validateNodeSelector } from '../../../api/validation/node-selector.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration } from '../define.ts';
import { validateDriverName } from '../storage/driver-name.ts';
import { validateCounterSet, validateDevice } from './device-rules.ts';
import { fillTimeAdded } from './device-taint-rule.ts';
import { eachOf, Findings, noDuplicates } from './findings.ts';
import { validatePoolName } from './names.ts';

type Spec = Frozen<ResourceSliceSpec>;

const maxDevices = 128;
/** With taints or counters. */
const maxRichDevices = 64;
const maxCounterSets = 8;

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function validatePool({ own }: Findings, { pool }: Spec): void {
  validatePoolName(own, 'spec.pool.name', pool?.name);
  const { resourceSliceCount = 0, generation = 0 } = pool ?? {};
  if (resourceSliceCount <= 0)
    own.invalid('spec.pool.resourceSliceCount', resourceSliceCount, 'must be greater than zero');
  if (generation < 0) own.invalid('spec.pool.generation', generation, 'must be greater than or equal to zero');
}

/** Where the devices are: in exactly one way. */
function validatePlace({ own }: Findings, spec: Spec): void {
  const ways: string[] = [];
  const { nodeName, nodeSelector } = spec;
  if (nodeName === '') own.invalid('spec.nodeName', nodeName, 'must be either unset or set to a non-empty string');
  else if (isSet(nodeName)) {
    ways.push('nodeName');
    own.each('spec.nodeName', nodeName, subdomainName(nodeName!));
  }
  if (nodeSelector) {
    ways.push('nodeSelector');
    validateNodeSelector(own, 'spec.nodeSelector', nodeSelector);
    const terms = nodeSelector.nodeSelectorTerms ?? [];
    if (terms.length !== 1)
      own.invalid('spec.nodeSelector.nodeSelectorTerms', terms, 'must have exactly one node selector term');
  }
  for (const flag of ['allNodes', 'perDeviceNodeSelection'] as const)
    if (spec[flag] === true) ways.push(flag);
    else if (isSet(spec[flag])) own.invalid(`spec.${flag}`, spec[flag], 'must be either unset or set to true');
  const rule = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (ways.length === 0) own.required('spec', rule);
  else if (ways.length > 1) own.invalid('spec', ways, `${rule}, but multiple fields are set`);
}

function validate({ spec = {} as Spec }: Frozen<ResourceSlice>, prev?: Frozen<ResourceSlice>): Findings {
  const found = new Findings();
  const { own, declared } = found;
  const before = prev?.spec;
  validateDriverName(own, 'spec.driver', spec.driver);
  validatePool(found, spec);
  if (before !== undefined) {
    own.immutable('spec.pool.name', spec.pool?.name, before.pool?.name, same);
    own.immutable('spec.driver', spec.driver, before.driver, same);
    own.immutable('spec.nodeName', spec.nodeName, before.nodeName, same);
  }
  validatePlace(found, spec);
  const devices = spec.devices ?? [];
  if ((spec.sharedCounters ?? []).length > 0 && devices.length > 0)
    own.invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed');
  const isRich = devices.some(
    ({ taints, consumesCounters }) => (taints ?? []).length > 0 || (consumesCounters ?? []).length > 0,
  );
  const known = new Map((before?.devices ?? []).map((device) => [device.name, device]));
  const few = eachOf(own, 'spec.devices', devices, isRich ? maxRichDevices : maxDevices, (device, path) =>
    validateDevice(found, path, device, known.get(device.name), spec.perDeviceNodeSelection === true),
  );
  if (few) noDuplicates(own, 'spec.devices', devices, ({ name }) => name);
  const counters = spec.sharedCounters;
  const fewSets = eachOf(declared, 'spec.sharedCounters', counters, maxCounterSets, (set, path) =>
    validateCounterSet(found, path, 'name', set.name, set.counters),
  );
  if (fewSets) noDuplicates(declared, 'spec.sharedCounters', counters, ({ name }) => name);
  return found;
}

/** What belongs to features that are off. */
function dropDisabled({ spec }: ResourceSlice): void {
  if (!spec) return;
  delete spec.partitionTypeAttribute;
  delete spec.skipNodeOperations;
  for (const device of spec.devices ?? []) {
    delete device.nodeAllocatableResources;
    for (const attribute of Object.values(device.attributes ?? {})) {
      delete attribute.ints;
      delete attribute.bools;
      delete attribute.strings;
      delete attribute.versions;
    }
    for (const consumption of device.consumesCounters ?? []) delete consumption.compatibilityGroups;
  }
}

function driverWarnings(driver = ''): string[] {
  return driver === driver.toLowerCase()
    ? []
    : [`spec.driver: driver names should be lowercase; ${quoteText(driver)} contains uppercase characters`];
}

export const resourceSlice = defineResource<ResourceSlice>(resourceSlices, {
  applyDefaults({ spec }, nowMs) {
    for (const { taints } of spec?.devices ?? []) for (const taint of taints ?? []) fillTimeAdded(taint, nowMs);
  },
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
    dropDisabled(obj);
  },
  prepareForUpdate(next, prev) {
    dropDisabled(next);
    raiseGeneration(next, prev);
  },
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validate(next, prev).list,
  warnings: ({ spec }) => driverWarnings(spec.driver),
  selectable: {
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.driver': ({ spec }) => spec.driver,
  },
  columns: [
    nameColumn,
    { name: 'Node', type: 'string', cell: ({ spec }) => spec.nodeName ?? '' },
    { name: 'Driver', type: 'string', cell: ({ spec }) => spec.driver },
    { name: 'Pool', type: 'string', cell: ({ spec }) => spec.pool?.name ?? '' },
    ageColumn,
  ],
  deleteReturnsObject: true,
});

// Owns the validation of devices as drivers publish them: attributes, capacities, counters, taints, where they are.
import type { Counter, Device, DeviceAttribute, DeviceCounterConsumption } from '../../../api/generated/resource.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { subdomainName } from '../../../api/names.ts';
import { validateNodeSelector } from '../../../api/validation/node-selector.ts';
import { same } from '../../../api/validation/same.ts';
import { validateCapacity } from './capacity-rules.ts';
import { eachOf, type Findings, noDuplicates } from './findings.ts';
import { validateBindingConditions, validateLabelLike, validateQualifiedName, validateTaint } from './names.ts';

const maxAttributes = 32;
const maxAttributeText = 64;
const maxTaints = 16;
const maxConsumptions = 2;
const maxCounters = 32;

const number = '(0|[1-9]\\d*)';
const prerelease = '(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)';
const version = new RegExp(
  `^${number}\\.${number}\\.${number}(-${prerelease}(\\.${prerelease})*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?$`,
);

function validateAttribute({ own, declared }: Findings, path: string, attribute: Frozen<DeviceAttribute>): void {
  const set = Object.values(attribute).filter((value) => value !== undefined && value !== null).length;
  const { string: text, version: release } = attribute;
  if ((text ?? '').length > maxAttributeText) own.tooLong(`${path}.string`, maxAttributeText);
  if (release !== undefined && release !== null) {
    if (!version.test(release))
      own.invalid(`${path}.version`, release, 'must be a string compatible with semver.org spec 2.0.0');
    if (release.length > maxAttributeText) own.tooLong(`${path}.version`, maxAttributeText);
  }
  if (set !== 1) declared.invalid(path, set === 0 ? '' : attribute, 'exactly one value must be specified');
}

/** `Object.entries` in the order of keys, as Go's maps have none of their own. */
const sorted = <T>(map: Readonly<Record<string, T>> | undefined): [string, T][] =>
  Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

function validateCounters(
  { own, declared }: Findings,
  path: string,
  counters: Readonly<Record<string, Frozen<Counter>>> | undefined,
): void {
  const names = Object.keys(counters ?? {});
  if (names.length === 0) declared.required(path);
  else if (names.length > maxCounters) own.tooMany(path, names.length, maxCounters);
  else for (const name of names.sort()) validateLabelLike(declared, path, name);
}

/** A set of counters, or what a device takes of one. */
export function validateCounterSet(
  found: Findings,
  path: string,
  field: 'name' | 'counterSet',
  name: string | undefined,
  counters: Readonly<Record<string, Frozen<Counter>>> | undefined,
): void {
  if (!name) found.declared.required(`${path}.${field}`);
  else validateLabelLike(found.declared, `${path}.${field}`, name);
  validateCounters(found, `${path}.counters`, counters);
}

function validatePlace({ own }: Findings, path: string, device: Frozen<Device>, perDevice: boolean): void {
  const { nodeName, nodeSelector, allNodes } = device;
  const isSet = (value: unknown): boolean => value !== undefined && value !== null;
  if (!perDevice) {
    if (isSet(nodeName) || nodeSelector || isSet(allNodes))
      own.invalid(path, null, 'a place can only be set if `perDeviceNodeSelection` is true in the ResourceSlice spec');
    return;
  }
  let places = 0;
  if (isSet(nodeName)) {
    if (nodeName === '') own.invalid(`${path}.nodeName`, nodeName, 'must not be empty');
    else {
      places++;
      own.each(`${path}.nodeName`, nodeName, subdomainName(nodeName!));
    }
  }
  if (nodeSelector) {
    places++;
    validateNodeSelector(own, `${path}.nodeSelector`, nodeSelector);
  }
  if (allNodes === true) places++;
  else if (isSet(allNodes)) own.invalid(`${path}.allNodes`, allNodes, 'must be either unset or set to true');
  const rule =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (places === 0) own.required(path, rule);
  else if (places > 1) own.invalid(path, places, rule);
}

export function validateDevice(
  found: Findings,
  path: string,
  device: Frozen<Device>,
  prev: Frozen<Device> | undefined,
  perDevice: boolean,
): void {
  const { own, declared } = found;
  validateLabelLike(own, `${path}.name`, device.name);
  const total = Object.keys(device.attributes ?? {}).length + Object.keys(device.capacity ?? {}).length;
  if (total > maxAttributes)
    own.invalid(path, total, `the total number of attributes and capacities must not exceed ${maxAttributes}`);
  for (const [name, attribute] of sorted(device.attributes)) {
    validateQualifiedName(own, `${path}.attributes`, name);
    validateAttribute(found, `${path}.attributes[${name}]`, attribute);
  }
  if (prev === undefined || !same(prev.capacity, device.capacity))
    for (const [name, capacity] of sorted(device.capacity)) {
      validateQualifiedName(own, `${path}.capacity`, name);
      validateCapacity(own, `${path}.capacity[${name}]`, capacity, device.allowMultipleAllocations === true);
    }
  if (prev === undefined || !same(prev.taints, device.taints))
    eachOf(own, `${path}.taints`, device.taints, maxTaints, (taint, here) => validateTaint(found, here, taint));
  const consumed: readonly Frozen<DeviceCounterConsumption>[] = device.consumesCounters ?? [];
  const list = `${path}.consumesCounters`;
  const few = eachOf(declared, list, consumed, maxConsumptions, ({ counterSet, counters }, here) =>
    validateCounterSet(found, here, 'counterSet', counterSet, counters),
  );
  if (few) noDuplicates(declared, list, consumed, ({ counterSet }) => counterSet);
  validatePlace(found, path, device, perDevice);
  validateBindingConditions(found, path, device.bindingConditions ?? [], device.bindingFailureConditions ?? []);
}

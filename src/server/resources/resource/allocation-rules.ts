// Owns the validation of a claim's status: what was allocated, for whom it is reserved, what drivers tell of devices.
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
} from '../../../api/generated/resource.v1.ts';
import type { FieldError } from '../../../api/status-error.ts';
import type { Frozen } from '../../../api/meta.ts';
import { canonicalCidr } from '../../../api/validation/addresses.ts';
import { validateConditions } from '../../../api/validation/conditions.ts';
import { isIpAddress } from '../../../api/validation/formats.ts';
import { validateNodeSelector } from '../../../api/validation/node-selector.ts';
import { same } from '../../../api/validation/same.ts';
import { validateDriverName } from '../storage/driver-name.ts';
import {
  maxConfigs,
  requestNames,
  type RequestNames,
  validateOpaque,
  validateRawObject,
  validateRequestRef,
  validateRequestRefs,
} from './claim-rules.ts';
import { eachOf, Findings, itself, noDuplicates } from './findings.ts';
import {
  validateBindingConditions,
  validateDeviceToleration,
  validateLabelLike,
  validatePoolName,
  validateUid,
} from './names.ts';

type Claim = Frozen<ResourceClaim>;

const maxResults = 32;
const maxReservations = 256;
const maxConditions = 8;
const maxData = 10 * 1024;
const maxInterfaceName = 256;
const maxHardwareAddress = 128;
const maxAddresses = 16;

interface DeviceId {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string;
}

export const deviceKey = ({ driver, pool, device, shareID = '' }: DeviceId): string =>
  [driver, pool, device, shareID].join('\n');

function validateResult(
  found: Findings,
  path: string,
  result: Frozen<DeviceRequestAllocationResult>,
  names: RequestNames,
): void {
  const { own, declared } = found;
  validateRequestRef(own, `${path}.request`, result.request ?? '', names);
  validateDriverName(declared, `${path}.driver`, result.driver);
  validatePoolName(declared, `${path}.pool`, result.pool);
  validateLabelLike(own, `${path}.device`, result.device);
  validateBindingConditions(found, path, result.bindingConditions ?? [], result.bindingFailureConditions ?? []);
  result.tolerations?.forEach((toleration, at) =>
    validateDeviceToleration(found, `${path}.tolerations[${at}]`, toleration),
  );
  if (result.shareID !== undefined && result.shareID !== null) validateUid(declared, `${path}.shareID`, result.shareID);
}

function validateAllocation(
  found: Findings,
  path: string,
  allocation: Frozen<AllocationResult>,
  names: RequestNames,
): void {
  const { own, declared } = found;
  const devices = `${path}.devices`;
  eachOf(declared, `${devices}.results`, allocation.devices?.results, maxResults, (result, here) =>
    validateResult(found, here, result, names),
  );
  eachOf(declared, `${devices}.config`, allocation.devices?.config, 2 * maxConfigs, (config, here) => {
    declared.oneOf(`${here}.source`, config.source, ['FromClaim', 'FromClass']);
    validateRequestRefs(found, `${here}.requests`, config.requests, names);
    validateOpaque(found, here, config.opaque, false);
  });
  if (allocation.nodeSelector) validateNodeSelector(own, `${path}.nodeSelector`, allocation.nodeSelector);
}

/** "10.0.0.5/24": an address with the length of its network, in canonical form. */
function isInterfaceAddress(text: string): boolean {
  const found = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  if (found === null || !isIpAddress(found[1]!)) return false;
  return Number(found[2]) <= (found[1]!.includes(':') ? 128 : 32) && canonicalCidr(text) === text;
}

function validateNetwork({ own, declared }: Findings, path: string, data: Frozen<NetworkDeviceData>): void {
  const { interfaceName = '', hardwareAddress = '', ips } = data;
  if (interfaceName.length > maxInterfaceName) declared.tooLong(`${path}.interfaceName`, maxInterfaceName);
  const few = eachOf(declared, `${path}.ips`, ips, maxAddresses, (address, here) => {
    if (!isInterfaceAddress(address))
      own.invalid(here, address, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)');
  });
  if (few) noDuplicates(declared, `${path}.ips`, ips, itself);
  if (hardwareAddress.length > maxHardwareAddress) declared.tooLong(`${path}.hardwareAddress`, maxHardwareAddress);
}

function validateDevice(
  found: Findings,
  path: string,
  device: Frozen<AllocatedDeviceStatus>,
  allocated: ReadonlySet<string>,
): void {
  const { own, declared } = found;
  validateDriverName(own, `${path}.driver`, device.driver);
  validatePoolName(own, `${path}.pool`, device.pool);
  validateLabelLike(own, `${path}.device`, device.device);
  if (device.shareID !== undefined && device.shareID !== null) validateUid(declared, `${path}.shareID`, device.shareID);
  if (!allocated.has(deviceKey(device)))
    own.invalid(path, `${device.driver}/${device.pool}/${device.device}`, 'must be an allocated device in the claim');
  const conditions = device.conditions ?? [];
  if (conditions.length > maxConditions) own.tooMany(`${path}.conditions`, conditions.length, maxConditions);
  validateConditions(own, `${path}.conditions`, conditions);
  if (device.data !== undefined && device.data !== null)
    validateRawObject(own, `${path}.data`, device.data, maxData, false);
  if (device.networkData) validateNetwork(found, `${path}.networkData`, device.networkData);
}

function validateReservations(found: Findings, next: Claim): void {
  const { own, declared } = found;
  const path = 'status.reservedFor';
  const users = next.status?.reservedFor ?? [];
  const few = eachOf(declared, path, users, maxReservations, ({ resource, name, uid }, here) => {
    if (!resource) own.required(`${here}.resource`);
    if (!name) own.required(`${here}.name`);
    if (!uid) own.required(`${here}.uid`);
  });
  if (few) noDuplicates(declared, path, users, ({ uid }) => uid);
}

/** Reserved is only what is allocated; a claim that goes takes no new users. */
function validateInvariants({ own }: Findings, next: Claim, prev: Claim): void {
  const path = 'status.reservedFor';
  const users = next.status?.reservedFor ?? [];
  if (users.length === 0) return;
  if (!next.status?.allocation) return own.forbidden(path, 'may not be specified when `allocated` is not set');
  if (next.metadata.deletionTimestamp === undefined) return;
  const before = prev.status?.reservedFor ?? [];
  if (users.some((user) => !before.some((other) => same(other, user))))
    own.forbidden(path, 'new entries may not be added while `deletionTimestamp` is set');
}

/** What is declared of fields is told in their order. */
const statusFields = ['status.allocation', 'status.reservedFor', 'status.devices'];

export function validateClaimStatus(next: Claim, prev: Claim): Findings {
  const found = findInStatus(next, prev);
  const placeOf = ({ field }: FieldError): number => statusFields.findIndex((prefix) => field.startsWith(prefix));
  found.declared.list.sort((a, b) => placeOf(a) - placeOf(b));
  return found;
}

function findInStatus(next: Claim, prev: Claim): Findings {
  const found = new Findings();
  const { declared } = found;
  validateReservations(found, next);
  const allocation = next.status?.allocation;
  const allocated = new Set((allocation?.devices?.results ?? []).map(deviceKey));
  const devices = next.status?.devices ?? [];
  noDuplicates(declared, 'status.devices', devices, deviceKey);
  devices.forEach((device, at) => validateDevice(found, `status.devices[${at}]`, device, allocated));
  validateInvariants(found, next, prev);
  if (!allocation) return found;
  const before = prev.status?.allocation;
  if (before) declared.immutable('status.allocation', allocation, before, same);
  else validateAllocation(found, 'status.allocation', allocation, requestNames(next.spec?.devices));
  return found;
}

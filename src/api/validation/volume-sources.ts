// Owns the validation of the sources that pods' volumes and persistent volumes share.
import type {
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlexPersistentVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  HostPathVolumeSource,
  ISCSIPersistentVolumeSource,
  ISCSIVolumeSource,
  NFSVolumeSource,
  QuobyteVolumeSource,
} from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { dnsLabel, dnsSubdomain } from '../names.ts';
import { validateNoBacksteps } from './paths.ts';
import type { Problems } from './problems.ts';

/** Fields that must not be empty, in order. */
export function validateRequired(
  problems: Problems,
  path: string,
  source: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): void {
  for (const field of fields) {
    const value = source[field];
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0))
      problems.required(`${path}.${field}`);
  }
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

export function validateHostPath(problems: Problems, path: string, source: Frozen<HostPathVolumeSource>): void {
  if (!source.path) return problems.required(`${path}.path`);
  validateNoBacksteps(problems, `${path}.path`, source.path);
  problems.optionalOneOf(`${path}.type`, source.type, hostPathTypes);
}

/** Disks of clouds: an id and a partition. */
export function validateDisk(
  problems: Problems,
  path: string,
  source: Readonly<Record<string, unknown>> & { readonly partition?: number },
  idField: string,
): void {
  validateRequired(problems, path, source, [idField]);
  const partition = source.partition ?? 0;
  if (partition < 0 || partition > 255)
    problems.invalid(`${path}.partition`, partition, 'must be between 1 and 255, inclusive');
}

export function validateNfs(problems: Problems, path: string, source: Frozen<NFSVolumeSource>): void {
  validateRequired(problems, path, { ...source }, ['server', 'path']);
  if (!(source.path ?? '').startsWith('/'))
    problems.invalid(`${path}.path`, source.path ?? '', 'must be an absolute path');
}

const initiatorForms: readonly (readonly [prefix: string, form: RegExp])[] = [
  ['iqn', /iqn\.\d{4}-\d{2}\.([-.0-9A-Za-z]+)(:[^,;*&$|\s]+)$/],
  ['eui', /^eui.[0-9A-Za-z]{16}$/],
  ['naa', /^naa.[0-9A-Za-z]{32}$/],
];

function validateInitiator(problems: Problems, field: string, name: string): void {
  const form = initiatorForms.find(([prefix]) => name.startsWith(prefix));
  if (form === undefined) problems.invalid(field, name, 'must be valid format starting with iqn, eui, or naa');
  else if (!form[1].test(name)) problems.invalid(field, name, 'must be valid format');
}

/** `owner` is the name of the volume that the source stands in; pods report its length there, volumes here. */
export function validateIscsi(
  problems: Problems,
  path: string,
  source: Frozen<ISCSIVolumeSource | ISCSIPersistentVolumeSource>,
  owner?: string,
): void {
  const persistent = owner !== undefined;
  if (!source.targetPortal) problems.required(`${path}.targetPortal`);
  if (persistent && source.initiatorName !== undefined && `${owner}:${source.targetPortal}`.length > 64)
    problems.invalid(
      `${path}.targetportal`,
      source.targetPortal,
      'the volume name and this must be under 64 characters',
    );
  if (!source.iqn) problems.required(`${path}.iqn`);
  else validateInitiator(problems, `${path}.iqn`, source.iqn);
  const lun = source.lun ?? 0;
  if (lun < 0 || lun > 255) problems.invalid(`${path}.lun`, lun, 'must be between 0 and 255, inclusive');
  if ((source.chapAuthDiscovery || source.chapAuthSession) && source.secretRef === undefined)
    problems.required(`${path}.secretRef`);
  if (persistent && source.secretRef !== undefined && !source.secretRef.name)
    problems.required(`${path}.secretRef.name`);
  if (source.initiatorName !== undefined) validateInitiator(problems, `${path}.initiatorname`, source.initiatorName);
}

export function validateFibreChannel(problems: Problems, path: string, source: Frozen<FCVolumeSource>): void {
  const { targetWWNs = [], wwids = [], lun } = source;
  const field = `${path}.targetWWNs`;
  if (targetWWNs.length === 0 && wwids.length === 0)
    problems.required(field, 'must specify either targetWWNs or wwids, but not both');
  if (targetWWNs.length > 0 && wwids.length > 0)
    problems.invalid(field, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously');
  if (targetWWNs.length === 0) return;
  if (lun === undefined) problems.required(`${path}.lun`, 'lun is required if targetWWNs is specified');
  else if (lun < 0 || lun > 255) problems.invalid(`${path}.lun`, lun, 'must be between 0 and 255, inclusive');
}

export function validateFlocker(problems: Problems, path: string, source: Frozen<FlockerVolumeSource>): void {
  const { datasetName = '', datasetUUID = '' } = source;
  if (datasetName === '' && datasetUUID === '')
    problems.required(path, 'one of datasetName and datasetUUID is required');
  if (datasetName !== '' && datasetUUID !== '')
    problems.invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
  if (datasetName.includes('/')) problems.invalid(`${path}.datasetName`, datasetName, "must not contain '/'");
}

/** "host:port", with IPv6 hosts in brackets. */
const hostPort = /^(\[[^[\]]*\]|[^:[\]]*):[^:]*$/;

export function validateQuobyte(problems: Problems, path: string, source: Frozen<QuobyteVolumeSource>): void {
  const { registry = '', tenant = '' } = source;
  const detail = 'must be a host:port pair or multiple pairs separated by commas';
  if (registry === '') problems.required(`${path}.registry`, detail);
  else if (tenant.length >= 65) problems.required(`${path}.tenant`, 'must be a UUID of at most 64 characters');
  else
    for (const pair of registry.split(','))
      if (!hostPort.test(pair)) problems.invalid(`${path}.registry`, registry, detail);
  validateRequired(problems, path, { ...source }, ['volume']);
}

export function validateFlex(
  problems: Problems,
  path: string,
  source: Frozen<FlexVolumeSource | FlexPersistentVolumeSource>,
): void {
  validateRequired(problems, path, { ...source }, ['driver']);
  for (const key in source.options) {
    const domain = `.${key.split('/', 1)[0]!.toLowerCase()}`;
    if (domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io'))
      problems.invalid(`${path}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved');
  }
}

export function validateAzureDisk(problems: Problems, path: string, source: Frozen<AzureDiskVolumeSource>): void {
  validateRequired(problems, path, { ...source }, ['diskName', 'diskURI']);
  problems.optionalOneOf(`${path}.cachingMode`, source.cachingMode, ['None', 'ReadOnly', 'ReadWrite']);
  problems.optionalOneOf(`${path}.kind`, source.kind, ['Dedicated', 'Managed', 'Shared']);
  if (source.kind === undefined) return;
  const uri = source.diskURI ?? '';
  const form = source.kind === 'Managed' ? '/subscriptions/' : 'https://';
  if (!uri.startsWith(form)) problems.notSupported(`${path}.diskURI`, uri, [`${form}…`]);
}

interface StorageOsSource {
  readonly volumeName?: string;
  readonly volumeNamespace?: string;
  readonly secretRef?: { readonly name?: string; readonly namespace?: string };
}

export function validateStorageOs(
  problems: Problems,
  path: string,
  source: Frozen<StorageOsSource>,
  persistent: boolean,
): void {
  const { volumeName = '', volumeNamespace = '', secretRef } = source;
  if (volumeName === '') problems.required(`${path}.volumeName`);
  else problems.each(`${path}.volumeName`, volumeName, dnsLabel(volumeName));
  if (volumeNamespace !== '') problems.each(`${path}.volumeNamespace`, volumeNamespace, dnsLabel(volumeNamespace));
  if (secretRef !== undefined)
    validateRequired(problems, `${path}.secretRef`, secretRef, persistent ? ['name', 'namespace'] : ['name']);
}

export function validateCsiDriver(problems: Problems, path: string, driver = ''): void {
  if (driver === '') return problems.required(path);
  if (driver.length > 63) problems.tooLong(path, 63);
  problems.each(path, driver, dnsSubdomain(driver.toLowerCase()));
}

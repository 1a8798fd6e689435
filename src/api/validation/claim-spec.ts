// Owns the validation of persistent volume claims' specs, alone and in templates.
import type { PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { dnsSubdomain, labelName, subdomainName } from '../names.ts';
import { validateAnnotations, validateLabels, validateLabelSelector } from './labels.ts';
import type { Problems } from './problems.ts';
import { nano } from './quantities.ts';

export const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const volumeModes = ['Block', 'Filesystem'];

/** `field` holds the list; its items are reported without index. */
export function validateAccessModes(problems: Problems, field: string, modes: readonly string[]): void {
  for (const mode of modes) problems.optionalOneOf(field, mode, accessModes);
  const known = modes.filter((mode) => accessModes.includes(mode));
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod'))
    problems.forbidden(field, 'may not use ReadWriteOncePod with other access modes');
}

/** Ratcheting: what the stored claim already had wrong is not held against an update. */
export interface ClaimOptions {
  readonly anyApiGroup?: boolean;
}

export function validateClaimSpec(
  problems: Problems,
  path: string,
  spec: Frozen<PersistentVolumeClaimSpec>,
  options: ClaimOptions = {},
): void {
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) problems.required(`${path}.accessModes`, 'at least 1 access mode is required');
  validateLabelSelector(problems, `${path}.selector`, spec.selector);
  validateAccessModes(problems, `${path}.accessModes`, modes);
  const storage = spec.resources?.requests?.['storage'];
  if (storage === undefined) problems.required(`${path}.resources[storage]`);
  else if (nano(storage) <= 0n) problems.invalid(`${path}.resources[storage]`, storage, 'must be greater than zero');
  if (spec.storageClassName)
    problems.each(`${path}.storageClassName`, spec.storageClassName, subdomainName(spec.storageClassName));
  problems.optionalOneOf(`${path}.volumeMode`, spec.volumeMode, volumeModes);
  validateDataSources(problems, path, spec, options);
  if (spec.volumeAttributesClassName)
    problems.each(
      `${path}.volumeAttributesClassName`,
      spec.volumeAttributesClassName,
      subdomainName(spec.volumeAttributesClassName),
    );
}

function validateDataSources(
  problems: Problems,
  path: string,
  spec: Frozen<PersistentVolumeClaimSpec>,
  options: ClaimOptions,
): void {
  const { dataSource, dataSourceRef } = spec;
  for (const field of ['dataSource', 'dataSourceRef'] as const) {
    const source = spec[field];
    if (source === undefined) continue;
    const here = `${path}.${field}`;
    const group = source.apiGroup ?? '';
    if (!source.name) problems.required(`${here}.name`);
    if (!source.kind) problems.required(`${here}.kind`);
    if (group === '' && source.kind !== 'PersistentVolumeClaim')
      problems.invalid(here, source.kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    if (group !== '' && !options.anyApiGroup) problems.each(`${here}.apiGroup`, group, dnsSubdomain(group));
    const namespace = field === 'dataSourceRef' ? dataSourceRef?.namespace : undefined;
    if (namespace) problems.each(`${here}.namespace`, namespace, labelName(namespace));
  }
  if (dataSource === undefined || dataSourceRef === undefined) return;
  if (dataSourceRef.namespace)
    problems.invalid(path, 'dataSource', 'may not be specified when dataSourceRef.namespace is specified');
  else if (
    dataSource.apiGroup !== dataSourceRef.apiGroup ||
    dataSource.kind !== dataSourceRef.kind ||
    dataSource.name !== dataSourceRef.name
  )
    problems.invalid(path, 'dataSource', 'must match dataSourceRef');
}

const templateMetadata = new Set(['labels', 'annotations', 'creationTimestamp']);

export function validateClaimTemplate(
  problems: Problems,
  path: string,
  template: Frozen<PersistentVolumeClaimTemplate>,
): void {
  const metadata = template.metadata ?? {};
  validateAnnotations(problems, `${path}.metadata.annotations`, metadata.annotations);
  validateLabels(problems, `${path}.metadata.labels`, metadata.labels);
  for (const [field, value] of Object.entries(metadata))
    if (!templateMetadata.has(field) && value !== undefined && value !== '')
      problems.forbidden(`${path}.metadata.${field}`, 'cannot be set');
  validateClaimSpec(problems, `${path}.spec`, template.spec ?? {});
}

// Owns the kind VolumeAttachment.
import type { PersistentVolumeSpec } from '../../../api/generated/core.v1.ts';
import { volumeAttachments } from '../../../api/generated/resources.ts';
import type { VolumeAttachment, VolumeError } from '../../../api/generated/storage.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateAccessModes } from '../../../api/validation/claim-spec.ts';
import { subdomainName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { validateDriverName } from './driver-name.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { validateVolumeSources } from '../core/persistent-volume.ts';
import { defineResource, keep, onlyStatus } from '../define.ts';

const maxMessage = 1024;
const maxMetadataBytes = 256 * 1024;

/** A volume that is written out instead of named: only its source, and that a CSI one. */
function validateInline(problems: Problems, path: string, volume: Frozen<PersistentVolumeSpec>): void {
  const forbid = (field: keyof PersistentVolumeSpec, isSet: boolean): void => {
    if (isSet) problems.forbidden(`${path}.${field}`, 'may not be specified for inline volumes');
  };
  forbid('claimRef', Boolean(volume.claimRef));
  forbid('capacity', Object.keys(volume.capacity ?? {}).length > 0);
  if (!volume.csi) problems.required(`${path}.csi`, 'has to be specified for inline volumes');
  const modes = volume.accessModes ?? [];
  if (modes.length === 0) problems.required(`${path}.accessModes`);
  validateAccessModes(problems, `${path}.accessModes`, modes);
  forbid('persistentVolumeReclaimPolicy', Boolean(volume.persistentVolumeReclaimPolicy));
  forbid('nodeAffinity', Boolean(volume.nodeAffinity));
  validateVolumeSources(problems, volume, '', path);
  forbid('storageClassName', Boolean(volume.storageClassName));
  forbid('volumeMode', volume.volumeMode !== undefined && volume.volumeMode !== null);
}

function validateSource(problems: Problems, { spec }: Frozen<VolumeAttachment>): void {
  const path = 'spec.source';
  const { persistentVolumeName, inlineVolumeSpec } = spec?.source ?? {};
  const isNamed = persistentVolumeName !== undefined && persistentVolumeName !== null;
  if (!isNamed && !inlineVolumeSpec)
    problems.required(path, 'must specify either inlineVolumeSpec or persistentVolumeName');
  else if (isNamed && inlineVolumeSpec)
    problems.forbidden(path, 'must specify exactly one of inlineVolumeSpec and persistentVolumeName');
  else if (isNamed && persistentVolumeName === '') problems.required(`${path}.persistentVolumeName`);
  else if (inlineVolumeSpec) validateInline(problems, `${path}.inlineVolumeSpec`, inlineVolumeSpec);
}

function validateError(problems: Problems, path: string, error: Frozen<VolumeError> | undefined): void {
  if (!error) return;
  if ((error.message ?? '').length > maxMessage) problems.tooLong(`${path}.message`, maxMessage);
  problems.notNegative(`${path}.errorCode`, error.errorCode);
}

function validateStatus(problems: Problems, { status }: Frozen<VolumeAttachment>): void {
  if (!status) return;
  let bytes = 0;
  const path = 'status.attachmentMetadata';
  for (const [key, value] of Object.entries(status.attachmentMetadata ?? {}))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (bytes > maxMetadataBytes) problems.tooLong(path, maxMetadataBytes);
  validateError(problems, 'status.attachError', status.attachError);
  validateError(problems, 'status.detachError', status.detachError);
}

function validateRest(problems: Problems, obj: Frozen<VolumeAttachment>): void {
  const { nodeName = '', source } = obj.spec ?? {};
  validateSource(problems, obj);
  problems.each('spec.nodeName', nodeName, subdomainName(nodeName));
  validateStatus(problems, obj);
  const volume = source?.persistentVolumeName;
  if (volume !== undefined && volume !== null)
    problems.each('spec.source.persistentVolumeName', volume, subdomainName(volume));
}

function validate(obj: Frozen<VolumeAttachment>): Problems {
  const problems = new Problems();
  validateRest(problems, obj);
  validateDriverName(problems, 'spec.attacher', obj.spec?.attacher ?? '');
  return problems;
}

function validateUpdate(next: Frozen<VolumeAttachment>, prev: Frozen<VolumeAttachment>): Problems {
  const problems = new Problems();
  validateDriverName(problems, 'spec.attacher', next.spec?.attacher ?? '');
  validateRest(problems, next);
  problems.immutable('spec', next.spec, prev.spec, same);
  return problems;
}

export const volumeAttachment = defineResource<VolumeAttachment>(volumeAttachments, {
  prepareForCreate(obj) {
    obj.status = { attached: false };
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validateUpdate(next, prev).list,
  columns: [
    nameColumn,
    { name: 'Attacher', type: 'string', format: 'name', cell: ({ spec }) => spec.attacher },
    { name: 'PV', type: 'string', cell: ({ spec }) => spec.source?.persistentVolumeName ?? '' },
    { name: 'Node', type: 'string', cell: ({ spec }) => spec.nodeName },
    { name: 'Attached', type: 'boolean', cell: ({ status }) => status?.attached ?? false },
    ageColumn,
  ],
  subresources: {
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (next, prev) => validateUpdate(next, prev).list,
    },
  },
  unconditionalUpdate: false,
  deleteReturnsObject: true,
});

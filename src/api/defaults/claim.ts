// Owns the defaults of persistent volume claims, alone and in templates.
import type { PersistentVolumeClaimSpec } from '../generated/core.v1.ts';
import { roundResources } from '../validation/quantities.ts';

export function applyClaimSpecDefaults(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem';
  spec.resources ??= {};
  roundResources(spec.resources.limits);
  roundResources(spec.resources.requests);
}

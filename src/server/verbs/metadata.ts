// Owns the rules of metadata that hold for every kind: names, uid, times, what a client may not change, finalizers at deletion.
import type { FieldError } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import { subdomainName } from '../../api/names.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../api/object-meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Random } from '../../base/random.ts';
import { randomSuffix, randomUuid } from '../../base/random.ts';
import { warn } from '../request.ts';
import { same } from './equal.ts';
import type { Resource } from '../resource.ts';

/** "2026-01-02T03:04:05Z": times on the wire have whole seconds. */
export function timeText(nowMs: number): string {
  return timeOf(nowMs);
}

const maxGeneratedPrefix = 63 - 5;

export function generateName(prefix: string, random: Random): string {
  return prefix.slice(0, maxGeneratedPrefix) + randomSuffix(random);
}

/** The same owner twice is once. */
export function dedupeOwners({ metadata }: KubeObject, request: { readonly warnings: string[] }): void {
  const owners = metadata.ownerReferences;
  if (owners === undefined || owners.length < 2) return;
  const kept = owners.filter((owner, at) => !owners.slice(0, at).some((other) => same(owner, other)));
  if (kept.length === owners.length) return;
  const again = new Set(owners.filter((owner) => !kept.includes(owner)).map(({ uid }) => uid));
  metadata.ownerReferences = kept;
  warn(
    request,
    `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...again].join(', ')}`,
  );
}

/** What the server sets on a new object, and what it takes away. */
export function fillNew(object: KubeObject, random: Random, nowMs: number): void {
  const metadata: Partial<KubeObject['metadata']> = object.metadata;
  metadata.uid = randomUuid(random);
  metadata.creationTimestamp = timeText(nowMs);
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  delete metadata.resourceVersion;
}

/** What an update may not touch is taken from what is stored. */
export function keepSystemFields(next: KubeObject, prev: Frozen<KubeObject>, dryRun: boolean): void {
  const metadata: Partial<KubeObject['metadata']> = next.metadata;
  const before = prev.metadata;
  // Refused when it was said and differs; absent means the same.
  set(metadata, 'uid', metadata.uid || before.uid);
  set(metadata, 'creationTimestamp', before.creationTimestamp);
  // Nobody may begin a deletion this way; what is being deleted stays so, whatever is said.
  set(metadata, 'deletionTimestamp', before.deletionTimestamp ?? metadata.deletionTimestamp);
  set(metadata, 'deletionGracePeriodSeconds', metadata.deletionGracePeriodSeconds ?? before.deletionGracePeriodSeconds);
  set(metadata, 'generation', before.generation);
  // It is the storage that leaves it out, upstream: what is not stored is answered with it.
  if (!dryRun) delete metadata.selfLink;
  delete metadata.resourceVersion;
}

function set<K extends keyof KubeObject['metadata']>(
  metadata: Partial<KubeObject['metadata']>,
  field: K,
  value: KubeObject['metadata'][K] | undefined,
): void {
  if (value === undefined) delete metadata[field];
  else metadata[field] = value;
}

export function validateMetadata({ metadata }: Frozen<KubeObject>, resource: Resource): FieldError[] {
  return validateObjectMeta(metadata, {
    namespaced: resource.namespaced,
    validateName: resource.validateName ?? subdomainName,
    anyFinalizer: resource.anyFinalizer === true,
  });
}

export function validateMetadataUpdate(
  next: Frozen<KubeObject>,
  prev: Frozen<KubeObject>,
  resource: Resource,
  repeated: boolean,
): FieldError[] {
  // The version was compared before, and is the store's.
  const { resourceVersion: _, ...before } = prev.metadata;
  return validateObjectMetaUpdate(next.metadata, before, { anyFinalizer: resource.anyFinalizer === true, repeated });
}

// Owns PUT, and the flow that every change of a stored object goes through (PATCH too): newest object in, next object out, compared and stored.
import { badRequest, conflict, invalid, isNotFound, notFound } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { AdmissionRequest } from '../admission/admission.ts';
import { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { warn } from '../request.ts';
import { hookFor } from '../store-hook.ts';
import type { Together } from '../storage/together.ts';
import type { Resource } from '../resource.ts';
import type { Served } from '../served/served.ts';
import { checkName, readResource } from './body.ts';
import { createObject, fitNamespace } from './create.ts';
import { applyAllDefaults } from './decode.ts';
import { same } from './equal.ts';
import { dedupeOwners } from './metadata.ts';
import { recordWrite } from './field-managers.ts';
import { writeOptions } from './options.ts';
import type { WriteOptions } from './options.ts';
import { objectKey } from './read.ts';
import { entered, leaving, ready, whenRead, whenWritten } from './versions.ts';
import { context, prepareChange, rulesOf, toStorage, validateChange } from './strategy.ts';

export async function update(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const options = writeOptions(request, 'UpdateOptions');
  const object = await readResource(request, served.resource, options.fieldValidation);
  const { name, namespace, subresource } = request.info;
  if (!object.metadata.name) throw badRequest('name must be provided');
  checkName(object.metadata.name, request);
  fitNamespace(object, served.resource.namespaced, namespace);
  applyAllDefaults(served.resource, object, request.arrivedMs);
  const next = toStorage(served, object);
  const rules = rulesOf(served);
  const version = next.metadata.resourceVersion ?? '';
  try {
    return await change(parts, request, served, options, async (entry) => {
      checkVersion(version, entry, served);
      requireUid(next.metadata.uid, entry.object, served.resource);
      return { next: thaw(next as Frozen<KubeObject>) as KubeObject, recorded: false };
    });
  } catch (error) {
    if (isNotFound(error) && rules.createOnUpdate === true && subresource === '' && isAbout(error, name)) {
      requireVersionNumber(version);
      if (next.metadata.uid) throw anotherUid(next.metadata.uid, '', served.resource, name);
      const made = structuredClone(object);
      const metadata: Partial<KubeObject['metadata']> = made.metadata;
      // There is no version that it could be of: upstream takes it all the same.
      delete metadata.resourceVersion;
      return createObject(parts, request, served, made, options);
    }
    throw error;
  }
}

interface ResourceName {
  readonly group: string;
  readonly plural: string;
}

/** Throws Conflict when another object of the same name was meant. `about` names it in the error. */
export function requireUid(uid: string | undefined, { metadata }: Frozen<KubeObject>, about: ResourceName): void {
  if (uid !== undefined && uid !== '' && uid !== metadata.uid)
    throw anotherUid(uid, metadata.uid, about, metadata.name);
}

function anotherUid(wanted: string, found: string, about: ResourceName, name: string): Error {
  return conflict(about, name, `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`);
}

function requireVersionNumber(version: string): void {
  if (!/^\d*$/.test(version))
    throw badRequest(`Invalid value: ${JSON.stringify(version)}: metadata.resourceVersion must be a number`);
}

/** That the error tells of the object of this name, not of another which it needs. */
export function isAbout(error: unknown, name: string): boolean {
  return (error as { status?: { details?: { name?: string } } }).status?.details?.name === name;
}

/** Throws when what a client changed is not the newest, or when it must say which that was and does not. */
export function checkVersion(version: string, entry: Entry, served: Served): void {
  const rules = rulesOf(served);
  const { name } = entry.object.metadata;
  if (version === '' || version === '0') {
    if (rules.unconditionalUpdate === false)
      // Upstream names the resource here, not the kind.
      throw invalid({ group: rules.group, kind: rules.plural }, name, [
        fieldError.invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
      ]);
    return;
  }
  requireVersionNumber(version);
  if (Number(version) !== entry.revision)
    throw conflict(
      served.resource,
      name,
      'the object has been modified; please apply your changes to the latest version and try again',
    );
}

/** What a change makes of the newest object. `recorded`: managedFields are right already (apply). */
export interface Proposal {
  readonly next: KubeObject;
  readonly recorded: boolean;
}

/** `propose` gets the newest entry each time the store is found to have moved on. Throws NotFound. */
export async function change(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  options: WriteOptions,
  propose: (entry: Entry) => Promise<Proposal>,
  /** Whose rules apply, when it is not the request's subresource. */
  as = request.info.subresource,
): Promise<ApiAnswer> {
  const { name, namespace } = request.info;
  const subresource = as;
  const collection = served.collection!;
  const rules = rulesOf(served);
  const key = objectKey(served, namespace, name);
  let deletes = false;
  let last: KubeObject | undefined;
  let beside: Together | undefined;
  let done: ((written: boolean) => Promise<void> | void) | undefined;
  const step = async (entry: Entry): Promise<KubeObject | Frozen<KubeObject>> => {
    const failed = done;
    done = undefined;
    await failed?.(false);
    // A dry run reads what a write would have in hand.
    const seen = await entered(served, entry, options.dryRun ? whenRead : whenWritten);
    const { next, recorded } = await propose(seen);
    const prev = seen.object;
    dedupeOwners(next, request);
    if (subresource === 'status') takeOverSpec(next, prev);
    if (!recorded) await recordWrite(served, prev, next, options, subresource, request.arrivedMs);
    const admission = admissionFor(request, served, next, prev, options.dryRun);
    await parts.admission.admit(admission, parts);
    const taken = subresource === '' ? await hookFor(parts.hooks, rules)?.update?.(next, prev, options) : undefined;
    done = taken?.done?.bind(taken);
    beside = undefined;
    prepareChange(served, subresource, next, prev, context(request, options.dryRun, parts.random));
    validateChange(served, subresource, next, prev, request);
    await parts.admission.validate(admission, parts);
    deletes = isFinished(rules, next, prev);
    if (deletes) {
      last = collection.codec.canonical(await leaving(served, next));
      return entry.object;
    }
    const final = collection.codec.canonical(await leaving(served, next));
    if (sameButVersion(final, entry.object)) return entry.object;
    const frozen = freeze(final);
    beside = taken?.with?.(frozen as Frozen<KubeObject>);
    return frozen;
  };
  let entry: Entry;
  if (options.dryRun) {
    const current = collection.cache.get(key);
    if (current === undefined) throw notFound(served.resource, name);
    const next = await step(current);
    entry = deletes
      ? Entry.of(key, current.revision, freeze(last!))
      : next === current.object
        ? current
        : Entry.of(key, current.revision, next);
  } else {
    try {
      entry = await parts.objects.update(collection, key, step, () => beside);
      await done?.(true);
    } catch (error) {
      await done?.(false);
      throw error;
    }
    if (deletes) {
      const hook = hookFor(parts.hooks, rules);
      await parts.objects.delete(
        collection,
        key,
        () => undefined,
        ({ object }) => hook?.delete?.(object),
      );
      entry = Entry.of(key, entry.revision, freeze(last!));
    }
  }
  await ready(served, [entry], whenWritten);
  return { type: 'object', code: 200, object: entry.object, entry, served };
}

/** Writes of the status leave the spec alone: where the client did not change it, it is the stored one, and need not be compared or checked. */
function takeOverSpec(next: KubeObject & { spec?: unknown }, prev: Frozen<KubeObject>): void {
  const { spec } = prev as typeof next;
  if (spec !== undefined && same(next.spec, spec)) next.spec = spec;
}

/** The last finalizer of an object that is being deleted is gone: it goes too. */
function isFinished(rules: Resource, next: KubeObject, prev: Frozen<KubeObject>): boolean {
  if (prev.metadata.deletionTimestamp === undefined || (prev.metadata.deletionGracePeriodSeconds ?? 0) !== 0)
    return false;
  const isHeld = (object: Frozen<KubeObject>): boolean =>
    (object.metadata.finalizers ?? []).length > 0 || rules.deletion?.isHeld(object) === true;
  return isHeld(prev) && !isHeld(next as Frozen<KubeObject>);
}

function sameButVersion(next: KubeObject, prev: Frozen<KubeObject>): boolean {
  const { resourceVersion: _, ...before } = prev.metadata;
  const { resourceVersion: __, ...after } = next.metadata;
  return same(withoutTimes(after), withoutTimes(before)) && same({ ...next, metadata: 0 }, { ...prev, metadata: 0 });
}

/** A write that changes nothing but the times of managedFields is none. */
function withoutTimes(metadata: Readonly<Record<string, unknown>>): unknown {
  const managed = metadata['managedFields'];
  if (!Array.isArray(managed)) return metadata;
  return { ...metadata, managedFields: managed.map((entry) => ({ ...(entry as object), time: undefined })) };
}

function admissionFor(
  request: ApiRequest,
  served: Served,
  object: KubeObject,
  oldObject: Frozen<KubeObject>,
  dryRun: boolean,
): AdmissionRequest {
  const { name, namespace, subresource } = request.info;
  return {
    operation: 'UPDATE',
    served,
    subresource,
    namespace: served.resource.namespaced ? namespace : '',
    name,
    object,
    oldObject,
    user: request.user,
    dryRun,
    warn: (text) => warn(request, text),
    source: request,
  };
}

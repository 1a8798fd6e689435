// Owns DELETE of one object and of collections: preconditions, grace, finalizers and propagation. Never names a kind.
import { badRequest, conflict, invalid, isNotFound } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Status } from '../../api/generated/meta.v1.ts';
import { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { warn } from '../request.ts';
import { hookFor } from '../store-hook.ts';
import type { Resource } from '../resource.ts';
import type { Served } from '../served/served.ts';
import { readObject } from './body.ts';
import { timeText } from './metadata.ts';
import { deleteChoices, unreadable } from './options.ts';
import type { DeleteChoices } from './options.ts';
import { list, objectKey } from './read.ts';
import { rulesOf } from './strategy.ts';
import { entered, ready, whenRead } from './versions.ts';

const orphanFinalizer = 'orphan';
const foregroundFinalizer = 'foregroundDeletion';

const optionsKind = { group: '', version: 'v1', kind: 'DeleteOptions' };

async function choicesOf(request: ApiRequest): Promise<DeleteChoices> {
  const body = await readObject(request, 'Ignore', optionsKind);
  if (body !== undefined && body !== null) {
    if (typeof body !== 'object' || Array.isArray(body))
      throw badRequest('the body of a deletion must be DeleteOptions');
    if (body.kind !== undefined && body.kind !== '' && body.kind !== 'DeleteOptions')
      throw badRequest(`decoded object cannot be converted to DeleteOptions: it is a ${String(body.kind)}`);
  }
  return deleteChoices(request.query, (body ?? undefined) as unknown as Record<string, unknown> | undefined);
}

export async function remove(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const choices = await choicesOf(request);
  warnOfOrphans(request, served, choices);
  const { entry, gone } = await removeOne(parts, request, served, request.info.namespace, request.info.name, choices);
  const rules = rulesOf(served);
  if (rules.deleteWarning !== undefined && choices.propagationPolicy === undefined) warn(request, rules.deleteWarning);
  await ready(served, [entry], whenRead);
  if (!gone || rules.deleteReturnsObject === true)
    return { type: 'object', code: !gone && choices.keepsNoOrphans ? 202 : 200, object: entry.object, entry, served };
  return { type: 'object', code: 200, object: success(served, entry.object) };
}

function warnOfOrphans(request: ApiRequest, served: Served, { propagationPolicy }: DeleteChoices): void {
  const { orphanWarning } = rulesOf(served);
  if (orphanWarning !== undefined && propagationPolicy === undefined) warn(request, orphanWarning);
}

function success(served: Served, object: Frozen<KubeObject>): Frozen<Status> {
  const { group, plural } = served.resource;
  return freeze({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: object.metadata.name,
      ...(group !== '' && { group }),
      kind: plural,
      uid: object.metadata.uid ?? '',
    },
  } as Status);
}

interface Removal {
  readonly entry: Entry;
  /** False: it is marked and goes later. */
  readonly gone: boolean;
}

export async function removeOne(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  namespace: string,
  name: string,
  choices: DeleteChoices,
): Promise<Removal> {
  const collection = served.collection!;
  const rules = rulesOf(served);
  const key = objectKey(served, namespace, name);
  const admit = async (entry: Entry): Promise<void> => {
    // What is here could be read.
    if (choices.ignoresUnreadable)
      throw conflict(
        served.resource,
        name,
        'unsafe deletion is not allowed because the object is decodable from storage',
      );
    checkPreconditions(served, entry, choices);
    const admission = {
      operation: 'DELETE' as const,
      served,
      subresource: '',
      namespace: served.resource.namespaced ? namespace : '',
      // Who deletes a collection names none of it.
      name: request.info.verb === 'deletecollection' ? '' : name,
      object: undefined,
      oldObject: (await entered(served, entry, whenRead)).object,
      user: request.user,
      dryRun: choices.dryRun,
      warn: (text: string) => warn(request, text),
      source: request,
    };
    await parts.admission.admit(admission, parts);
    await parts.admission.validate(admission, parts);
  };
  if (choices.dryRun) {
    const entry = collection.cache.get(key);
    if (entry !== undefined) {
      await admit(entry);
      const marked = mark(served, entry.object, choices, request.arrivedMs);
      return marked === undefined
        ? { entry: lastState(rules, entry, request.arrivedMs), gone: true }
        : { entry: Entry.of(key, entry.revision, marked), gone: false };
    }
  }
  // Marking may be needed or not, as the newest object says: try to delete, and mark when it turns out that it must wait.
  for (;;) {
    let waits = false;
    const announced =
      rules.gracePeriodSeconds === undefined
        ? undefined
        : await announceEnd(parts, served, key, choices, request.arrivedMs, admit);
    try {
      const entry = await parts.objects.delete(
        collection,
        key,
        async (current) => {
          // What was announced is admitted, in the version that its announcement made.
          if (current.revision !== announced?.revision) await admit(current);
          waits = mark(served, current.object, choices, request.arrivedMs) !== undefined;
          if (waits) throw mustWait;
        },
        ({ object }) => hookFor(parts.hooks, rules)?.delete?.(object),
      );
      return { entry: lastState(rules, entry, request.arrivedMs), gone: true };
    } catch (error) {
      if (error !== mustWait) throw error;
    }
    let stillWaits = true;
    const entry = await parts.objects.update(collection, key, async (current) => {
      await admit(current);
      const marked = mark(served, current.object, choices, request.arrivedMs);
      stillWaits = marked !== undefined;
      return marked ?? current.object;
    });
    if (stillWaits) return { entry, gone: false };
  }
}

/** Kinds that are deleted with grace are answered as if marked with none, just before they went. */
function lastState(rules: Resource, entry: Entry, nowMs: number): Entry {
  if (rules.gracePeriodSeconds === undefined) return entry;
  const { metadata } = entry.object;
  const { generation } = metadata;
  return Entry.of(entry.key, entry.revision, {
    ...entry.object,
    metadata: {
      ...metadata,
      deletionTimestamp: metadata.deletionTimestamp ?? timeText(nowMs),
      deletionGracePeriodSeconds: 0,
      ...(generation !== undefined && metadata.deletionTimestamp === undefined && { generation: generation + 1 }),
    },
  } as Frozen<KubeObject>);
}

/** Such kinds are seen by watchers with a grace of none before they go: the object is written once more. */
async function announceEnd(
  parts: Parts,
  served: Served,
  key: string,
  choices: DeleteChoices,
  nowMs: number,
  admit: (entry: Entry) => Promise<void>,
): Promise<Entry> {
  return parts.objects.update(served.collection!, key, async (current) => {
    await admit(current);
    if (mark(served, current.object, choices, nowMs) !== undefined) return current.object;
    if (current.object.metadata.deletionGracePeriodSeconds === 0) return current.object;
    return lastState(rulesOf(served), current, nowMs).object as KubeObject;
  });
}

const mustWait = new Error('deletion must wait');

function checkPreconditions(served: Served, entry: Entry, { preconditions }: DeleteChoices): void {
  const { group, kind, plural, deletion } = rulesOf(served);
  const { uid, name } = entry.object.metadata;
  // Upstream names the kind here, not the resource; but for those that hold themselves.
  const about = { group, plural: deletion === undefined ? kind : plural };
  const wantUid = preconditions?.uid;
  if (wantUid !== undefined && wantUid !== uid)
    throw conflict(
      about,
      name,
      `the UID in the precondition (${wantUid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
  const wantVersion = preconditions?.resourceVersion;
  if (wantVersion !== undefined && wantVersion !== String(entry.revision))
    throw conflict(
      about,
      name,
      `the ResourceVersion in the precondition (${wantVersion}) does not match the ResourceVersion in record (${entry.revision}). The object might have been modified`,
    );
}

/** The object as it waits for its deletion; the same object when it waits already; undefined when it can go at once. */
function mark(
  served: Served,
  object: Frozen<KubeObject>,
  choices: DeleteChoices,
  nowMs: number,
): KubeObject | Frozen<KubeObject> | undefined {
  const rules = rulesOf(served);
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  const deleting = deletionTimestamp !== undefined;
  const own = deleting && rules.deletion?.beginsOnly ? undefined : rules.deletion;
  const finalizers = own?.beginsOnly
    ? [...(object.metadata.finalizers ?? [])]
    : wantedFinalizers(served, object, choices);
  const requested = choices.gracePeriodSeconds;
  const grace =
    rules.gracePeriodSeconds === undefined
      ? 0
      : Math.max(0, rules.gracePeriodSeconds(object, requested !== undefined && requested < 0 ? 1 : requested));
  const held = own?.isHeld(object) === true;
  if (grace === 0 && finalizers.length === 0 && !held) return undefined;
  const before = object.metadata.finalizers ?? [];
  const sameFinalizers = finalizers.length === before.length && finalizers.every((name, at) => name === before[at]);
  const current = deletionGracePeriodSeconds ?? 0;
  const isGraceTold = own !== undefined || deletionGracePeriodSeconds !== undefined;
  // A deletion under way can be hastened, not delayed.
  if (deleting && sameFinalizers && isGraceTold && grace >= current) return object;
  const next = thaw(object) as KubeObject;
  const { metadata } = next;
  metadata.finalizers = finalizers;
  if (finalizers.length === 0) delete metadata.finalizers;
  if (!deleting || !isGraceTold || grace < current) {
    const since = deleting ? Date.parse(deletionTimestamp) - current * 1000 : nowMs;
    metadata.deletionTimestamp = timeText(since + grace * 1000);
    // Kinds that hold themselves (namespaces) say nothing of a grace period.
    if (own === undefined) metadata.deletionGracePeriodSeconds = grace;
    if (!deleting) own?.begin?.(next);
    if (!deleting && own === undefined && metadata.generation !== undefined && metadata.generation > 0)
      metadata.generation++;
  }
  return next;
}

function wantedFinalizers(served: Served, object: Frozen<KubeObject>, choices: DeleteChoices): string[] {
  const rules = rulesOf(served);
  const before = object.metadata.finalizers ?? [];
  const has = (name: string): boolean => before.includes(name);
  let orphan = has(orphanFinalizer);
  let foreground = has(foregroundFinalizer);
  const policy = choices.propagationPolicy;
  if (rules.defaultPropagation === 'unsupported') orphan = foreground = false;
  else if (policy !== undefined) {
    orphan = policy === 'Orphan';
    foreground = policy === 'Foreground';
  } else if (!orphan && !foreground && rules.defaultPropagation === 'orphan') orphan = true;
  const kept = before.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  if (orphan) kept.push(orphanFinalizer);
  if (foreground) kept.push(foregroundFinalizer);
  if (orphan === has(orphanFinalizer) && foreground === has(foregroundFinalizer)) return [...before];
  return kept;
}

export async function removeCollection(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const choices = await choicesOf(request);
  if (choices.ignoresUnreadable)
    throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [
      fieldError.invalid(unreadable, true, 'is not allowed with DELETECOLLECTION, try again after removing the option'),
    ]);
  const found = await list(parts, request, served, true);
  warnOfOrphans(request, served, choices);
  if (found.type !== 'list') throw new Error('a list answers with a list');
  const removed: Entry[] = [];
  for (const entry of found.list.entries) {
    try {
      await removeOne(parts, request, served, entry.namespace, entry.name, choices);
      removed.push(entry);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return { ...found, list: { ...found.list, entries: removed } };
}

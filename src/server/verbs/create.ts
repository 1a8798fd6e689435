// Owns POST: a new object from body to store. Never names a kind.
import {
  alreadyExists,
  badRequest,
  forbidden,
  isStatusError,
  statusError,
  StatusError,
} from '../../api/status-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { AdmissionRequest } from '../admission/admission.ts';
import { Entry } from '../cache/entry.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { warn } from '../request.ts';
import { TakenMeanwhile } from '../storage/together.ts';
import { hookFor, type Taken } from '../store-hook.ts';
import type { Served } from '../served/served.ts';
import { readResource } from './body.ts';
import { applyAllDefaults } from './decode.ts';
import { recordWrite } from './field-managers.ts';
import { dedupeOwners, fillNew, generateName } from './metadata.ts';
import { writeOptions } from './options.ts';
import type { WriteOptions } from './options.ts';
import { objectKey } from './read.ts';
import { leaving, ready, whenWritten } from './versions.ts';
import { context, prepareNew, rulesOf, toStorage, validateNew } from './strategy.ts';

export async function create(parts: Parts, request: ApiRequest, served: Served): Promise<ApiAnswer> {
  const options = writeOptions(request, 'CreateOptions');
  const object = await readResource(request, served.resource, options.fieldValidation);
  return createObject(parts, request, served, object, options);
}

/** Also for PUT and apply of what is not there. `given` is given away: of the served version, or as stored where apply has `merged` it. */
export async function createObject(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  given: KubeObject,
  options: WriteOptions,
  merged = false,
): Promise<ApiAnswer> {
  const { resource } = served;
  const namespace = resource.namespaced ? request.info.namespace : '';
  fitNamespace(given, resource.namespaced, namespace);
  const version = given.metadata.resourceVersion;
  if (!merged) applyAllDefaults(resource, given, request.arrivedMs);
  const object = merged ? given : toStorage(served, given);
  fillNew(object, parts.random, request.arrivedMs);
  object.metadata.name ??= '';
  dedupeOwners(object, request);
  // Before admission, as upstream does: what plugins and strategies add belongs to nobody.
  if (!merged) await recordWrite(served, undefined, object, options, '', request.arrivedMs);
  const unnamed: AdmissionRequest = {
    operation: 'CREATE',
    served,
    subresource: '',
    namespace,
    name: object.metadata.name,
    object,
    oldObject: undefined,
    user: request.user,
    dryRun: options.dryRun,
    warn: (text) => warn(request, text),
    source: request,
  };
  await naming(object, admitNew(parts, unnamed));
  // Only now, as upstream does: what changes objects sees no name that nobody gave.
  if (!object.metadata.name && object.metadata.generateName)
    object.metadata.name = generateName(object.metadata.generateName, parts.random);
  const admission: AdmissionRequest = { ...unnamed, name: object.metadata.name };
  const rules = rulesOf(served);
  const hook = hookFor(parts.hooks, rules);
  const finish = async (made: KubeObject, asked: AdmissionRequest): Promise<ApiAnswer> => {
    // What a kind takes along is filled in before its rules see the object, as upstream does.
    const taken = await hook?.create?.(made, options);
    let written = false;
    try {
      prepareNew(served, made, context(request, options.dryRun, parts.random));
      validateNew(served, made, request);
      await naming(made, parts.admission.validate(asked, parts));
      const key = objectKey(served, namespace, made.metadata.name);
      const entry = await store(
        parts,
        served,
        key,
        await leaving(served, made),
        { version, dryRun: options.dryRun },
        taken,
      );
      written = !options.dryRun;
      await ready(served, [entry], whenWritten);
      return { type: 'object', code: 201, object: entry.object, entry, served };
    } finally {
      await taken?.done?.(written);
    }
  };
  if (hook?.create === undefined) return finish(object, admission);
  for (let attempt = 1; ; attempt++) {
    // Each choice begins from what was asked for.
    const made = thaw(object as Frozen<KubeObject>) as KubeObject;
    try {
      return await finish(made, { ...admission, object: made });
    } catch (error) {
      if (!(error instanceof TakenMeanwhile)) throw error;
      if (attempt === maxChoices)
        throw statusError('ServerTimeout', 'others take all that is chosen; please try again');
      // What they took must be seen.
      await parts.objects.fresh();
    }
  }
}

async function admitNew(parts: Parts, asked: AdmissionRequest): Promise<void> {
  const { resource, terminating } = asked.served;
  if (terminating === true)
    throw forbidden(resource, asked.name, 'create not allowed while custom resource definition is terminating');
  await parts.admission.admit(asked, parts);
}

/** How often others may be faster to take what was chosen for a new object. */
const maxChoices = 20;

/** What has no name yet is called so when admission refuses it. */
async function naming({ metadata }: KubeObject, admission: Promise<void>): Promise<void> {
  try {
    await admission;
  } catch (error) {
    if (metadata.name !== '' || !isStatusError(error, 'Forbidden')) throw error;
    const { status } = error;
    const name = metadata.generateName || 'Unknown';
    throw new StatusError({
      ...status,
      message: (status.message ?? '').replace(/^(\S+) ""/, `$1 "${name}"`),
      details: { ...status.details, name },
    });
  }
}

async function store(
  parts: Parts,
  served: Served,
  key: string,
  made: KubeObject,
  { version, dryRun }: { readonly version: string | undefined; readonly dryRun: boolean },
  taken: Taken | undefined,
): Promise<Entry> {
  const collection = served.collection!;
  const { group, plural } = served.resource;
  // It is the store that refuses it, which a dry run does not come to.
  if (!dryRun && version !== undefined && /^\d+$/.test(version) && version !== '0')
    throw badRequest('resourceVersion should not be set on objects to be created');
  if (dryRun && collection.cache.get(key) !== undefined) throw alreadyExists(served.resource, made.metadata.name);
  const object = freeze(collection.codec.canonical(made)) as KubeObject;
  const { codec } = collection;
  if (dryRun) {
    // What nobody stores keeps the version that it was sent with.
    const revision = Number(version ?? 0);
    const shown = codec.completesReads === true ? codec.decode(codec.encode(object)) : object;
    return Entry.of(key, Number.isSafeInteger(revision) ? revision : 0, shown);
  }
  try {
    return await parts.objects.create(collection, key, object, taken?.with?.(object));
  } catch (error) {
    if (
      object.metadata.generateName &&
      error instanceof Error &&
      (error as { reason?: unknown }).reason === 'AlreadyExists'
    )
      throw statusError(
        'AlreadyExists',
        `${plural} "${object.metadata.name}" already exists, the server was not able to generate a unique name for the object`,
        {
          name: object.metadata.name,
          ...(group !== '' && { group }),
          kind: plural,
          retryAfterSeconds: 1,
        },
      );
    throw error;
  }
}

/** The path's namespace is the object's, whether it says so or not. */
export function fitNamespace(object: KubeObject, namespaced: boolean, namespace: string): void {
  const given = object.metadata.namespace;
  if (!namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (given === undefined || given === '') object.metadata.namespace = namespace;
  else checkNamespace(given, namespace);
}

/** Throws BadRequest for an object of another namespace than the request's. */
export function checkNamespace(said: string, namespace: string): void {
  if (said !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

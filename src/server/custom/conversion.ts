// Owns the ways between the versions of a custom kind: strategy None here, strategy Webhook by whoever calls. Knows no request.
import { writeJson } from '../../api/codec/json-write.ts';
import { randomUuid } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import { setOwn } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { validateAnnotations, validateLabels } from '../../api/object-meta.ts';
import type { Conversion } from '../resource.ts';
import { isObject } from './structural.ts';
import type { JsonObject } from './structural.ts';

/** Converts objects, which are all of other versions, in one call; throws ConversionFailed. */
export type ConvertAll = (objects: readonly Frozen<KubeObject>[], apiVersion: string) => Promise<KubeObject[]>;

/** The webhook did not answer, or not as it must. */
export class ConversionFailed extends Error {
  override readonly name = 'ConversionFailed';
}

export function copy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const result: JsonObject = {};
  for (const key of Object.keys(value)) setOwn(result, key, copy((value as JsonObject)[key]));
  return result;
}

/** Takes away what a version does not know, in place. */
export type Fit = (object: JsonObject) => void;

/** The same object under another apiVersion. */
export function plainConversion(apiVersion: string, storage: string, fit: Fit): Conversion {
  const renamed = (object: Frozen<KubeObject>, to: string): KubeObject => ({
    ...(copy(object) as KubeObject),
    apiVersion: to,
  });
  return {
    calls: false,
    show(object) {
      if (object.apiVersion === apiVersion) return object;
      const seen = renamed(object, apiVersion);
      fit(seen as unknown as JsonObject);
      return seen as Frozen<KubeObject>;
    },
    prepare: () => undefined,
    store: (object) => (object.apiVersion === storage ? (object as KubeObject) : renamed(object, storage)),
    as: (object, to) => renamed(object, to),
  };
}

/** Objects in one call at most. */
const batchSize = 500;

export function webhookConversion(apiVersion: string, storage: string, fit: Fit, convertAll: ConvertAll): Conversion {
  /** By the object as stored: each is converted once. */
  const known = new WeakMap<object, Frozen<KubeObject>>();
  const pending = new WeakMap<object, Promise<void>>();
  const isKnown = (object: Frozen<KubeObject>): boolean => object.apiVersion === apiVersion || known.has(object);

  async function convert(objects: readonly Frozen<KubeObject>[]): Promise<void> {
    const converted = await convertAll(objects, apiVersion);
    converted.forEach((object, at) => {
      fit(object as unknown as JsonObject);
      known.set(objects[at]!, object as Frozen<KubeObject>);
    });
  }

  async function convertInBatches(objects: readonly Frozen<KubeObject>[]): Promise<void> {
    // What others have asked for already may come with them; where that fails, each asks for its own.
    const theirs = new Set(objects.flatMap((object) => pending.get(object) ?? []));
    for (const one of theirs) await one.catch(() => undefined);
    const left = objects.filter((object) => !isKnown(object));
    for (let at = 0; at < left.length; at += batchSize) {
      const batch = left.slice(at, at + batchSize);
      const work = convert(batch);
      for (const object of batch) pending.set(object, work);
      try {
        await work;
      } finally {
        for (const object of batch) pending.delete(object);
      }
    }
  }

  return {
    calls: true,
    show: (object) => (object.apiVersion === apiVersion ? object : known.get(object)),
    prepare(objects) {
      const left = objects.filter((object) => !isKnown(object));
      return left.length === 0 ? undefined : convertInBatches(left);
    },
    async store(object) {
      if (object.apiVersion === storage) return object as KubeObject;
      return (await convertAll([object], storage))[0]!;
    },
    async as(object, to) {
      return object.apiVersion === to ? (object as KubeObject) : (await convertAll([object], to))[0]!;
    },
  };
}

/** The body of a review that asks for `objects` as `apiVersion`. */
export function reviewOf(
  version: 'v1' | 'v1beta1',
  objects: readonly Frozen<KubeObject>[],
  apiVersion: string,
  random: Random,
): { readonly uid: string; readonly body: string } {
  const uid = randomUuid(random);
  const body = {
    kind: 'ConversionReview',
    apiVersion: `apiextensions.k8s.io/${version}`,
    request: { uid, desiredAPIVersion: apiVersion, objects },
  };
  return { uid, body: writeJson(body) };
}

/** What came back for `objects`, their metadata put back. Throws ConversionFailed with what is wrong. */
export function convertedObjects(
  answer: unknown,
  asked: { readonly version: 'v1' | 'v1beta1'; readonly uid: string; readonly apiVersion: string },
  objects: readonly Frozen<KubeObject>[],
  about: string,
): KubeObject[] {
  const failed = (why: string): ConversionFailed => new ConversionFailed(`conversion webhook for ${about} ${why}`);
  const given = responseOf(answer, asked, (why) => failed(`failed: ${why}`));
  if (given.length !== objects.length) throw failed(`returned ${given.length} objects, expected ${objects.length}`);
  return given.map((object, at) => {
    const where = objects.length === 1 ? 'invalid object at index 0' : `invalid converted object at index ${at}`;
    if (!isObject(object)) throw failed(`returned ${where}: it is no object`);
    const wrong = whatIsWrong(object, objects[at]!, asked.apiVersion);
    if (wrong !== undefined) throw failed(`returned ${where}: ${wrong}`);
    return {
      ...object,
      metadata: restored(object, objects[at]!, (why) => failed(`returned invalid metadata: ${why}`)),
    } as unknown as KubeObject;
  });
}

function responseOf(
  answer: unknown,
  { version, uid }: { readonly version: string; readonly uid: string },
  failed: (why: string) => Error,
): readonly unknown[] {
  if (!isObject(answer)) throw failed('the answer is no object');
  if (version === 'v1' && (answer['kind'] !== 'ConversionReview' || answer['apiVersion'] !== 'apiextensions.k8s.io/v1'))
    throw failed(
      `expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got ${String(answer['apiVersion'] ?? '')}, Kind=${String(answer['kind'] ?? '')}`,
    );
  const { response } = answer;
  if (!isObject(response)) throw failed('no response provided');
  if (version === 'v1' && response['uid'] !== uid)
    throw failed(`expected response.uid="${uid}", got ${writeJson(response['uid'] ?? '')}`);
  const result = isObject(response['result']) ? response['result'] : {};
  if (result['status'] !== 'Success') {
    const { message } = result;
    throw failed(
      typeof message === 'string' && message !== ''
        ? message
        : `response.result.status was '${String(result['status'] ?? '')}', not 'Success'`,
    );
  }
  return Array.isArray(response['convertedObjects']) ? response['convertedObjects'] : [];
}

function whatIsWrong(object: JsonObject, original: Frozen<KubeObject>, apiVersion: string): string | undefined {
  if (object['apiVersion'] !== apiVersion)
    return `invalid groupVersion (expected ${apiVersion}, received ${String(object['apiVersion'] ?? '')})`;
  if (object['kind'] !== original.kind)
    return `invalid kind (expected ${original.kind}, received ${String(object['kind'] ?? '')})`;
  const metadata = isObject(object['metadata']) ? object['metadata'] : {};
  for (const name of ['name', 'namespace', 'uid'] as const) {
    const [before, after] = [original.metadata[name] ?? '', metadata[name] ?? ''];
    if (before !== after) return `must have the same ${name === 'uid' ? 'UID' : name}: ${before} != ${String(after)}`;
  }
  return undefined;
}

/** Of the metadata a webhook may change labels and annotations, and nothing else. */
function restored(object: JsonObject, original: Frozen<KubeObject>, failed: (why: string) => Error): JsonObject {
  const given = object['metadata'];
  if (!isObject(given)) throw failed('missing metadata in converted object');
  const metadata = copy(original.metadata) as JsonObject;
  for (const name of ['labels', 'annotations'] as const) {
    const value = given[name] ?? undefined;
    if (value === undefined) {
      delete metadata[name];
      continue;
    }
    if (!isObject(value)) throw failed(`invalid metadata.${name} in converted object`);
    for (const [key, text] of Object.entries(value))
      if (typeof text !== 'string') throw failed(`metadata.${name}[${key}] must be a string in converted object`);
    const check = name === 'labels' ? validateLabels : validateAnnotations;
    const [problem] = check(value as Record<string, string>, `metadata.${name}`);
    if (problem !== undefined) throw failed(`${problem.field}: ${problem.message}`);
    metadata[name] = value;
  }
  return metadata;
}

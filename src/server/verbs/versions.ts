// Owns the way of objects between the version that is stored and the one a request speaks: custom kinds are judged, changed and shown as asked for. Converts nothing itself.
import { apiVersionOf } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { internalError, isStatusError, StatusError } from '../../api/status-error.ts';
import { Entry } from '../cache/entry.ts';
import type { Served } from '../served/served.ts';
import { toStorage } from './strategy.ts';

/** What a conversion that fails is to whoever asked. Others than failures of conversion pass as they are. */
export type Failing = (error: unknown) => unknown;

const isFailure = (error: unknown): error is Error => error instanceof Error && error.name === 'ConversionFailed';

/** Readers of one object are told that the server failed. */
export const whenRead: Failing = (error) => (isFailure(error) ? internalError(error.message) : error);

/** Writers are told without a reason, as upstream tells what its codecs throw. */
export const whenWritten: Failing = (error) =>
  isFailure(error)
    ? new StatusError({
        apiVersion: 'v1',
        kind: 'Status',
        metadata: {},
        status: 'Failure',
        message: error.message,
        code: 500,
      })
    : error;

/** A list fails as a whole, by the first object that cannot be read. */
export function whenListed(served: Served, entries: readonly Entry[]): Failing {
  const { group, plural } = served.resource;
  return (error) => {
    if (!isFailure(error) || isStatusError(error)) return error;
    const key = `/registry/${group}/${plural}/${entries[0]?.key ?? ''}`;
    return new StatusError({
      apiVersion: 'v1',
      kind: 'Status',
      metadata: {},
      status: 'Failure',
      message: `failed to list: unable to decode ${key}: ${error.message}`,
      reason: 'StorageReadError',
      details: {
        name: 'list',
        group,
        kind: plural,
        causes: [{ reason: 'UnexpectedServerResponse', message: error.message, field: key }],
      },
      code: 500,
    });
  };
}

/** Resolves when all can be shown in the served version; undefined: they can already. */
export function ready(served: Served, entries: readonly Entry[], failing: Failing): Promise<void> | undefined {
  const { conversion } = served.resource;
  if (conversion?.calls !== true) return undefined;
  const work = conversion.prepare(entries.map(({ object }) => object));
  return work?.catch((error: unknown) => {
    throw failing(error);
  });
}

/** The entry with its object in the version that rules and admission see: the stored one for built-in kinds, the request's for custom ones. */
export function entered(served: Served, entry: Entry, failing: Failing = whenWritten): Entry | Promise<Entry> {
  const { conversion } = served.resource;
  if (conversion === undefined || entry.object.apiVersion === apiVersionOf(served.resource)) return entry;
  const made = (): Entry => Entry.of(entry.key, entry.revision, conversion.show(entry.object)!);
  const wait = ready(served, [entry], failing);
  return wait === undefined ? made() : wait.then(made);
}

/** The way back, before it is stored. */
export async function leaving(served: Served, object: KubeObject): Promise<KubeObject> {
  try {
    return (await served.resource.conversion?.store(object as Frozen<KubeObject>)) ?? object;
  } catch (error) {
    throw whenWritten(error);
  }
}

/** What a rule made of an object in the version `as`, in the version that the request's other rules see. */
export function backFrom(as: Served, served: Served, object: KubeObject): KubeObject | Promise<KubeObject> {
  const { conversion } = served.resource;
  if (conversion === undefined) return toStorage(as, object);
  const shown = conversion.show(object as Frozen<KubeObject>);
  if (shown !== undefined) return shown as KubeObject;
  const back = async (): Promise<KubeObject> =>
    conversion.as(object as Frozen<KubeObject>, apiVersionOf(served.resource));
  return back().catch((error: unknown) => {
    throw whenRead(error);
  });
}

// Owns how a write that is no apply moves ownership: what changed belongs to its manager alone, what is gone to nobody.
import type { ManagedFieldsEntry } from '../generated/meta.v1.ts';
import type { Schema } from '../schema/schema.ts';
import { compare, type Comparison } from './compare.ts';
import { reconciled } from './field-set.ts';
import { difference, type Fields, fieldsOfPaths, intersection, isEmpty, union } from './fields.ts';
import {
  capUpdaters,
  type Claim,
  type Claims,
  decodeClaims,
  encodeClaims,
  type Entries,
  identityOf,
  isReset,
  noClaims,
  timeText,
  withFields,
} from './managed-fields.ts';
import type { ResetFields } from './reset-fields.ts';
import { NotTypable } from './structure.ts';

/** An object in one of its versions. */
export interface Versioned {
  readonly object: unknown;
  readonly schema: Schema;
}

/** The same object in another version; undefined when that version is not served (its claims are then dropped). */
export type ConvertVersion = (object: unknown, apiVersion: string) => Versioned | undefined;

export interface WriteContext {
  /** Of the request's version. */
  readonly schema: Schema;
  readonly apiVersion: string;
  /** "status", "scale", …; absent for the object itself. */
  readonly subresource?: string;
  /** What writes to this endpoint cannot change, so that they never own it. */
  readonly resetFields?: ResetFields;
  /** Needed where a kind has several versions; absent: claims in other versions are dropped. */
  readonly convert?: ConvertVersion;
  readonly nowMs: number;
}

interface WithMetadata {
  readonly metadata?: { readonly managedFields?: unknown; readonly uid?: string };
}

export interface UpdateRequest extends WriteContext {
  /** In the request's version; undefined on create. */
  readonly live: object | undefined;
  /** What will be stored, in the request's version. Its own managedFields are what the client sent. */
  readonly next: object;
  /** From `managerName`. */
  readonly manager: string;
}

/**
 * metadata.managedFields after a create, an update or a patch: undefined when there are to be none. Entries that did not
 * change are those of `live`, by reference.
 */
export function managedFieldsForUpdate(request: UpdateRequest): ManagedFieldsEntry[] | undefined {
  const { live, next, subresource } = request;
  const liveEntries = (live as WithMetadata | undefined)?.metadata?.managedFields as Entries | undefined;
  const claims = claimsOf(liveEntries, (next as WithMetadata).metadata?.managedFields, subresource !== undefined);
  if (claims.size === 0 && live !== undefined) return undefined;
  try {
    const moved = updateClaims(request, claims);
    capUpdaters(moved);
    return encodeClaims(moved);
  } catch (error) {
    // Upstream leaves managedFields alone rather than refuse a write whose lists it cannot read; validation follows.
    if (error instanceof NotTypable) return encodeClaims(claims);
    throw error;
  }
}

function claimsOf(live: Entries | undefined, sent: unknown, liveOnly: boolean): Claims {
  if (!liveOnly) {
    if (isReset(sent)) return noClaims;
    const claims = decodeClaims(sent as Entries | undefined);
    if (claims !== undefined && claims.size > 0) return claims;
  }
  return decodeClaims(live) ?? noClaims;
}

/** What the server itself sets, and so nobody owns. */
const stripped = fieldsOfPaths([
  ['apiVersion'],
  ['kind'],
  ['metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => ['metadata', name]),
]);

export function withoutServerFields(fields: Fields): Fields {
  return difference(fields, stripped);
}

export function updateClaims(request: UpdateRequest, before: Claims): Map<string, Claim> {
  const { apiVersion, manager, subresource = '', nowMs } = request;
  const { claims, comparison } = moveClaims(request, before, undefined, request.live ?? {}, request.next, true);
  const changed = withoutServerFields(comparison.changed);
  if (isEmpty(changed)) return claims;
  const mine = { manager: manager === '' ? 'unknown' : manager, operation: 'Update', apiVersion, subresource } as const;
  const identity = identityOf(mine);
  const held = claims.get(identity);
  const fields = held === undefined ? changed : union(held.fields, changed);
  const time = timeOf(subresource, held, nowMs);
  const same = held !== undefined && held.fields === fields && held.time === time && held.entry !== undefined;
  claims.set(identity, same ? held : { ...mine, fields, time });
  return claims;
}

/** Claims through "scale" carry no time: upstream writes them to the parent object without. */
export function timeOf(subresource: string, held: Claim | undefined, nowMs: number): string | undefined {
  return subresource === 'scale' ? held?.time : timeText(nowMs);
}

export interface Moved {
  readonly claims: Map<string, Claim>;
  /** In the request's version, without what the endpoint resets. */
  readonly comparison: Comparison;
  /** What others own and this write changes, by manager; empty when `force`. */
  readonly conflicts: readonly { readonly claim: Claim; readonly fields: Fields }[];
}

/** Takes what changed, and what is gone, from everyone but the claim `own`. */
export function moveClaims(
  context: WriteContext,
  before: Claims,
  own: string | undefined,
  live: object,
  next: object,
  force: boolean,
): Moved {
  // What is applied counts as it was sent; all else has been through Go.
  const literal = own !== undefined;
  const comparison = comparisonIn(
    context,
    { object: live, schema: context.schema },
    { object: next, schema: context.schema },
    context.apiVersion,
    literal,
  );
  const others = new Map<string, Comparison | undefined>([[context.apiVersion, comparison]]);
  const claims = new Map<string, Claim>();
  const conflicts: { claim: Claim; fields: Fields }[] = [];
  for (const [identity, given] of before) {
    const claim =
      given.apiVersion === context.apiVersion ? withFields(given, reconciled(context.schema, given.fields)) : given;
    if (identity === own) {
      if (!isEmpty(claim.fields)) claims.set(identity, claim);
      continue;
    }
    const version = claim.apiVersion;
    if (!others.has(version)) others.set(version, convertedComparison(context, live, next, version));
    const found = others.get(version);
    if (found === undefined) continue;
    const taken = intersection(claim.fields, found.changed);
    if (!isEmpty(taken) && !force) conflicts.push({ claim, fields: taken });
    const rest = difference(isEmpty(taken) ? claim.fields : difference(claim.fields, taken), found.removed);
    if (!isEmpty(rest)) claims.set(identity, withFields(claim, rest));
  }
  return { claims, comparison, conflicts };
}

function convertedComparison(
  context: WriteContext,
  live: object,
  next: object,
  version: string,
): Comparison | undefined {
  const before = context.convert?.(live, version);
  const after = context.convert?.(next, version);
  return before === undefined || after === undefined ? undefined : comparisonIn(context, before, after, version);
}

function comparisonIn(
  context: WriteContext,
  before: Versioned,
  after: Versioned,
  version: string,
  literal = false,
): Comparison {
  const { changed, removed } = compare(after.schema, before.object, after.object, literal);
  const keep = context.resetFields;
  if (keep === undefined) return { changed, removed };
  return { changed: keep(changed, version), removed: keep(removed, version) };
}

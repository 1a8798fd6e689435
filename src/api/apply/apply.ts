// Owns server-side apply: a manager's whole opinion merged into the object, what it no longer says removed, conflicts found.
import type { ManagedFieldsEntry } from '../generated/meta.v1.ts';
import { badRequest, type StatusError } from '../status-error.ts';
import { checkApplied } from './check.ts';
import { applyConflict, type Conflict } from './conflicts.ts';
import { fieldSetOf, withNamedFields } from './field-set.ts';
import { difference, emptyFields, type Fields, intersection, isEmpty, union } from './fields.ts';
import { allowedByLastApplied, syncLastApplied } from './last-applied.ts';
import {
  type Claim,
  type Claims,
  decodeClaims,
  encodeClaims,
  type Entries,
  identityOf,
  noClaims,
  withTime,
} from './managed-fields.ts';
import { mergeApplied, removeFields } from './merge.ts';
import { equalJson, isMap, type JsonMap, NotTypable } from './structure.ts';
import { moveClaims, timeOf, updateClaims, withoutServerFields, type WriteContext } from './update.ts';

export interface ApplyRequest extends WriteContext {
  /** In the request's version; undefined when there is no such object. */
  readonly live: object | undefined;
  /** The body as the client sent it, parsed; it is not changed. */
  readonly applied: object;
  /** The query's fieldManager. */
  readonly manager: string;
  readonly force: boolean;
  /** What the body must say that it is. */
  readonly kind?: string;
}

export interface ApplyResult {
  /** The merged object, not yet defaulted nor validated; managedFields left as in `live`. */
  readonly object: JsonMap;
  /** False: nothing but ownership moved, `object` is `live`. */
  readonly changed: boolean;
  /** Its metadata.managedFields; undefined for none. */
  readonly managedFields: ManagedFieldsEntry[] | undefined;
}

/**
 * Throws StatusError: 409 with causes for conflicts, 400 for a body that is not of the schema, of another version, or
 * that brings managedFields.
 */
export function applyConfiguration(request: ApplyRequest): ApplyResult {
  checkBody(request);
  try {
    return applyChecked(request);
  } catch (error) {
    if (error instanceof NotTypable) throw unreadableLive(request, error);
    throw error;
  }
}

function applyChecked(request: ApplyRequest): ApplyResult {
  const { live = {}, applied } = request;
  const entries = (live as { metadata?: { managedFields?: Entries } }).metadata?.managedFields;
  const before = firstClaims(request, decodeClaims(entries) ?? noClaims);
  let attempt = attemptApply(request, live, before, request.force);
  if (attempt.conflicts.length > 0 && request.manager === 'kubectl') {
    const left = beyondLastApplied(request, live, attempt.conflicts);
    if (left.length > 0) throw applyConflict(left);
    attempt = attemptApply(request, live, before, true);
  }
  if (attempt.conflicts.length > 0) throw applyConflict(attempt.conflicts);
  let { object } = attempt;
  if (request.manager === 'kubectl') object = syncLastApplied(object, applied as JsonMap);
  return { object, changed: object !== live, managedFields: encodeClaims(attempt.claims) };
}

/** Who applies to an object that nobody is known to own must not take it all over: one manager holds what was there. */
const beforeFirstApply = 'before-first-apply';

function firstClaims(request: ApplyRequest, claims: Claims): Claims {
  if (claims.size > 0 || request.live === undefined) return claims;
  return updateClaims({ ...request, live: undefined, next: request.live, manager: beforeFirstApply }, claims);
}

function checkBody(request: ApplyRequest): void {
  const { applied, apiVersion, schema } = request;
  if (!isMap(applied)) throw badRequest('the applied configuration must be an object');
  const { apiVersion: version = '', kind = '', metadata } = applied;
  if (version !== apiVersion || (request.kind !== undefined && kind !== request.kind))
    throw badRequest(`invalid object type: ${String(version)}, Kind=${String(kind)}`);
  const problems = checkApplied(schema, applied);
  if (problems.length === 0) {
    if (isMap(metadata) && metadata['managedFields'] !== undefined && metadata['managedFields'] !== null)
      throw badRequest('metadata.managedFields must be nil');
    return;
  }
  const { namespace, name } = (isMap(metadata) ? metadata : {}) as { namespace?: string; name?: string };
  const place = `${namespace === undefined ? '' : `${namespace}/`}${name ?? ''}; ${apiVersion}, Kind=${String(kind)}`;
  throw badRequest(`failed to create typed patch object (${place}): ${problems.join('\n')}`);
}

/** What is stored need not have the keys that its lists ask for: not all kinds have them validated. Upstream answers 500. */
function unreadableLive({ schema, live, apiVersion, kind }: ApplyRequest, error: NotTypable): StatusError {
  const { namespace, name } =
    (live as { metadata?: { namespace?: string; name?: string } } | undefined)?.metadata ?? {};
  const place = `${namespace === undefined ? '' : `${namespace}/`}${name ?? ''}; ${apiVersion}, Kind=${kind ?? ''}`;
  const problem = checkApplied(schema, live).find((text) => text.endsWith(error.message)) ?? error.message;
  return badRequest(
    `failed to create manager for existing fields: failed to convert new object (${place}) to smd typed: ${problem}`,
  );
}

interface Attempt {
  readonly object: JsonMap;
  readonly claims: Claims;
  readonly conflicts: readonly Conflict[];
}

function attemptApply(request: ApplyRequest, live: object, before: Claims, force: boolean): Attempt {
  const { schema, applied, apiVersion, manager, subresource = '', resetFields, nowMs } = request;
  const mine = { manager, operation: 'Apply', apiVersion, subresource } as const;
  const identity = identityOf(mine);
  const held = before.get(identity);
  const said = fieldSetOf(schema, applied);
  const fields = resetFields === undefined ? said : resetFields(said, apiVersion);
  const claim: Claim = { ...mine, fields, time: held?.time };

  const merged = mergeApplied(schema, live, applied);
  const claims = new Map(before).set(identity, claim);
  const object = prune(request, merged, claims, held) as JsonMap;
  const moved = moveClaims(request, claims, identity, live, object, force);
  const changed = object !== live && !equalJson(object, live);
  const own = withoutServerFields(fields);
  if (isEmpty(own)) moved.claims.delete(identity);
  else
    moved.claims.set(
      identity,
      kept(held, { ...claim, fields: own }, changed ? timeOf(subresource, held, nowMs) : undefined),
    );
  return { object: changed ? object : (live as JsonMap), claims: moved.claims, conflicts: moved.conflicts };
}

/** The old entry when it says the same, so that nothing is written. */
function kept(held: Claim | undefined, claim: Claim, time: string | undefined): Claim {
  const same = held !== undefined && held.apiVersion === claim.apiVersion && equalJson(held.fields, claim.fields);
  const base = same ? held : claim;
  return time === undefined ? base : withTime(base, time);
}

/** Takes away what the manager owned and no longer says, unless somebody else owns it. */
function prune(request: ApplyRequest, merged: unknown, claims: Claims, held: Claim | undefined): unknown {
  if (held === undefined || isEmpty(held.fields)) return merged;
  const { apiVersion } = request;
  const view =
    held.apiVersion === apiVersion
      ? { object: merged, schema: request.schema }
      : request.convert?.(merged, held.apiVersion);
  if (view === undefined) return merged;
  const { object, schema } = view;
  const last = withNamedFields(schema, held.fields);
  const ownedSame = withNamedFields(schema, ownedAt(claims, held.apiVersion));
  // Nothing is given up: the usual apply of the same configuration ends here.
  if (isEmpty(difference(last, ownedSame))) return merged;

  const all = withNamedFields(schema, fieldSetOf(schema, object));
  let pruned = removeFields(schema, object, last);
  pruned = addBack(schema, object, all, pruned, ownedSame);
  for (const version of new Set([...claims.values()].map((claim) => claim.apiVersion))) {
    if (version === held.apiVersion) continue;
    pruned = addBackAt(request, version, held.apiVersion, object, pruned, ownedAt(claims, version));
  }
  // What only conversion or defaults had a hand in is not the manager's to remove.
  const gone = difference(all, withNamedFields(schema, fieldSetOf(schema, pruned)));
  const result = removeFields(schema, object, intersection(gone, last));
  return held.apiVersion === apiVersion ? result : (request.convert?.(result, apiVersion)?.object ?? merged);
}

function ownedAt(claims: Claims, apiVersion: string): Fields {
  let owned = emptyFields;
  for (const claim of claims.values()) if (claim.apiVersion === apiVersion) owned = union(owned, claim.fields);
  return owned;
}

/** `object` without what is neither in `pruned` nor owned. */
function addBack(
  schema: ApplyRequest['schema'],
  object: unknown,
  all: Fields,
  pruned: unknown,
  owned: Fields,
): unknown {
  const left = withNamedFields(schema, fieldSetOf(schema, pruned));
  return removeFields(schema, object, difference(all, union(left, owned)));
}

function addBackAt(
  request: ApplyRequest,
  version: string,
  base: string,
  object: unknown,
  pruned: unknown,
  owned: Fields,
): unknown {
  const convert = (value: unknown, to: string) =>
    to === request.apiVersion && base === to ? { object: value, schema: request.schema } : request.convert?.(value, to);
  const whole = convert(object, version);
  const part = convert(pruned, version);
  if (whole === undefined || part === undefined) return pruned;
  const { schema } = whole;
  const all = withNamedFields(schema, fieldSetOf(schema, whole.object));
  const result = addBack(schema, whole.object, all, part.object, withNamedFields(schema, owned));
  return convert(result, base)?.object ?? pruned;
}

function beyondLastApplied(request: ApplyRequest, live: object, conflicts: readonly Conflict[]): Conflict[] {
  const allowed = allowedByLastApplied(request.schema, request.apiVersion, live);
  if (allowed === undefined) return [...conflicts];
  return conflicts
    .map(({ claim, fields }) => ({ claim, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isEmpty(fields));
}

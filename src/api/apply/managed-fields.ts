// Owns metadata.managedFields: entries to managers and back, their identity and order, and the limit of ten updaters.
import type { ManagedFieldsEntry } from '../generated/meta.v1.ts';
import type { Frozen } from '../meta.ts';
import { compareText } from '../../base/text.ts';
import { type Fields, parseFields, sameFields, union } from './fields.ts';
import { equalJson } from './structure.ts';
import { sharedJson } from '../codec/shared-json.ts';
import { timeOf } from '../time.ts';

export type Entries = readonly Frozen<ManagedFieldsEntry>[];

/** One manager's claim. */
export interface Claim {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  /** The version in which `fields` are said. */
  readonly apiVersion: string;
  readonly subresource: string;
  readonly fields: Fields;
  /** RFC 3339, whole seconds, as written; undefined when the claim came without a change of the object. */
  readonly time: string | undefined;
  /** The entry that says just this, to be used again. */
  readonly entry?: Frozen<ManagedFieldsEntry>;
}

/** By identity: see `identityOf`. */
export type Claims = ReadonlyMap<string, Claim>;

export const noClaims: Claims = new Map();

/** What makes two entries one manager's: for appliers the version does not count. */
export function identityOf(claim: Pick<Claim, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  const version = claim.operation === 'Apply' ? '' : claim.apiVersion;
  return JSON.stringify([claim.manager, claim.operation, version, claim.subresource]);
}

/** Undefined when an entry is malformed: then nothing of the list counts. */
export function decodeClaims(entries: Entries | undefined): Claims | undefined {
  if (entries === undefined || entries === null || entries.length === 0) return noClaims;
  if (!Array.isArray(entries)) return undefined;
  const claims = new Map<string, Claim>();
  for (const entry of entries as Entries) {
    const claim = decodeEntry(entry);
    if (claim === undefined) return undefined;
    claims.set(identityOf(claim), claim);
  }
  return claims;
}

function decodeEntry(entry: Frozen<ManagedFieldsEntry> | null): Claim | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined;
  const { manager = '', operation, apiVersion, subresource = '', fieldsType, fieldsV1, time } = entry;
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  if (typeof apiVersion !== 'string' || apiVersion === '' || fieldsType !== 'FieldsV1') return undefined;
  const fields = fieldsV1 === undefined ? parseFields({}) : parseFields(fieldsV1);
  if (fields === undefined) return undefined;
  const claim = { manager, operation, apiVersion, subresource, fields, time: time ?? undefined } as const;
  return fields === (fieldsV1 as unknown) ? { ...claim, entry } : claim;
}

/** True for what clients send to forget all managers: an empty list, or one empty entry. */
export function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries)) return false;
  if (entries.length === 0) return true;
  const [first] = entries as unknown[];
  return entries.length === 1 && typeof first === 'object' && first !== null && Object.keys(first).length === 0;
}

/** In upstream's order: appliers first, then by time, manager, version, subresource. Undefined when there are none. */
export function encodeClaims(claims: Claims): ManagedFieldsEntry[] | undefined {
  if (claims.size === 0) return undefined;
  const sorted = [...claims.values()].sort(compareClaims);
  return sorted.map((claim) => (claim.entry as ManagedFieldsEntry | undefined) ?? encodeClaim(claim));
}

/** Field by field: an object that was spread and then frozen would have a shape of its own, which is larger than itself. */
function encodeClaim(claim: Claim): ManagedFieldsEntry {
  const entry: ManagedFieldsEntry = {};
  if (claim.manager !== '') entry.manager = claim.manager;
  entry.operation = claim.operation;
  entry.apiVersion = claim.apiVersion;
  if (claim.time !== undefined) entry.time = claim.time;
  entry.fieldsType = 'FieldsV1';
  entry.fieldsV1 = sharedJson(claim.fields);
  if (claim.subresource !== '') entry.subresource = claim.subresource;
  return Object.freeze(entry);
}

function compareClaims(a: Claim, b: Claim): number {
  if (a.operation !== b.operation) return a.operation === 'Apply' ? -1 : 1;
  return (
    secondsOf(a) - secondsOf(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

function secondsOf(claim: Claim): number {
  if (claim.time === undefined) return 0;
  const ms = Date.parse(claim.time);
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1000);
}

/** "2026-01-02T03:04:05Z". */
export function timeText(nowMs: number): string {
  return timeOf(nowMs);
}

/** The same claim with other fields; the old entry no longer says it. */
export function withFields(claim: Claim, fields: Fields): Claim {
  if (fields === claim.fields) return claim;
  const { entry: _, ...rest } = claim;
  return { ...rest, fields };
}

export function withTime(claim: Claim, time: string): Claim {
  if (time === claim.time) return claim;
  const { entry: _, ...rest } = claim;
  return { ...rest, time };
}

/** How many updaters are told apart before the oldest of each version are counted together. */
const maxUpdaters = 10;
const ancient = 'ancient-changes';

/** Beyond ten updaters the oldest become one manager a version, "ancient-changes". */
export function capUpdaters(claims: Map<string, Claim>): void {
  const updaters = [...claims].filter(([, claim]) => claim.operation === 'Update');
  let count = updaters.length;
  if (count <= maxUpdaters) return;
  updaters.sort(([a, left], [b, right]) => secondsOf(left) - secondsOf(right) || compareText(a, b));
  const firstOfVersion = new Map<string, string>();
  for (const [identity, claim] of updaters) {
    if (count <= maxUpdaters) break;
    const { apiVersion } = claim;
    const first = firstOfVersion.get(apiVersion);
    if (first === undefined) {
      firstOfVersion.set(apiVersion, identity);
      continue;
    }
    const bucket: Claim = {
      manager: ancient,
      operation: 'Update',
      apiVersion,
      subresource: '',
      fields: {},
      time: undefined,
    };
    const bucketIdentity = identityOf(bucket);
    const held = claims.get(bucketIdentity) ?? claims.get(first);
    if (!claims.has(bucketIdentity)) claims.delete(first);
    claims.set(bucketIdentity, {
      ...bucket,
      fields: union(claim.fields, held?.fields ?? {}),
      time: claim.time,
    });
    if (identity !== bucketIdentity) claims.delete(identity);
    count--;
  }
}

/** True when two lists differ in nothing but times: such a change alone is not worth a write. */
export function sameButTimes(a: Entries | undefined, b: Entries | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined || a.length !== b.length) return false;
  const left = decodeClaims(a);
  const right = decodeClaims(b);
  if (left === undefined || right === undefined) return equalJson(a, b);
  for (const [identity, claim] of left) {
    const other = right.get(identity);
    if (other?.apiVersion !== claim.apiVersion || !sameFields(other.fields, claim.fields)) return false;
  }
  return left.size === right.size;
}

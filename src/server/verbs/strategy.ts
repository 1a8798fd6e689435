// Owns the order in which a kind's rules run on create and update: prepare, validate, warn; with what holds for kinds without rules.
import type { Random } from '../../base/random.ts';
import { badRequest, invalid } from '../../api/status-error.ts';
import { invalid as invalidField } from '../../api/field-error.ts';
import { pathSegmentName } from '../../api/names.ts';
import { forgiveOldValues } from '../../api/validation/node-selector.ts';
import type { FieldError } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { ApiRequest } from '../request.ts';
import { warn } from '../request.ts';
import type { Resource, StrategyContext } from '../resource.ts';
import type { Served } from '../served/served.ts';
import { same } from './equal.ts';
import { keepSystemFields, validateMetadata, validateMetadataUpdate } from './metadata.ts';

type Loose = KubeObject & { status?: unknown; spec?: unknown };

/** Whose rules apply: the kind as stored, of custom kinds the version that is asked for. */
export function rulesOf(served: Served): Resource {
  return served.custom ? served.resource : (served.collection?.storage ?? served.resource);
}

export function toStorage(served: Served, object: KubeObject): KubeObject {
  return served.resource.convert === undefined
    ? object
    : served.resource.convert.toStorage(object as Frozen<KubeObject>);
}

export function fromStorage(served: Served, object: Frozen<KubeObject>): Frozen<KubeObject> {
  return (served.resource.convert?.fromStorage(object) as Frozen<KubeObject> | undefined) ?? object;
}

export function context(request: ApiRequest, dryRun: boolean, random: Random): StrategyContext {
  return { nowMs: request.arrivedMs, user: request.user.name, requester: request.user, dryRun, random };
}

/** Throws Invalid. `object` is in its stored version. */
export function prepareNew(served: Served, object: KubeObject, about: StrategyContext): void {
  const rules = rulesOf(served);
  if (rules.prepareForCreate !== undefined) rules.prepareForCreate(object, about);
  else {
    if (served.subresources.has('status')) delete (object as Loose).status;
    if (served.custom || (object as Loose).spec !== undefined) object.metadata.generation = 1;
  }
}

/** Whose validation holds, and the form in which it sees objects. */
function judgeOf(served: Served): { judge: Resource; seen: (object: Frozen<KubeObject>) => Frozen<KubeObject> } {
  return served.resource.judgesItself === true
    ? { judge: served.resource, seen: (object) => fromStorage(served, object) }
    : { judge: rulesOf(served), seen: (object) => object };
}

export function validateNew(served: Served, object: KubeObject, request: ApiRequest): void {
  const rules = rulesOf(served);
  const frozen = object as Frozen<KubeObject>;
  const { judge, seen } = judgeOf(served);
  const own = judge.validate(seen(frozen));
  const isLater = (judge.metadataLater && own.length > 0) || isMistaken(served, object);
  const about = isLater ? [] : distinct(validateMetadata(frozen, judge));
  const errors = [...about, ...own];
  if (errors.length === 0) errors.push(...nameErrors(object.metadata.name));
  refuse(asSaid(served, object), object.metadata.name, served.custom ? errors : ordered(judge, errors, false));
  refuseRounded(request);
  for (const text of rules.warnings?.(frozen) ?? []) warn(request, text);
}

/** A custom object that says to be of another kind: of that, and of what its rules say, it is told alone. */
function isMistaken({ custom, resource }: Served, { kind }: KubeObject): boolean {
  return custom && kind !== resource.kind;
}

/** Custom objects are refused as what they say they are. */
function asSaid(served: Served, { kind }: KubeObject): Pick<Resource, 'group' | 'kind'> {
  const { group, kind: right } = rulesOf(served);
  return { group, kind: served.custom ? kind : right };
}

/** Kinds may let any name pass: it must still fit into a path. */
function nameErrors(name: string): FieldError[] {
  return pathSegmentName(name, false).map((detail) => invalidField('metadata.name', name, detail));
}

/** `subresource` is '' for the object itself. Changes `next`. */
export function prepareChange(
  served: Served,
  subresource: string,
  next: KubeObject,
  prev: Frozen<KubeObject>,
  about: StrategyContext,
): void {
  keepSystemFields(next, prev, about.dryRun);
  const rules = rulesOf(served);
  if (subresource === '') {
    if (rules.prepareForUpdate !== undefined) rules.prepareForUpdate(next, prev, about);
    else {
      if (served.subresources.has('status')) keep(next, prev, 'status');
      if (prev.metadata.generation !== undefined && !same((next as Loose).spec, (prev as Loose).spec))
        next.metadata.generation = prev.metadata.generation + 1;
    }
    return;
  }
  const part = rules.subresources?.[subresource];
  if (part?.prepareForUpdate !== undefined) part.prepareForUpdate(next, prev, about);
  else if (subresource === 'status') onlyStatus(next, prev);
}

/** A status write keeps all but the status, and of the metadata what the client may still set there. */
function onlyStatus(next: KubeObject, prev: Frozen<KubeObject>): void {
  for (const field of Object.keys(next)) if (field !== 'status' && field !== 'metadata') keep(next, prev, field);
  for (const field of Object.keys(prev)) if (field !== 'status' && field !== 'metadata') keep(next, prev, field);
  const { labels, ownerReferences } = prev.metadata;
  if (labels === undefined) delete next.metadata.labels;
  else next.metadata.labels = { ...labels };
  if (ownerReferences === undefined) delete next.metadata.ownerReferences;
  else next.metadata.ownerReferences = ownerReferences.map((reference) => ({ ...reference }));
}

function keep(next: KubeObject, prev: Frozen<KubeObject>, field: string): void {
  const before = (prev as unknown as Record<string, unknown>)[field];
  const target = next as unknown as Record<string, unknown>;
  if (before === undefined) delete target[field];
  // Shared, not copied: stored values are frozen, and nothing changes them from here on.
  else target[field] = before;
}

export function validateChange(
  served: Served,
  subresource: string,
  next: KubeObject,
  prev: Frozen<KubeObject>,
  request: ApiRequest,
): void {
  const rules = rulesOf(served);
  const frozen = next as Frozen<KubeObject>;
  const { judge, seen } = judgeOf(served);
  const isRepeated = served.custom || judge.repeatsErrors === true;
  const errors = isMistaken(served, next) ? [] : validateMetadataUpdate(frozen, prev, rules, isRepeated);
  if (subresource === '') {
    if (judge.validateUpdateAlone !== true) errors.push(...judge.validate(seen(frozen)));
    errors.push(...(judge.validateUpdate?.(seen(frozen), seen(prev)) ?? []));
  } else {
    errors.push(...(judge.subresources?.[subresource]?.validateUpdate?.(seen(frozen), seen(prev)) ?? []));
  }
  for (const text of rules.forgiven?.(frozen, prev) ?? []) warn(request, text);
  const all = served.custom ? errors : ordered(judge, forgiveOldValues(errors, prev), true);
  refuse(asSaid(served, next), next.metadata.name, all);
  refuseRounded(request);
  const warnings =
    subresource === '' ? rules.warnings?.(frozen, prev) : rules.subresources?.[subresource]?.warnings?.(frozen, prev);
  for (const text of warnings ?? []) warn(request, text);
}

/** Last of all: what is wrong in itself is told first. */
function refuseRounded({ inexact }: ApiRequest): void {
  if (inexact !== undefined)
    throw badRequest(`the whole number ${inexact} is beyond 2^53 and would be rounded: write it as text`);
}

/** As a kind tells them: once each, and in its order. */
export function ordered(
  { place, repeatsErrors }: Resource,
  errors: readonly FieldError[],
  change: boolean,
): readonly FieldError[] {
  const all = repeatsErrors ? errors : distinct(errors);
  return place === undefined ? all : [...all].sort((a, b) => place(a, change) - place(b, change));
}

/** Upstream tells the same thing of a built-in kind once, however many checks found it. */
function distinct(errors: readonly FieldError[]): FieldError[] {
  const seen = new Set<string>();
  return errors.filter(({ field, reason, message }) => {
    const text = `${field} ${reason} ${message}`;
    return !seen.has(text) && seen.add(text);
  });
}

function refuse(kind: Pick<Resource, 'group' | 'kind'>, name: string | undefined, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid(kind, name ?? '', errors);
}

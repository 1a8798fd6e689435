// Owns one version of a custom kind as a `Resource`: reading, defaults, judgement, columns. The generic server does the rest.
import { decodeParsed } from '../../api/codec/decode.ts';
import { plainValue } from '../../api/codec/json-parse.ts';
import type { ParsedJson } from '../../api/codec/json-parse.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '../../api/generated/apiextensions.v1.ts';
import { invalid } from '../../api/field-error.ts';
import { freeze, thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { finalizerWarnings } from '../../api/object-meta.ts';
import { schemaOfType } from '../../api/schema/builtin.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { badRequest } from '../../api/status-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import type { Resource } from '../resource.ts';
import { same } from '../verbs/equal.ts';
import { customColumns } from './columns.ts';
import { judgeEmbedded } from './embedded.ts';
import { JsonPathError, jsonPath } from './json-path.ts';
import { validateListTypes } from './list-types.ts';
import { kindSchema } from './object-schema.ts';
import { dotted } from './pathing.ts';
import type { Place } from './pathing.ts';
import { applyDefaults, dropNulls, eachEmbedded, isPruned, prune } from './prune.ts';
import { isObject, structural } from './structural.ts';
import type { JsonObject, Structural } from './structural.ts';
import { compareVersions } from '../aggregation/order.ts';
import { absent, compileJudge, validateValue } from './validate.ts';
import type { Judge } from './validate.ts';
import type { Rules } from './rules.ts';

type Definition = Frozen<CustomResourceDefinition>;
type Version = Frozen<CustomResourceDefinitionVersion>;

export type Loose = KubeObject & JsonObject;

/** Metadata and its owner are read as every object's are. */
const withMetadata: ObjectSchema = (() => {
  const fields = ['apiVersion', 'kind', 'metadata'].map((name) => ({
    name,
    schema: name === 'metadata' ? schemaOfType('meta.v1.ObjectMeta') : ({ type: 'string' } as const),
    required: false,
    omitempty: true,
    omitzero: true,
    pointer: true,
    proto: 0,
    within: [],
    patchStrategy: [],
  }));
  return { type: 'object', name: '', fields, byName: new Map(fields.map((one) => [one.name, one])), atomic: false };
})();

/** A version's schema with all that is compiled from it, made when first needed. */
export interface CompiledVersion {
  readonly root: Structural;
  readonly judge: Judge;
  /** The rules in CEL; undefined where there are none. */
  readonly rules: Rules | undefined;
}

export type CompileRules = (root: Structural) => Rules | undefined;

export interface VersionOptions {
  readonly definition: Definition;
  readonly version: Version;
  readonly compileRules: CompileRules;
  /** The kind's other versions, by apiVersion. */
  readonly sibling: (apiVersion: string) => Resource | undefined;
}

export interface CustomVersion {
  readonly resource: Resource;
  /** Makes an object of any version (already of this one's apiVersion) fit this version, in place: defaults, pruning. */
  fit(object: JsonObject): void;
  /** Takes away what this version does not know, in place: defaults are those of the version in which an object is stored. */
  strip(object: JsonObject): void;
  /** There is nothing that it does not know. */
  knows(object: Frozen<KubeObject>): boolean;
  readonly hasDefaults: boolean;
  /** A status that nobody has written yet is filled in when objects are read. */
  readonly fillsStatus: boolean;
}

export function customVersion({ definition, version, compileRules, sibling }: VersionOptions): CustomVersion {
  const { spec, status } = definition;
  const props = version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const root = structural(props);
  let compiled: CompiledVersion | undefined;
  const compile = (): CompiledVersion => (compiled ??= { root, judge: compileJudge(props), rules: compileRules(root) });
  const names = status.acceptedNames.kind === '' ? spec.names : status.acceptedNames;
  const hasStatus = version.subresources?.status !== undefined;
  const apiVersion = `${spec.group}/${version.name}`;
  const judgeAll = (next: Frozen<KubeObject>, prev: Frozen<KubeObject> | undefined): FieldError[] =>
    judgeObject(compile(), next as Frozen<Loose>, prev as Frozen<Loose> | undefined, version, names.kind);
  /** Rules that were not run warn of nothing. */
  const ruleWarnings = (next: Frozen<KubeObject>, prev: Frozen<KubeObject>): string[] => {
    const texts = compile().rules?.warnings(next, prev) ?? [];
    return texts.length > 0 && judgeAll(next, prev).includes(unchecked) ? [] : texts;
  };
  const resource: Resource = {
    group: spec.group,
    version: version.name,
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    plural: spec.names.plural,
    singular: names.singular ?? '',
    ...(names.shortNames && { shortNames: names.shortNames }),
    ...(names.categories && { categories: names.categories }),
    namespaced: spec.scope === 'Namespaced',
    schema: kindSchema(root),
    openApi: props as unknown as Readonly<Record<string, unknown>>,
    decode: (parsed, merged) => decode(parsed, root, names.kind, apiVersion, merged === true),
    applyDefaults: (object) => applyDefaults(object, root),
    prepareForCreate(object) {
      if (hasStatus) delete (object as Loose)['status'];
      object.metadata.generation = 1;
    },
    prepareForUpdate(next, prev) {
      if (hasStatus) keepField(next as Loose, prev as Frozen<Loose>, 'status');
      const isSame = same(withoutMetadata(next, hasStatus), withoutMetadata(prev, hasStatus));
      next.metadata.generation = (prev.metadata.generation ?? 0) + (isSame ? 0 : 1);
    },
    judgesItself: true,
    validate: (object) => judgeAll(object, undefined),
    validateUpdateAlone: true,
    validateUpdate: judgeAll,
    anyFinalizer: true,
    warnings: (object, prev) => finalizerWarnings(object.metadata, prev?.metadata),
    forgiven: ruleWarnings,
    ...(hasStatus && {
      subresources: {
        status: {
          prepareForUpdate: onlyStatus,
          validateUpdate: judgeAll,
        },
      },
    }),
    selectable: selectable(version),
    columns: customColumns(version.additionalPrinterColumns),
    unconditionalUpdate: false,
    ...(version.subresources?.scale !== undefined && { scale: scalePaths(version.subresources.scale) }),
    ...(version.deprecated === true && {
      deprecated: version.deprecationWarning ?? deprecation(definition, version, names.kind),
    }),
    sibling,
  };
  return {
    resource,
    fit(object) {
      applyDefaults(object, root);
      dropNulls(object, root);
      prune(object, root, true);
    },
    strip(object) {
      prune(object, root, true);
      dropNulls(object, root);
    },
    knows: (object) => isPruned(object, root, true),
    hasDefaults: root.hasDefaults,
    fillsStatus: hasStatus && hasDefaults(props.properties?.['status']),
  };
}

function hasDefaults(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.entries(schema).some(([key, inner]) => key === 'default' || hasDefaults(inner));
}

/** Where there is a better version, it is named: of those that are served and not deprecated the best, if it is better. */
function deprecation({ spec }: Definition, version: Version, kind: string): string {
  const said = `${spec.group}/${version.name} ${kind} is deprecated`;
  const [better] = spec.versions
    .filter(({ served, deprecated }) => served && deprecated !== true)
    .map(({ name }) => name)
    .filter((name) => compareVersions(name, version.name) < 0)
    .sort(compareVersions);
  return better === undefined ? said : `${said}; use ${spec.group}/${better} ${kind}`;
}

function decode(parsed: ParsedJson, root: Structural, kind: string, apiVersion: string, merged: boolean) {
  const object = thaw(plainValue(parsed) as Frozen<unknown>);
  if (!isObject(object)) throw badRequest('the body must be an object');
  if ((object['kind'] ?? '') === '') throw badRequest("Object 'Kind' is missing in the body");
  if ((object['apiVersion'] ?? '') === '') throw badRequest("Object 'apiVersion' is missing in the body");
  const problems = [...parsed.problems];
  // The schema says nothing of what says to be of another kind.
  const isOfKind = object['kind'] === kind;
  if (isOfKind) {
    applyDefaults(object, root, merged);
    dropNulls(object, root, merged);
    problems.push(...prune(object, root, true).map((place) => `unknown field "${place}"`));
  }
  const version = apiVersion.split('/')[1]!;
  const { metadata } = object;
  const read = decodeParsed(withMetadata, { value: { metadata }, problems: [], oddNumbers: false }, kind, version);
  problems.push(...read.strict);
  const { apiVersion: said, kind: saidKind, metadata: _, ...rest } = object;
  const result = {
    apiVersion: said,
    kind: saidKind,
    metadata: read.object['metadata'] ?? {},
    ...rest,
  } as unknown as KubeObject;
  if (
    Array.isArray((metadata as JsonObject | undefined)?.['managedFields']) &&
    result.metadata.managedFields === undefined
  )
    result.metadata.managedFields = [];
  if (isOfKind) eachEmbedded(result, root, (resource, place) => readEmbedded(resource, place, kind, version, problems));
  return { object: result, problems };
}

/** The metadata of an embedded object is read, too: what is unknown goes, wrong types are refused. */
function readEmbedded(resource: JsonObject, place: Place, kind: string, version: string, problems: string[]): void {
  const { apiVersion, kind: saidKind, metadata } = resource;
  for (const value of [apiVersion, saidKind])
    if (value !== undefined && typeof value !== 'string')
      throw badRequest(`${dotted(place)}: apiVersion and kind must be strings`);
  if (!Object.hasOwn(resource, 'metadata')) return;
  const read = decodeParsed(withMetadata, { value: { metadata }, problems: [], oddNumbers: false }, kind, version);
  problems.push(...read.strict.map((text) => text.replace('"metadata', `"${dotted(place)}.metadata`)));
  resource['metadata'] = read.object['metadata'] ?? {};
}

function judgeObject(
  { root, judge, rules }: CompiledVersion,
  next: Frozen<Loose>,
  prev: Frozen<Loose> | undefined,
  version: Version,
  kind: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (next.kind !== kind) errors.push(invalid('kind', next.kind, `must be ${kind}`));
  else {
    errors.push(...validateValue(judge, named(next), prev ?? absent));
    if (version.subresources?.scale !== undefined) errors.push(...judgeScale(next, version.subresources.scale));
  }
  eachEmbedded(next, root, (resource, place) => errors.push(...judgeEmbedded(resource, dotted(place))));
  // Lists that were wrong before may stay so.
  if (root.hasLists && (prev === undefined || validateListTypes(prev, root).length === 0))
    errors.push(...validateListTypes(next, root));
  if (rules === undefined) return errors;
  // That there is no name is told by who judges the metadata.
  const isNameless = !next.metadata.name && next.kind === kind;
  if (isNameless || errors.some(({ reason }) => blocking.has(reason))) errors.push(unchecked);
  else errors.push(...rules.judge(next, prev));
  return errors;
}

/** To a schema a name that nobody gave is none. */
function named(object: Frozen<Loose>): Frozen<Loose> {
  if (object.metadata.name !== '') return object;
  const { name: _, ...metadata } = object.metadata;
  return { ...object, metadata } as Frozen<Loose>;
}

const unchecked: FieldError = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  message:
    'Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};

/** After these the rules are not run: they might stumble over what is wrong already. */
const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

function judgeScale(object: Frozen<Loose>, scale: Frozen<CustomResourceSubresourceScale>): FieldError[] {
  const errors: FieldError[] = [];
  for (const path of [scale.specReplicasPath, scale.statusReplicasPath]) {
    const value = at(object, path.slice(1));
    if (value === undefined) continue;
    const field = path;
    if (typeof value !== 'bigint' && (typeof value !== 'number' || !Number.isInteger(value)))
      errors.push(invalid(field, value, 'should be an integer'));
    else if (value < 0) errors.push(invalid(field, value, 'should be a non-negative integer'));
    else if (value > 2_147_483_647) errors.push(invalid(field, value, 'should be less than or equal to 2147483647'));
  }
  const { labelSelectorPath: field = '' } = scale;
  const selector = field === '' ? undefined : at(object, field.slice(1));
  if (selector !== undefined && typeof selector !== 'string')
    errors.push(invalid(field, selector, 'should be a string'));
  return errors;
}

function withoutMetadata(object: unknown, withoutStatus: boolean): object {
  const { metadata: _, status, ...rest } = object as JsonObject;
  return withoutStatus ? rest : { ...rest, status };
}

function keepField(next: Loose, prev: Frozen<Loose>, field: string): void {
  if (Object.hasOwn(prev, field)) next[field] = thaw(prev[field] as Frozen<unknown>);
  else delete next[field];
}

/** A status write changes the status alone: of the metadata only who manages what. */
function onlyStatus(next: KubeObject, prev: Frozen<KubeObject>): void {
  const object = next as Loose;
  const { managedFields } = next.metadata;
  for (const field of new Set([...Object.keys(next), ...Object.keys(prev)]))
    if (field !== 'status') keepField(object, prev as Frozen<Loose>, field);
  const { resourceVersion: _, managedFields: __, ...metadata } = thaw(prev.metadata) as KubeObject['metadata'];
  next.metadata = metadata as KubeObject['metadata'];
  if (managedFields !== undefined) next.metadata.managedFields = managedFields;
}

function at(object: unknown, path: string): unknown {
  let value = object;
  for (const part of path.split('.')) {
    if (value === null || (isObject(value) && !Object.hasOwn(value, part))) return undefined;
    // Of what has no fields none is a number or a text.
    if (!isObject(value)) return {};
    value = value[part];
  }
  return value;
}

function scalePaths(scale: {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}) {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  return {
    specReplicas: specReplicasPath.slice(1),
    statusReplicas: statusReplicasPath.slice(1),
    ...(labelSelectorPath !== undefined && labelSelectorPath !== '' && { selector: labelSelectorPath.slice(1) }),
  };
}

function selectable({ selectableFields = [] }: Version): NonNullable<Resource['selectable']> {
  const entries = selectableFields.map(({ jsonPath: path }) => {
    try {
      const find = jsonPath(path);
      return [path.slice(1), (object: Frozen<KubeObject>) => String(find(object)[0] ?? '')] as const;
    } catch (error) {
      if (error instanceof JsonPathError) return [path.slice(1), () => ''] as const;
      throw error;
    }
  });
  return Object.fromEntries(entries);
}

export const frozen = freeze;

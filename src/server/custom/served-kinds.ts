// Owns a definition's way into the catalog: one collection, one `Served` a version. Watches nothing and writes nothing.
import type { CustomResourceDefinition } from '../../api/generated/apiextensions.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { newCollection } from '../served/builtin.ts';
import type { Collection, Served, ServedSubresource } from '../served/served.ts';
import { jsonStorage } from '../storage/envelope.ts';
import { collectionPrefix } from '../storage/keys.ts';
import type { Conversion, Resource } from '../resource.ts';
import { copy, plainConversion, webhookConversion } from './conversion.ts';
import type { ConvertAll } from './conversion.ts';
import { customVersion } from './version.ts';
import type { CompileRules, CustomVersion } from './version.ts';
import type { JsonObject } from './structural.ts';

type Definition = Frozen<CustomResourceDefinition>;

const allVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'] as const;
const lastVerbs = ['get', 'list', 'watch', 'delete', 'deletecollection'] as const;

export interface ServedKind {
  readonly collection: Collection;
  readonly served: readonly Served[];
}

/** `convertAll`: the definition's conversion webhook; undefined: its strategy is None. */
export function servedKind(
  definition: Definition,
  compileRules: CompileRules,
  historyLimit: number,
  convertAll: ConvertAll | undefined,
): ServedKind {
  const { spec } = definition;
  const isTerminating = definition.metadata.deletionTimestamp !== undefined;
  const byVersion = new Map<string, Resource>();
  const sibling = (apiVersion: string): Resource | undefined => byVersion.get(apiVersion);
  const versions = spec.versions.map((version) => ({
    version,
    custom: customVersion({ definition, version, compileRules, sibling }),
  }));
  const stored = versions.find(({ version }) => version.storage) ?? versions[0]!;
  const storageApiVersion = `${spec.group}/${stored.version.name}`;
  const conversion = (apiVersion: string, custom: CustomVersion): Conversion =>
    convertAll === undefined
      ? plainConversion(apiVersion, storageApiVersion, custom.strip)
      : webhookConversion(apiVersion, storageApiVersion, custom.strip, convertAll);
  const resources = versions.map(({ version, custom }) => ({
    version,
    resource:
      versions.length === 1
        ? custom.resource
        : { ...custom.resource, conversion: conversion(`${spec.group}/${version.name}`, custom) },
  }));
  for (const { version, resource } of resources)
    if (version.served) byVersion.set(`${spec.group}/${version.name}`, resource);
  const storage = resources.find(({ version }) => version === stored.version)!.resource;
  const collection: Collection = newCollection(collectionPrefix(spec.group, spec.names.plural, true), storage, {
    historyLimit,
    codecFor: () =>
      codec(
        stored.custom,
        storageApiVersion,
        new Map(versions.map(({ version, custom }) => [`${spec.group}/${version.name}`, custom])),
      ),
  });
  return {
    collection,
    served: resources
      .filter(({ version }) => version.served)
      .map(({ version, resource }) => ({
        resource,
        collection,
        verbs: new Set<string>(isTerminating ? lastVerbs : allVerbs),
        subresources: subresourcesOf(version.subresources, resource),
        custom: true,
      })),
  };
}

/** What is read is made to fit the schema of now, whatever it was when it was written. */
function codec(fitting: CustomVersion, apiVersion: string, versions: ReadonlyMap<string, CustomVersion>) {
  const json = jsonStorage();
  const isOnly = versions.size === 1;
  return {
    ...json,
    completesReads: [...versions.values()].some(
      ({ fillsStatus, hasDefaults }) => fillsStatus || (!isOnly && hasDefaults),
    ),
    canonical(object: KubeObject): KubeObject {
      // What one version alone can hold is what every version has already been pruned to; admission may have added to it.
      if (isOnly && object.apiVersion === apiVersion && fitting.knows(object as Frozen<KubeObject>)) return object;
      const stored = copy({ ...object, apiVersion }) as JsonObject;
      fitting.strip(stored);
      return stored as unknown as KubeObject;
    },
    decode(value: Uint8Array): KubeObject {
      const object = json.decode(value);
      // Of several versions it stays what it is, and is converted when it is looked at.
      const own = versions.get(object.apiVersion ?? '');
      if (own === undefined || isOnly) object.apiVersion = apiVersion;
      (own ?? fitting).fit(object as unknown as JsonObject);
      return object;
    },
  };
}

function subresourcesOf(
  given: Definition['spec']['versions'][number]['subresources'],
  resource: Resource,
): ReadonlyMap<string, ServedSubresource> {
  const found = new Map<string, ServedSubresource>();
  const verbs = new Set(['get', 'patch', 'update']);
  const { group, version, kind } = resource;
  if (given?.status !== undefined)
    found.set('status', { name: 'status', verbs, kind: { group, version, kind }, type: 'object', hasTable: true });
  if (given?.scale !== undefined)
    found.set('scale', {
      name: 'scale',
      verbs,
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      type: 'scale',
      hasTable: true,
    });
  return found;
}

// Owns a definition's way into the catalog: one collection, one `Served` a version. Watches nothing and writes nothing.
import type { CustomResourceDefinition } from '../../api/generated/apiextensions.v1.ts';
import { setOwn } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { statusError } from '../../api/status-error.ts';
import { newCollection } from '../served/builtin.ts';
import type { Collection, Served, ServedSubresource } from '../served/served.ts';
import { jsonStorage } from '../storage/envelope.ts';
import { collectionPrefix } from '../storage/keys.ts';
import type { Resource } from '../resource.ts';
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

export function servedKind(definition: Definition, compileRules: CompileRules, historyLimit: number): ServedKind {
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
  const resources = versions.map(({ version, custom }) => ({
    version,
    resource:
      version === stored.version
        ? custom.resource
        : spec.conversion?.strategy === 'Webhook'
          ? refusing(custom)
          : converting(custom, version.name, spec.group, storageApiVersion),
  }));
  for (const { version, resource } of resources)
    if (version.served) byVersion.set(`${spec.group}/${version.name}`, resource);
  const storage = resources.find(({ version }) => version === stored.version)!.resource;
  const collection: Collection = newCollection(collectionPrefix(spec.group, spec.names.plural, true), storage, {
    historyLimit,
    codecFor: () => codec(stored.custom, storageApiVersion, versions.length === 1),
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
function codec(fitting: CustomVersion, apiVersion: string, isOnly: boolean) {
  const json = jsonStorage();
  return {
    ...json,
    canonical(object: KubeObject): KubeObject {
      // What one version alone can hold is what every version has already been pruned to.
      if (isOnly && object.apiVersion === apiVersion) return object;
      const stored = copy({ ...object, apiVersion }) as JsonObject;
      fitting.strip(stored);
      return stored as unknown as KubeObject;
    },
    decode(value: Uint8Array): KubeObject {
      const object = json.decode(value);
      object.apiVersion = apiVersion;
      fitting.fit(object as unknown as JsonObject);
      return object;
    },
  };
}

/** Strategy None: the same object under another apiVersion. */
function converting(custom: CustomVersion, version: string, group: string, storageApiVersion: string): Resource {
  return {
    ...custom.resource,
    convert: {
      toStorage: (object) => ({ ...(copy(object) as KubeObject), apiVersion: storageApiVersion }),
      fromStorage: (object) => {
        const seen = copy(object) as KubeObject;
        seen.apiVersion = `${group}/${version}`;
        custom.fit(seen as unknown as JsonObject);
        return seen;
      },
    },
  };
}

/** Strategy Webhook is not called yet: better no answer than a wrong one. The stored version is served all the same. */
function refusing(custom: CustomVersion): Resource {
  const refuse = (): never => {
    const { group, version, kind } = custom.resource;
    throw statusError(
      'InternalError',
      `conversion webhook for ${group}/${version}, Kind=${kind}: conversion by webhook is not supported`,
    );
  };
  return { ...custom.resource, convert: { toStorage: refuse, fromStorage: refuse } };
}

function copy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const result: JsonObject = {};
  for (const key of Object.keys(value)) setOwn(result, key, copy((value as JsonObject)[key]));
  return result;
}

function subresourcesOf(
  given: Definition['spec']['versions'][number]['subresources'],
  resource: Resource,
): ReadonlyMap<string, ServedSubresource> {
  const found = new Map<string, ServedSubresource>();
  const verbs = new Set(['get', 'patch', 'update']);
  const { group, version, kind } = resource;
  if (given?.status !== undefined)
    found.set('status', { name: 'status', verbs, kind: { group, version, kind }, type: 'object' });
  if (given?.scale !== undefined)
    found.set('scale', {
      name: 'scale',
      verbs,
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      type: 'scale',
    });
  return found;
}

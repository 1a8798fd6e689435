// Owns aggregated discovery (apidiscovery.k8s.io/v2): everything served in one document, with a tag that changes when it does.
import { createHash } from 'node:crypto';
import { encodeProtobuf } from '../../api/codec/protobuf.ts';
import { writeYaml } from '../../api/codec/yaml.ts';
import type { Catalog, Served } from '../served/served.ts';
import { aggregatedSchema } from './aggregated-schema.ts';

export interface Aggregated {
  readonly core: Document;
  readonly groups: Document;
}

export interface Document {
  readonly value: object;
  readonly json: string;
  readonly yaml: () => string;
  readonly protobuf: () => Buffer;
  /** Quoted, for ETag. */
  readonly tag: string;
}

/** Made anew when the catalog has changed. */
export function aggregatedDiscovery(catalog: Catalog): () => Aggregated {
  let made: Aggregated | undefined;
  let generation = -1;
  return () => {
    if (made === undefined || generation !== catalog.generation) {
      generation = catalog.generation;
      made = { core: document(catalog, (name) => name === ''), groups: document(catalog, (name) => name !== '') };
    }
    return made;
  };
}

function document(catalog: Catalog, wanted: (group: string) => boolean): Document {
  const value = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: catalog
      .groups()
      .filter(({ name }) => wanted(name))
      .map(({ name, versions }) => ({
        metadata: name === '' ? {} : { name },
        versions: versions.map((version) => ({
          version,
          resources: catalog
            .all()
            .filter(({ resource }) => resource.group === name && resource.version === version)
            .map(resourceOf),
          freshness: 'Current',
        })),
      })),
  };
  const json = `${JSON.stringify(value)}\n`;
  return {
    value,
    json,
    yaml: lazily(() => writeYaml(value)),
    protobuf: lazily(() => encodeProtobuf(aggregatedSchema(), value)),
    tag: `"${createHash('sha512').update(json).digest('hex').toUpperCase()}"`,
  };
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function resourceOf({ resource, verbs, subresources }: Served): object {
  const { group, version, kind, plural, singular, namespaced, shortNames, categories } = resource;
  const own = { group, version, kind };
  return {
    resource: plural,
    responseKind: kindOf(own, own),
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: [...verbs].sort(),
    ...(shortNames && shortNames.length > 0 && { shortNames }),
    ...(categories && categories.length > 0 && { categories }),
    ...(subresources.size > 0 && {
      subresources: [...subresources.values()].map((part) => ({
        subresource: part.name,
        responseKind: kindOf(part.kind, own),
        verbs: [...part.verbs].sort(),
      })),
    }),
  };
}

interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The kind's own group and version go without saying. */
function kindOf(kind: Gvk, own: Gvk): Gvk {
  return kind.group === own.group && kind.version === own.version ? { group: '', version: '', kind: kind.kind } : kind;
}

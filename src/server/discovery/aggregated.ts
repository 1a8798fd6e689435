// Owns aggregated discovery (apidiscovery.k8s.io/v2): everything served in one document, with a tag that changes when it does.
import { encodeProtobuf } from '../../api/codec/protobuf.ts';
import { writeYaml } from '../../api/codec/yaml-write.ts';
import type { ApiServices } from '../aggregation/api-services.ts';
import type { RemoteDocuments } from '../aggregation/remote-documents.ts';
import type { RankedGroup } from '../aggregation/order.ts';
import type { Counter } from '../../base/metrics.ts';
import type { Catalog, Served } from '../served/served.ts';
import { aggregatedSchema } from './aggregated-schema.ts';
import { inCustomOrder } from './legacy.ts';
import { sha512 } from '../../base/hash.ts';
import { lazily } from '../../base/lazily.ts';

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

export interface Discoverable {
  readonly catalog: Catalog;
  readonly services: ApiServices;
  readonly documents: RemoteDocuments;
}

/** Made anew when what is served here or elsewhere has changed. */
export function aggregatedDiscovery(what: Discoverable, remade?: Counter): () => Aggregated {
  const { services, documents } = what;
  let made: Aggregated | undefined;
  let generation = '';
  return () => {
    const now = `${services.generation} ${documents.generation}`;
    if (made === undefined || generation !== now) {
      generation = now;
      remade?.inc();
      const groups = services.aggregated();
      made = {
        core: document(
          what,
          groups.filter(({ name }) => name === ''),
        ),
        groups: document(
          what,
          groups.filter(({ name }) => name !== ''),
        ),
      };
    }
    return made;
  };
}

function document({ catalog, services, documents }: Discoverable, groups: readonly RankedGroup[]): Document {
  const byVersion = new Map<string, Served[]>();
  for (const served of catalog.all()) {
    const key = `${served.resource.group}/${served.resource.version}`;
    const known = byVersion.get(key);
    if (known === undefined) byVersion.set(key, [served]);
    else known.push(served);
  }
  const versionOf = (group: string, version: string): object => {
    const remote = services.remote(group, version);
    if (remote !== undefined) return { version, ...documents.version(remote) };
    const resources = (byVersion.get(`${group}/${version}`) ?? []).map(resourceOf);
    return { version, resources, freshness: 'Current' };
  };
  const value = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name === '' ? {} : { name },
      versions: versions.map((version) => versionOf(name, version)),
    })),
  };
  const json = `${JSON.stringify(value)}\n`;
  return {
    value,
    json,
    yaml: lazily(() => writeYaml(value)),
    protobuf: lazily(() => encodeProtobuf(aggregatedSchema(), value)),
    // Of what is told, without what it is: as upstream makes it, so that clients may go from one to the other.
    tag: `"${sha512(JSON.stringify({ metadata: value.metadata, items: value.items }))}"`,
  };
}

function resourceOf({ resource, verbs, subresources, custom }: Served): object {
  const { group, version, kind, plural, singular, namespaced, shortNames, categories } = resource;
  const own = { group, version, kind };
  return {
    resource: plural,
    responseKind: custom ? own : kindOf(own, own),
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: custom ? inCustomOrder(verbs) : [...verbs].sort(),
    ...(shortNames && shortNames.length > 0 && { shortNames }),
    ...(categories && categories.length > 0 && { categories }),
    ...(subresources.size > 0 && {
      subresources: [...subresources.values()].map((part) => ({
        subresource: part.name,
        responseKind: custom ? part.kind : kindOf(part.kind, own),
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

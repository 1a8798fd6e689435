// Owns the older form of discovery: APIVersions, APIGroupList, APIGroup and APIResourceList, built from the catalog.
import { createHash } from 'node:crypto';
import { apiVersionOf } from '../../api/meta.ts';
import type { RankedGroup } from '../aggregation/order.ts';
import type { Catalog, Served } from '../served/served.ts';

export function apiVersions(address: string): object {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  };
}

function groupBody(name: string, versions: readonly string[]): object {
  const shown = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: shown, preferredVersion: shown[0] };
}

export function groupList(groups: readonly RankedGroup[]): object {
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.filter(({ name }) => name !== '').map(({ name, versions }) => groupBody(name, versions)),
  };
}

export function groupOf(groups: readonly RankedGroup[], name: string): object | undefined {
  const group = groups.find((known) => known.name === name);
  if (group === undefined || name === '') return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(name, group.versions) };
}

/** How a kind is stored, as a short hash that tells clients when it changes. */
export function storageVersionHash(group: string, version: string, kind: string): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

/** Definitions are stored by upstream in their first version. */
function storedAs({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === 'apiextensions.k8s.io' ? 'v1beta1' : version;
}

/** In the order of the alphabet, "pods" before "pods/log". */
export function resourceList(catalog: Catalog, group: string, version: string): object | undefined {
  const served = catalog.all().filter(({ resource }) => resource.group === group && resource.version === version);
  if (served.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    // Upstream leaves it out of the oldest group's list.
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources: served.every(({ custom }) => custom)
      ? [...served].sort((a, b) => (a.resource.plural < b.resource.plural ? -1 : 1)).flatMap(resourcesOf)
      : served.flatMap(resourcesOf).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

interface Line {
  readonly name: string;
}

function resourcesOf({ resource, verbs, subresources, collection, custom }: Served): Line[] {
  const shown = custom ? inCustomOrder : sorted;
  const storage = collection?.storage;
  const main = {
    name: resource.plural,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: shown(verbs),
    ...(resource.shortNames && resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
    ...(resource.categories && resource.categories.length > 0 && { categories: resource.categories }),
    ...(storage !== undefined && {
      storageVersionHash: storageVersionHash(
        storage.group === '' && resource.group === 'events.k8s.io' ? '' : storage.group,
        storedAs(storage),
        storage.kind,
      ),
    }),
  };
  const parts = [...subresources.values()].map(({ name, kind, verbs: partVerbs }) => ({
    name: `${resource.plural}/${name}`,
    singularName: '',
    namespaced: resource.namespaced,
    ...((kind.group !== resource.group || kind.version !== resource.version) && {
      group: kind.group,
      version: kind.version,
    }),
    kind: kind.kind,
    verbs: sorted(partVerbs),
  }));
  return [main, ...parts];
}

/** Upstream lists the verbs of custom kinds in an order of its own. */
const customOrder = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

export function inCustomOrder(verbs: ReadonlySet<string>): string[] {
  return customOrder.filter((verb) => verbs.has(verb));
}

function sorted(verbs: ReadonlySet<string>): string[] {
  return [...verbs].sort();
}

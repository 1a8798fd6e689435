// Owns asking a server what it serves: aggregated discovery where offered, group by group otherwise.
import { parseApiVersion, type ResourceRef } from '../api/meta.ts';
import type { Client } from './client.ts';

export interface DiscoveredResource extends ResourceRef {
  readonly verbs: readonly string[];
}

export interface Discovery {
  /** Each collection once, in its group's preferred version. */
  readonly preferred: readonly DiscoveredResource[];
  /** All versions. */
  readonly all: readonly DiscoveredResource[];
  /** "metrics.k8s.io/v1beta1: …": groups whose server does not answer; their resources are missing above. */
  readonly failures: readonly string[];
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

interface GroupDiscovery {
  readonly metadata?: { readonly name?: string };
  readonly versions: readonly {
    readonly version: string;
    readonly freshness?: string;
    readonly resources?: readonly {
      readonly resource: string;
      readonly scope: string;
      readonly verbs: readonly string[];
      readonly responseKind?: { readonly kind?: string };
    }[];
  }[];
}

export async function discover(client: Client, signal?: AbortSignal): Promise<Discovery> {
  const options = { accept: aggregated, ...(signal && { signal }) };
  const [core, groups] = await Promise.all([client.raw('GET', '/api', options), client.raw('GET', '/apis', options)]);
  const failures: string[] = [];
  const lists = await Promise.all([
    fromAnswer(client, core, '/api', failures, signal),
    fromAnswer(client, groups, '/apis', failures, signal),
  ]);
  const all = lists.flat();
  const seen = new Set<string>();
  const preferred = all.filter(({ group, plural }) => {
    const id = `${group}/${plural}`;
    return !seen.has(id) && seen.add(id) !== undefined;
  });
  return { preferred, all, failures };
}

async function fromAnswer(
  client: Client,
  answer: unknown,
  path: string,
  failures: string[],
  signal: AbortSignal | undefined,
): Promise<DiscoveredResource[]> {
  const { kind } = answer as { kind?: string };
  if (kind === 'APIGroupDiscoveryList') return fromAggregated(answer as { items: GroupDiscovery[] }, failures);
  const groupVersions =
    path === '/api'
      ? (answer as { versions: string[] }).versions
      : (answer as { groups: { versions: { groupVersion: string }[] }[] }).groups.flatMap((group) =>
          group.versions.map((version) => version.groupVersion),
        );
  const lists = await Promise.all(
    groupVersions.map(async (groupVersion) => {
      try {
        return fromList(await client.raw('GET', `${path}/${groupVersion}`, signal ? { signal } : {}), groupVersion);
      } catch (error) {
        signal?.throwIfAborted();
        failures.push(`${groupVersion}: ${(error as Error).message}`);
        return [];
      }
    }),
  );
  return lists.flat();
}

function fromAggregated(
  { items = [] }: { items?: readonly GroupDiscovery[] },
  failures: string[],
): DiscoveredResource[] {
  return items.flatMap(({ metadata, versions }) =>
    versions.flatMap(({ version, freshness, resources = [] }) => {
      const group = metadata?.name ?? '';
      if (freshness === 'Stale') {
        failures.push(`${group}/${version}: stale`);
        return [];
      }
      return resources.map(({ resource, scope, verbs, responseKind }) => ({
        group,
        version,
        kind: responseKind?.kind ?? '',
        plural: resource,
        namespaced: scope === 'Namespaced',
        verbs,
      }));
    }),
  );
}

function fromList(answer: unknown, groupVersion: string): DiscoveredResource[] {
  const { resources = [] } = answer as {
    resources?: { name: string; kind: string; namespaced: boolean; verbs: string[] }[];
  };
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, verbs }) => ({
      ...parseApiVersion(groupVersion),
      kind,
      plural: name,
      namespaced,
      verbs,
    }));
}

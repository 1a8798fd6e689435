// Owns reading another server's discovery: aggregated where it has it, else the older list put into the same form. Decides nothing about it.

/** Asks for a path in a form; `value` is the parsed body of a 200. */
export type Ask = (path: string, accept: string) => Promise<{ readonly code: number; readonly value: unknown }>;

const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';

interface GroupDiscovery {
  readonly metadata?: { readonly name?: unknown };
  readonly versions?: { readonly version?: unknown; readonly resources?: object[] }[];
}

interface OlderResource {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced?: boolean;
  readonly kind?: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** The resources of this group version as aggregated discovery shows them. Throws when they cannot be had. */
export async function resourcesOf(group: string, version: string, ask: Ask): Promise<readonly object[]> {
  const all = await ask('/apis', aggregated);
  const list = all.value as { readonly kind?: unknown; readonly items?: GroupDiscovery[] } | undefined;
  if (list?.kind === 'APIGroupDiscoveryList' && list.items !== undefined && Array.isArray(list.items)) {
    const found = list.items
      .find(({ metadata }) => metadata?.name === group)
      ?.versions?.find((one) => one.version === version);
    if (found === undefined) throw new Error(`its discovery does not name ${group}/${version}`);
    return found.resources ?? [];
  }
  const older = await ask(`/apis/${group}/${version}`, 'application/json');
  const resources = (older.value as { readonly resources?: OlderResource[] } | undefined)?.resources;
  if (!Array.isArray(resources))
    throw new Error(`its discovery of ${group}/${version} was answered with ${older.code}`);
  return fromOlder(resources, { group, version });
}

/** "pods" and "pods/log" become one entry with its subresources. */
function fromOlder(
  resources: readonly OlderResource[],
  own: { readonly group: string; readonly version: string },
): readonly object[] {
  const kindOf = ({ group = '', version = '', kind = '' }: OlderResource): object => ({
    group: group === '' ? own.group : group,
    version: version === '' ? own.version : version,
    kind,
  });
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map((resource) => {
      const parts = resources.filter(({ name }) => name.startsWith(`${resource.name}/`));
      return {
        resource: resource.name,
        responseKind: kindOf(resource),
        scope: resource.namespaced === true ? 'Namespaced' : 'Cluster',
        singularResource: resource.singularName ?? '',
        verbs: resource.verbs ?? [],
        ...(resource.shortNames && { shortNames: resource.shortNames }),
        ...(resource.categories && { categories: resource.categories }),
        ...(parts.length > 0 && {
          subresources: parts.map((part) => ({
            subresource: part.name.slice(resource.name.length + 1),
            responseKind: kindOf(part),
            verbs: part.verbs ?? [],
          })),
        }),
      };
    });
}

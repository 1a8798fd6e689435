// Owns the reading of facts/: the shapes of the recorded API data.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly proto?: number;
  readonly wire?: string;
  readonly omitempty?: boolean;
  readonly inline?: boolean;
  readonly pointer?: boolean;
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
}

export type TypeFact =
  | { readonly kind: 'struct'; readonly fields?: readonly Field[] }
  | { readonly kind: 'alias'; readonly of: string };

/** facts/types.json: kinds by "group/version/Kind" (core: "v1/Kind"), types by "package.Name". */
export interface Facts {
  readonly kinds: Readonly<Record<string, string>>;
  readonly types: Readonly<Record<string, TypeFact>>;
}

/** What this project reads of an OpenAPI v3 schema of facts/schemas.json. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly additionalProperties?: OpenApiSchema;
  readonly allOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic';
}

export interface DiscoveredResource {
  readonly resource: string;
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly {
    readonly subresource: string;
    readonly responseKind?: { readonly group: string; readonly version: string; readonly kind: string };
    readonly acceptedTypes?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
    readonly verbs: readonly string[];
  }[];
}

export interface DiscoveredGroup {
  readonly metadata: { readonly name?: string };
  readonly versions: readonly { readonly version: string; readonly resources: readonly DiscoveredResource[] }[];
}

export function readFact<T>(root: string, ...path: string[]): T {
  return JSON.parse(readFileSync(join(root, 'facts', ...path), 'utf8')) as T;
}

export function discoveredGroups(root: string): DiscoveredGroup[] {
  return ['aggregated-api.json', 'aggregated-apis.json'].flatMap(
    (file) => readFact<{ items: DiscoveredGroup[] }>(root, 'discovery', file).items,
  );
}

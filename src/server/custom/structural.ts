// Owns the structural schema of a custom kind: OpenAPI v3 of a definition compiled once into what pruning, defaulting and validation walk.
import type { JSONSchemaProps } from '../../api/generated/apiextensions.v1.ts';
import type { Frozen } from '../../api/meta.ts';

export type Props = Frozen<JSONSchemaProps>;

/** One node of a structural schema (documentation "Specifying a structural schema"). */
export interface Structural {
  readonly props: Props;
  /** Empty for int-or-string and untyped preserve-unknown nodes. */
  readonly type: string;
  readonly properties: ReadonlyMap<string, Structural>;
  /** What fields beside `properties` are; "any": one level is kept and what is below is pruned. */
  readonly additional: Structural | 'any' | undefined;
  readonly items: Structural | undefined;
  readonly nullable: boolean;
  readonly preserveUnknown: boolean;
  readonly intOrString: boolean;
  readonly embedded: boolean;
  /** undefined: none. null counts as none, as upstream has it. */
  readonly default: unknown;
  readonly listType: 'atomic' | 'set' | 'map';
  readonly mapKeys: readonly string[];
  readonly atomicMap: boolean;
  /** There is a default in or below this node: trees without are not walked. */
  readonly hasDefaults: boolean;
  /** A list of type set or map, or an embedded resource, in or below this node. */
  readonly hasLists: boolean;
  readonly hasEmbedded: boolean;
}

const none: ReadonlyMap<string, Structural> = new Map();

export function isProps(value: unknown): value is Props {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** All schemas that stand directly in a schema. */
export function schemasIn({ properties = {}, items, additionalProperties, not, allOf, anyOf, oneOf }: Props): Props[] {
  return [
    ...Object.values(properties),
    ...[items, additionalProperties, not].filter(isProps),
    ...(allOf ?? []),
    ...(anyOf ?? []),
    ...(oneOf ?? []),
  ];
}

export function structural(props: Props): Structural {
  const properties =
    props.properties === undefined
      ? none
      : new Map(Object.entries(props.properties).map(([name, inner]) => [name, structural(inner)]));
  const more = props.additionalProperties;
  const additional = isProps(more) ? structural(more) : more === true ? 'any' : undefined;
  const items = isProps(props.items) ? structural(props.items) : undefined;
  const listType = props['x-kubernetes-list-type'];
  const value = props.default ?? undefined;
  const below = [
    ...properties.values(),
    ...(typeof additional === 'object' ? [additional] : []),
    ...(items ? [items] : []),
  ];
  const embedded = props['x-kubernetes-embedded-resource'] === true;
  return {
    props,
    type: props.type ?? '',
    properties,
    additional,
    items,
    nullable: props.nullable === true,
    preserveUnknown: props['x-kubernetes-preserve-unknown-fields'] === true,
    intOrString: props['x-kubernetes-int-or-string'] === true,
    embedded,
    default: value,
    listType: listType === 'set' || listType === 'map' ? listType : 'atomic',
    mapKeys: props['x-kubernetes-list-map-keys'] ?? [],
    atomicMap: props['x-kubernetes-map-type'] === 'atomic',
    hasDefaults: value !== undefined || below.some(({ hasDefaults }) => hasDefaults),
    hasLists: listType === 'set' || listType === 'map' || below.some(({ hasLists }) => hasLists),
    hasEmbedded: embedded || below.some(({ hasEmbedded }) => hasEmbedded),
  };
}

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The schema of what stands under `name` of an object; undefined when nothing is said of it. */
export function under(schema: Structural, name: string): Structural | undefined {
  return schema.properties.get(name) ?? (typeof schema.additional === 'object' ? schema.additional : undefined);
}

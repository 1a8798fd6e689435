// Owns what the shape of an object is at run time, for built-in and custom kinds alike. Knows no kind and no facts.

/**
 * The shape of one JSON value. Strategic merge, server-side apply, decoding, protobuf and OpenAPI work from it.
 * Built-in kinds come from `schemaOf`; a custom resource definition builds the same values from its OpenAPI v3 schema.
 */
export type Schema = ObjectSchema | MapSchema | ListSchema | AlternativeSchema | ScalarSchema;

/** A struct: named fields, in the order in which the wire shows them. */
export interface ObjectSchema {
  readonly type: 'object';
  /** "core.v1.Container"; empty for custom resources. */
  readonly name: string;
  readonly fields: readonly FieldSchema[];
  readonly byName: ReadonlyMap<string, FieldSchema>;
  /** Server-side apply owns it as a whole (x-kubernetes-map-type: atomic). */
  readonly atomic: boolean;
  /** What fields beside the named ones are; undefined: there may be none. Custom resources only. */
  readonly additional?: Schema;
  /** Unknown fields are kept. Custom resources only. */
  readonly preserveUnknown?: boolean;
  /** Holds an object with apiVersion, kind and metadata of its own. Custom resources only. */
  readonly embedded?: boolean;
  readonly nullable?: boolean;
}

/** Free keys, all values alike. */
export interface MapSchema {
  readonly type: 'map';
  readonly values: Schema;
  readonly atomic: boolean;
  readonly nullable?: boolean;
}

export interface ListSchema {
  readonly type: 'list';
  readonly items: Schema;
  /** How server-side apply merges it. Default atomic. */
  readonly listType: 'atomic' | 'set' | 'map';
  /** Field names which together identify an item of a 'map' list; empty otherwise. */
  readonly mapKeys: readonly string[];
  /** The name of a Go slice type which is a protobuf message of its own ("meta.v1.Verbs"). */
  readonly message?: string;
  readonly nullable?: boolean;
}

/** The three wire forms of JSONSchemaProps: an object or, in its place, a boolean, a list of them, a list of strings. */
export interface AlternativeSchema {
  readonly type: 'alternative';
  readonly or: 'bool' | 'list' | 'strings';
  readonly object: Schema;
  readonly nullable?: boolean;
}

/**
 * `bytes` is base64 text; `quantity`, `time`, `microTime`, `duration` are text in their canonical forms;
 * `raw` is any JSON (RawExtension, JSON); `fields` is FieldsV1; `any` is untyped JSON.
 */
export type ScalarType =
  | 'string'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'uint8'
  | 'double'
  | 'bytes'
  | 'quantity'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'intOrString'
  | 'raw'
  | 'fields'
  | 'any';

export interface ScalarSchema {
  readonly type: ScalarType;
  readonly enum?: readonly string[];
  readonly nullable?: boolean;
}

export interface FieldSchema {
  /** As in JSON. */
  readonly name: string;
  readonly schema: Schema;
  /** Required by OpenAPI. */
  readonly required: boolean;
  /** Zero values are left out of the output (Go's omitempty; a struct that is no pointer is written all the same). */
  readonly omitempty: boolean;
  /** Left out also when it is a zero struct (Go's omitzero). */
  readonly omitzero: boolean;
  /** A Go pointer: unset differs from zero. */
  readonly pointer: boolean;
  /** Protobuf number; 0 when the field has none. */
  readonly proto: number;
  /** Protobuf numbers of the embedded messages through which the field is reached; usually empty. */
  readonly within: readonly number[];
  /** Strategic merge: 'merge', 'retainKeys', 'replace'; usually empty. */
  readonly patchStrategy: readonly PatchStrategy[];
  /** Strategic merge: the field which identifies items of a list with the strategy 'merge'; undefined for sets of scalars. */
  readonly patchMergeKey?: string;
  /** Static default (OpenAPI), where it is more than the zero value of the type. */
  readonly default?: unknown;
}

export type PatchStrategy = 'merge' | 'retainKeys' | 'replace';

// Owns what a kind is to the generic server: data and pure functions. Built-in and custom kinds are the same kind of value.
import type { NameValidator } from '../api/names.ts';
import type { Frozen, KubeObject } from '../api/meta.ts';
import type { FieldError } from '../api/status-error.ts';
import type { UserInfo } from './request.ts';
import type { Random } from '../base/random.ts';
import type { ObjectSchema } from '../api/schema/schema.ts';
import type { ParsedJson } from '../api/codec/json-parse.ts';

/** What pure strategies may know of the request they serve. */
export interface StrategyContext {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly user: string;
  /** Who asks, for kinds that keep it. */
  readonly requester: UserInfo;
  readonly dryRun: boolean;
  readonly random: Random;
}

export interface Column<T> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description?: string;
  /** 0 is always shown, 1 with -o wide. */
  readonly priority?: number;
  /** The cell is filled, the column is not announced: slips of upstream that clients see. */
  readonly unannounced?: boolean;
  readonly cell: (obj: Frozen<T>, nowMs: number) => unknown;
}

/** A part of an object that is written by itself ("status", "scale", …), keeping the rest as it was. */
export interface Subresource<T extends KubeObject> {
  prepareForUpdate?(next: T, prev: Frozen<T>, context: StrategyContext): void;
  validateUpdate?(next: Frozen<T>, prev: Frozen<T>): FieldError[];
  warnings?(next: Frozen<T>, prev: Frozen<T>): string[];
  /** Default true: answers can be had as Tables. Upstream has forgotten it for some, which clients are told by 406. */
  readonly hasTable?: false;
}

/** The ways between the stored version of a custom kind's objects (any of its versions) and this one. */
export interface Conversion {
  /** The object as this version shows it; undefined: it must be prepared first. */
  show(object: Frozen<KubeObject>): Frozen<KubeObject> | undefined;
  /** Others are called for it: `prepare` must have been waited for. */
  readonly calls: boolean;
  /** Makes `show` answer for all of them; undefined: it does. Rejects with an error named ConversionFailed. */
  prepare(objects: readonly Frozen<KubeObject>[]): Promise<void> | undefined;
  /** As it will be stored. Rejects as above. */
  store(object: Frozen<KubeObject>): KubeObject | Promise<KubeObject>;
  /** In any other of the kind's versions, with what that does not know. Rejects as above. */
  as(object: Frozen<KubeObject>, apiVersion: string): KubeObject | Promise<KubeObject>;
}

export interface Resource<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: T['kind'];
  readonly plural: string;
  readonly singular: string;
  /** Default: the kind with "List" behind it. */
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;

  /** The shape of its objects; absent for built-in kinds, whose schema is found by apiVersion and kind. */
  readonly schema?: ObjectSchema;
  /** Reads a parsed body whose apiVersion and kind are this one's; absent: by the schema. Custom kinds only. */
  decode?(
    parsed: ParsedJson,
    /** It is the outcome of server-side apply, whose nulls mean something else. */
    merged?: boolean,
  ): { readonly object: KubeObject; readonly problems: readonly string[] };
  /** What OpenAPI says of a custom kind: the schema of its definition, by reference. */
  readonly openApi?: Readonly<Record<string, unknown>>;
  /** The kind in another of its versions; undefined: claims of fields in that version are dropped. Kinds of several versions only. */
  readonly sibling?: (apiVersion: string) => Resource | undefined;
  /** Called before a write: kinds whose rules are large load them when they are first needed. */
  readonly load?: () => Promise<void>;
  /** Why a client's object cannot be read, for fields that upstream keeps in another form than they are sent in. Built-in kinds only. */
  readonly unreadable?: (obj: T) => string | undefined;
  /** Fills what depends on other fields or is not in the schema; runs on every decoded object, also on reads of old data. */
  applyDefaults?(obj: T, nowMs: number): void;
  /** Clears what a client may not set (status, …) and sets what the server owns. Generation is 1 where the kind has one. */
  prepareForCreate?(obj: T, context: StrategyContext): void;
  prepareForUpdate?(next: T, prev: Frozen<T>, context: StrategyContext): void;
  /** All errors at once, in field order. Metadata is validated by the generic server. */
  validate(obj: Frozen<T>): FieldError[];
  /** Errors of a change beside those of `validate(next)`, which the generic server calls first unless `validateUpdateAlone`. */
  validateUpdate?(next: Frozen<T>, prev: Frozen<T>): FieldError[];
  readonly validateUpdateAlone?: boolean;
  /** The form of names: default DNS-1123 subdomain. Returns what is wrong with `name`, or nothing. */
  readonly validateName?: NameValidator;
  /** Finalizers need not be qualified. */
  readonly anyFinalizer?: boolean;
  /** Where an error is told: low places first, 0 unless said. `change`: not when it is created. Those of upstream's declarative validation come last. */
  readonly place?: (error: FieldError, change: boolean) => number;
  /** The same error is told as often as it is found; of other built-in kinds once. */
  readonly repeatsErrors?: boolean;
  /** Metadata is looked at only when nothing else is wrong. */
  readonly metadataLater?: boolean;
  /** Texts for Warning headers. `prev` on updates only. */
  warnings?(obj: Frozen<T>, prev?: Frozen<T>): string[];
  /** Warnings of what an update was let off. They are told also when something else is refused. */
  forgiven?(obj: Frozen<T>, prev: Frozen<T>): string[];
  /** Field selectors beyond metadata.name and metadata.namespace. */
  readonly selectable?: Readonly<Record<string, (obj: Frozen<T>) => string>>;
  /** An annotation that upstream's own form of the kind keeps elsewhere: what shows only metadata has it not. */
  readonly withoutAnnotation?: string;
  readonly columns?: readonly Column<T>[];
  /** The order of a table's rows; default: that of the list. */
  readonly rowOrder?: (a: Frozen<T>, b: Frozen<T>) => number;
  /** The rows of an empty table are null, as upstream has it of a few kinds. Default true of those without columns of their own. */
  readonly nullRows?: true;
  /** What a table says of a row beside its cells. */
  rowConditions?(obj: Frozen<T>): { type: string; status: string; reason: string; message: string }[];
  /** "status", "scale", …: those whose object is this one and that need rules of their own. */
  readonly subresources?: Readonly<Record<string, Subresource<T>>>;
  /** Told to whoever asks for it, whatever the verb and the outcome. */
  readonly deprecated?: string;
  /** Told when DELETE does not say what becomes of dependents. */
  readonly deleteWarning?: string;
  /** PUT of an absent name creates it. */
  readonly createOnUpdate?: boolean;
  /** PUT without resourceVersion is accepted. Default true. */
  readonly unconditionalUpdate?: boolean;
  /** Kinds with more to wait for than metadata.finalizers: what still holds the object, and how it shows that it goes. */
  readonly deletion?: {
    readonly isHeld: (obj: Frozen<T>) => boolean;
    /** Changes the object when its deletion begins. */
    readonly begin?: (obj: T) => void;
    /** Only the beginning is the kind's own, and heeds no policy; asked again, it is deleted as others are. */
    readonly beginsOnly?: boolean;
  };
  /** Said when DELETE without a policy leaves dependents alone. */
  readonly orphanWarning?: string;
  /** DELETE answers with the object instead of a Status. */
  readonly deleteReturnsObject?: boolean;
  /** What DELETE without a policy does with dependents. Default "background". "unsupported": policies are not heeded either. */
  readonly defaultPropagation?: 'background' | 'orphan' | 'unsupported';
  /** Where the scale subresource reads and writes; default spec.replicas, status.replicas, spec.selector. */
  readonly scale?: { readonly specReplicas: string; readonly statusReplicas: string; readonly selector?: string };
  /** For a version that is not the one stored: its own `validate` and `validateUpdate` hold, not those of the stored one. */
  readonly judgesItself?: boolean;
  /** For a version that is not the one stored: the ways between them. Both answer with new objects. */
  readonly convert?: {
    readonly toStorage: (obj: Frozen<T>) => KubeObject;
    readonly fromStorage: (obj: Frozen<KubeObject>) => T;
  };
  /** Custom kinds of several versions; absent: objects are stored as they are served. */
  readonly conversion?: Conversion;
  /** Field paths whose values watches and lists are often selected by: answered from an index. Each is also in `selectable`. */
  readonly indexed?: readonly string[];
  /** Seconds after which objects vanish by themselves (events). */
  readonly ttlSeconds?: number;
  /** Seconds that deletion waits for whoever runs the object (pods); undefined: gone at once. */
  gracePeriodSeconds?(obj: Frozen<T>, requested: number | undefined): number;
}

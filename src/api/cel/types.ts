// Owns CEL's types: what they are, how they are written, and when one may stand for another. Knows no function.

export type CelType =
  | { readonly kind: 'dyn' }
  | { readonly kind: 'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'null' | 'timestamp' | 'duration' }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'optional'; readonly inner: CelType }
  | { readonly kind: 'type'; readonly of: CelType }
  /** A type parameter of a function's declaration. */
  | { readonly kind: 'param'; readonly name: string }
  /** A structure with known fields: an object of a schema, or one to be built ("Object.spec"). */
  | StructType
  /** A value with functions of its own and nothing inside to see: quantity, IP, URL, authorizer. */
  | { readonly kind: 'opaque'; readonly name: string };

export interface StructType {
  readonly kind: 'struct';
  readonly name: string;
  field(name: string): CelType | undefined;
}

export const dyn: CelType = { kind: 'dyn' };
export const bool: CelType = { kind: 'bool' };
export const int: CelType = { kind: 'int' };
export const uint: CelType = { kind: 'uint' };
export const double: CelType = { kind: 'double' };
export const string: CelType = { kind: 'string' };
export const bytes: CelType = { kind: 'bytes' };
export const nullType: CelType = { kind: 'null' };
export const timestamp: CelType = { kind: 'timestamp' };
export const duration: CelType = { kind: 'duration' };
export const list = (element: CelType): CelType => ({ kind: 'list', element });
export const map = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value });
export const optional = (inner: CelType): CelType => ({ kind: 'optional', inner });
export const typeOf = (of: CelType): CelType => ({ kind: 'type', of });
export const param = (name: string): CelType => ({ kind: 'param', name });
export const opaque = (name: string): CelType => ({ kind: 'opaque', name });

/** As compile errors show it. */
export function typeText(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeText(type.element)})`;
    case 'map':
      return `map(${typeText(type.key)}, ${typeText(type.value)})`;
    case 'optional':
      return `optional_type(${typeText(type.inner)})`;
    case 'type':
      return type.of.kind === 'dyn' ? 'type' : `type(${typeText(type.of)})`;
    case 'param':
    case 'struct':
    case 'opaque':
      return type.name;
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'duration':
      return 'google.protobuf.Duration';
    case 'null':
      return 'null_type';
    default:
      return type.kind;
  }
}

/** What type parameters stand for while one call is checked. */
export class Bindings {
  readonly #bound = new Map<string, CelType>();

  /** The type with its parameters replaced; unbound ones become dyn where `loose`. */
  resolve(type: CelType, loose = false): CelType {
    switch (type.kind) {
      case 'param': {
        const bound = this.#bound.get(type.name);
        if (bound === undefined) return loose ? dyn : type;
        return this.resolve(bound, loose);
      }
      case 'list':
        return list(this.resolve(type.element, loose));
      case 'map':
        return map(this.resolve(type.key, loose), this.resolve(type.value, loose));
      case 'optional':
        return optional(this.resolve(type.inner, loose));
      case 'type':
        return typeOf(this.resolve(type.of, loose));
      default:
        return type;
    }
  }

  /** Whether a value of type `given` may stand where `wanted` is asked for; binds parameters on the way. */
  accepts(wanted: CelType, given: CelType): boolean {
    if (wanted.kind === 'param') return this.#bind(wanted.name, given);
    if (given.kind === 'param') return this.#bind(given.name, wanted);
    if (wanted.kind === 'dyn' || given.kind === 'dyn') return true;
    if (given.kind === 'null') return wanted.kind === 'null' || takesNull(wanted);
    if (wanted.kind !== given.kind) return false;
    switch (wanted.kind) {
      case 'list':
        return this.accepts(wanted.element, (given as typeof wanted).element);
      case 'map':
        return (
          this.accepts(wanted.key, (given as typeof wanted).key) &&
          this.accepts(wanted.value, (given as typeof wanted).value)
        );
      case 'optional':
        return this.accepts(wanted.inner, (given as typeof wanted).inner);
      case 'struct':
      case 'opaque':
        return wanted.name === (given as typeof wanted).name;
      default:
        return true;
    }
  }

  #bind(name: string, type: CelType): boolean {
    const bound = this.#bound.get(name);
    if (bound === undefined) {
      if (type.kind !== 'param' || type.name !== name) this.#bound.set(name, type);
      return true;
    }
    if (bound.kind === 'dyn') return true;
    if (this.accepts(bound, type)) {
      // The wider of the two is what the parameter stands for.
      if (type.kind === 'dyn' || bound.kind === 'null') this.#bound.set(name, type);
      return true;
    }
    return false;
  }

  /** Forgets what was bound since `snapshot` was taken. */
  restore(snapshot: ReadonlyMap<string, CelType>): void {
    this.#bound.clear();
    for (const [name, type] of snapshot) this.#bound.set(name, type);
  }

  snapshot(): ReadonlyMap<string, CelType> {
    return new Map(this.#bound);
  }
}

/** Messages, wrappers and well-known types may be null; plain scalars, lists and maps may not. */
function takesNull(type: CelType): boolean {
  return (
    type.kind === 'struct' ||
    type.kind === 'opaque' ||
    type.kind === 'timestamp' ||
    type.kind === 'duration' ||
    type.kind === 'optional'
  );
}

/** The type of a list's or map's elements taken together: theirs if all agree, else dyn. */
export function joined(types: readonly CelType[]): CelType {
  const [first, ...rest] = types;
  if (first === undefined) return param('_element');
  const same = rest.every((type) => typeText(type) === typeText(first));
  return same ? first : dyn;
}

// Owns making a value when it is first asked for.

/** A call that throws is made again by the next who asks. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

// Owns what encryption of one stored value is, and how several providers share a resource: the first writes, all read, and each
// knows its own values by their prefix. Pure.

export interface Opened {
  readonly value: Uint8Array;
  /** Not as it would be written now: another key, another provider, or none. */
  readonly stale: boolean;
}

export interface Transformer {
  /** `key` is the whole key in the store ("/registry/secrets/default/a"): what authenticates does so to this place. */
  toStorage(plain: Uint8Array, key: string): Uint8Array;
  /** Throws Undecryptable, or StoreUnavailable when the key cannot be had now. */
  fromStorage(stored: Uint8Array, key: string): Opened | Promise<Opened>;
}

/** The stored bytes cannot be turned into the value by the providers there are; only another configuration can change that. */
export class Undecryptable extends Error {
  override readonly name = 'Undecryptable';
}

/** What all encrypted values begin with. */
const encryptedPrefix = Buffer.from('k8s:enc:');

export function isEncrypted(stored: Uint8Array): boolean {
  return startsWith(stored, encryptedPrefix);
}

export const identity: Transformer = {
  toStorage: (plain) => plain,
  fromStorage(stored) {
    if (isEncrypted(stored))
      throw new Undecryptable('the value is encrypted, which no provider that is configured reads');
    return { value: stored, stale: false };
  },
};

export interface Prefixed {
  /** "k8s:enc:aescbc:v1:"; empty for identity, which takes what nobody else does. */
  readonly prefix: string;
  readonly transformer: Transformer;
}

/** The first writes, after its prefix. `what` says what was looked for when nobody knows the value. */
export function prefixed(choices: readonly Prefixed[], what: string): Transformer {
  const known = choices.map(({ prefix, transformer }, at) => ({ prefix: Buffer.from(prefix), transformer, at }));
  const writer = known[0]!;
  return {
    toStorage: (plain, key) =>
      writer.prefix.length === 0
        ? writer.transformer.toStorage(plain, key)
        : Buffer.concat([writer.prefix, writer.transformer.toStorage(plain, key)]),
    fromStorage(stored, key) {
      const found = known.filter(({ prefix }) => startsWith(stored, prefix));
      // Identity is asked only when nobody claims the value, wherever it stands in the list.
      const [first = undefined] = found.filter(({ prefix }) => prefix.length > 0).concat(found);
      if (first === undefined) throw new Undecryptable(what);
      const opened = first.transformer.fromStorage(stored.subarray(first.prefix.length), key);
      if (first === writer) return opened;
      return opened instanceof Promise ? opened.then(outdated) : outdated(opened);
    },
  };
}

const outdated = ({ value }: Opened): Opened => ({ value, stale: true });

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) if (bytes[at] !== prefix[at]) return false;
  return true;
}

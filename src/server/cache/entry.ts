// Owns one stored object as the server holds it: decoded once, frozen, with its encodings shared as long as there is room for them. Never changes.
import { writeJson } from '../../api/codec/json-write.ts';
import { freeze } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { ByteKeeper } from '../../base/kept-bytes.ts';
import type { KeptBytes } from '../../base/kept-bytes.ts';

/** Turns stored bytes into the object (of the storage version), without its resourceVersion. */
export type Decode = (value: Uint8Array) => KubeObject;

/** Of all collections together: an object's JSON is larger than the object, and most are never read. */
const encodings = new ByteKeeper({ trialBytes: 4 * 1024 * 1024, provenBytes: 128 * 1024 * 1024 });

export class Entry {
  /** "namespace/name", or "name": the key without its collection's prefix. */
  readonly key: string;
  /** The store's revision of the last change. */
  readonly revision: number;
  #raw: Uint8Array | undefined;
  #decode: Decode | undefined;
  #object: Frozen<KubeObject> | undefined;
  /** JSON of the storage version with a line end, as single objects are sent. */
  #line: KeptBytes | undefined;
  /** Encodings other than plain JSON of the storage version, by a name of the form. */
  #others: Map<string, KeptBytes> | undefined;
  #views: Map<string, Frozen<object>> | undefined;

  private constructor(key: string, revision: number) {
    this.key = key;
    this.revision = revision;
  }

  /** Decoded on first use. */
  static stored(key: string, revision: number, raw: Uint8Array, decode: Decode): Entry {
    const entry = new Entry(key, revision);
    entry.#raw = raw;
    entry.#decode = decode;
    return entry;
  }

  /** `object` is frozen here and must not be shared with anyone who writes; its resourceVersion becomes `revision`. */
  static of(key: string, revision: number, object: KubeObject | Frozen<KubeObject>): Entry {
    const entry = new Entry(key, revision);
    entry.#object = stamped(object, revision);
    return entry;
  }

  /** Whoever knows the object spares the decoding. It is what was stored; the same holds as for `of`. */
  supply(object: KubeObject | Frozen<KubeObject>): void {
    if (this.#object !== undefined) return;
    this.#object = stamped(object, this.revision);
    this.#raw = undefined;
    this.#decode = undefined;
  }

  get object(): Frozen<KubeObject> {
    if (this.#object === undefined) {
      this.#object = stamped(this.#decode!(this.#raw!), this.revision);
      this.#raw = undefined;
      this.#decode = undefined;
    }
    return this.#object;
  }

  get namespace(): string {
    const slash = this.key.indexOf('/');
    return slash < 0 ? '' : this.key.slice(0, slash);
  }

  get name(): string {
    return this.key.slice(this.key.indexOf('/') + 1);
  }

  /** JSON of the storage version in UTF-8, with a line end. `isListed`: it is read as one of many, who will be read again. */
  jsonLine(isListed = false): Buffer {
    const known = this.#line && encodings.use(this.#line);
    if (known !== undefined) return known;
    const line = Buffer.from(`${writeJson(this.object)}\n`);
    this.#line = encodings.keep(line, isListed);
    return line;
  }

  /** The encoding named `form`, made by `encode` when it is not known. */
  encoded(form: string, encode: (object: Frozen<KubeObject>) => Uint8Array, isListed = false): Buffer {
    const kept = this.#others?.get(form);
    const known = kept && encodings.use(kept);
    if (known !== undefined) return known;
    const made = encode(this.object);
    const bytes = Buffer.isBuffer(made) ? made : Buffer.from(made.buffer, made.byteOffset, made.byteLength);
    (this.#others ??= new Map()).set(form, encodings.keep(bytes, isListed));
    return bytes;
  }

  /** The object as `name` sees it (another version, metadata only): made once. */
  view(name: string, make: (object: Frozen<KubeObject>) => object): Frozen<object> {
    this.#views ??= new Map();
    let view = this.#views.get(name);
    if (view === undefined) {
      view = freeze(make(this.object)) as Frozen<object>;
      this.#views.set(name, view);
    }
    return view;
  }

  /** There is a newer one: what few will ask for again is let go, and made anew for those who do. */
  superseded(): void {
    if (this.#line !== undefined) encodings.release(this.#line);
    for (const kept of this.#others?.values() ?? []) encodings.release(kept);
    this.#line = undefined;
    this.#others = undefined;
    this.#views = undefined;
  }

  /** The same object under a later revision: what a DELETED event shows. */
  at(revision: number): Entry {
    return Entry.of(this.key, revision, this.object);
  }
}

function stamped(object: KubeObject | Frozen<KubeObject>, revision: number): Frozen<KubeObject> {
  const { name, generateName, namespace, selfLink, uid, resourceVersion: _, ...rest } = object.metadata;
  const metadata: Record<string, unknown> = { name };
  if (generateName !== undefined) metadata['generateName'] = generateName;
  if (namespace !== undefined) metadata['namespace'] = namespace;
  if (selfLink !== undefined) metadata['selfLink'] = selfLink;
  if (uid !== undefined) metadata['uid'] = uid;
  // Zero: it was not stored.
  if (revision > 0) metadata['resourceVersion'] = String(revision);
  return freeze({ ...object, metadata: Object.assign(metadata, rest) }) as unknown as Frozen<KubeObject>;
}

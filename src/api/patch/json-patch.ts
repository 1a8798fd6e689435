// Owns JSON patch (RFC 6902) with the leniencies of kube-apiserver. Never changes what it is given; shares what stays the same.
import { NumberText, parseExact, plainNumbers } from '../codec/json-parse.ts';
import { writeJson } from '../codec/json-write.ts';
import { setOwn } from '../meta.ts';
import { badRequest, statusError, type StatusError } from '../status-error.ts';
import { equalJson } from '../apply/structure.ts';

/** More operations than this are refused with 413. */
const maxJsonPatchOperations = 10_000;
/** How many bytes of JSON one patch may copy in all: the limit of a request's body. */
const maxCopyBytes = 3 * 1024 * 1024;

interface Operation {
  readonly op?: unknown;
  readonly path?: unknown;
  readonly from?: unknown;
  readonly value?: unknown;
}

type Container = Record<string, unknown> | unknown[];

/**
 * Applies `operations` (the parsed body, maybe with NumberText, which then are in the result) to `object`. Differences to the RFC, as upstream has them: `replace` adds a missing
 * key, negative indexes count from the end, a missing value is null, a path's first segment is dropped whatever it is.
 * Throws StatusError: 400 for what is no list of operations, 413 for too many, 422 for one that does not apply.
 */
export function applyJsonPatch(object: unknown, operations: unknown): unknown {
  if (operations === null) return object;
  if (!Array.isArray(operations)) throw badRequest('a JSON patch must be a list of operations');
  if (operations.length > maxJsonPatchOperations)
    throw statusError(
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${operations.length}`,
    );
  for (const operation of operations as unknown[]) checkOperation(operation);
  const draft = new Draft(object);
  for (const operation of operations as (Operation | null)[]) draft.run(operation ?? {});
  return draft.root;
}

/** Null is an operation that says nothing, and does not apply. */
function checkOperation(operation: unknown): void {
  if (operation === null) return;
  if (!isContainer(operation) || Array.isArray(operation))
    throw badRequest('an operation of a JSON patch must be an object');
  for (const member of ['op', 'path', 'from'] as const) {
    const value = (operation as Operation)[member];
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw badRequest(`${member} of an operation of a JSON patch must be text`);
  }
}

const members: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** Members that operations may not have, for strict field validation: `json patch unknown field "[0].comment"`. */
export function unknownJsonPatchMembers(operations: unknown): string[] {
  if (!Array.isArray(operations)) return [];
  return (operations as unknown[]).flatMap((operation, at) =>
    Object.keys(operation ?? {})
      .filter((member) => !members.has(member))
      .map((member) => `json patch unknown field "[${at}].${member}"`),
  );
}

function refuse(message: string): StatusError {
  return statusError('Invalid', `the server rejected our request due to an error in our request: ${message}`, {});
}

/** A document being changed: containers are copied once, before their first change. */
class Draft {
  root: unknown;
  readonly #own = new Set<object>();
  #copiedBytes = 0;

  constructor(root: unknown) {
    this.root = root;
  }

  run({ op, path, from, value = null }: Operation): void {
    const target = typeof path === 'string' ? path : '';
    switch (op) {
      case 'add':
        return this.#add(target, value);
      case 'remove':
        return this.#remove(target);
      case 'replace':
        return this.#replace(target, value);
      case 'test':
        return this.#test(target, value);
      case 'move': {
        const moved = this.#get(textOf(from));
        this.#remove(textOf(from));
        return this.#add(target, moved);
      }
      case 'copy':
        return this.#add(target, this.#copy(this.#get(textOf(from))));
      default:
        throw refuse(`unexpected kind of operation: ${JSON.stringify(op) ?? 'none'}`);
    }
  }

  #add(path: string, value: unknown): void {
    const [container, key] = this.#find(path, true);
    if (Array.isArray(container)) {
      if (key === '-') container.push(value);
      else container.splice(indexOf(key, container.length + 1, path), 0, value);
    } else setOwn(container, key, value);
  }

  #remove(path: string): void {
    const [container, key] = this.#find(path, true);
    if (Array.isArray(container)) container.splice(indexOf(key, container.length, path), 1);
    else if (Object.hasOwn(container, key)) delete container[key];
    else throw refuse(`remove: ${path} does not exist`);
  }

  #replace(path: string, value: unknown): void {
    if (path === '') {
      if (typeof value !== 'object' || value === null) throw refuse('replace: a document must be an object or a list');
      this.root = value;
      return;
    }
    const [container, key] = this.#find(path, true);
    if (Array.isArray(container)) container[indexOf(key, container.length, path)] = value;
    else setOwn(container, key, value);
  }

  #test(path: string, value: unknown): void {
    const found = path === '' ? this.root : this.#get(path);
    if (!equalJson(asWritten(found ?? null), asWritten(value))) throw refuse(`testing path ${path} failed`);
  }

  #get(path: string): unknown {
    const [container, key] = this.#find(path, false);
    if (Array.isArray(container)) return container[indexOf(key, container.length, path)];
    return Object.hasOwn(container, key) ? container[key] : null;
  }

  #copy(value: unknown): unknown {
    const text = writeJson(plainNumbers(value) ?? null);
    this.#copiedBytes += Buffer.byteLength(text);
    if (this.#copiedBytes > maxCopyBytes) throw refuse(`the copies of one patch exceed ${maxCopyBytes} bytes in all`);
    return parseExact(text);
  }

  /** The container that a path ends in, and the last segment. With `write`, all on the way may be changed in place. */
  #find(path: string, write: boolean): [Container, string] {
    const segments = path.split('/').slice(1);
    const last = segments.pop();
    if (last === undefined || !isContainer(this.root)) throw refuse(`no such path: ${path}`);
    let container = write ? this.#owned(this.root) : this.root;
    if (write) this.root = container;
    for (const segment of segments) {
      const key = unescape(segment);
      const at = Array.isArray(container) ? indexOf(key, container.length, path) : key;
      const next = Array.isArray(container)
        ? container[at as number]
        : Object.hasOwn(container, key)
          ? container[key]
          : undefined;
      if (!isContainer(next)) throw refuse(`no such path: ${path}`);
      const owned = write ? this.#owned(next) : next;
      if (owned !== next) {
        if (Array.isArray(container)) container[at as number] = owned;
        else setOwn(container, key, owned);
      }
      container = owned;
    }
    return [container, unescape(last)];
  }

  #owned(container: Container): Container {
    if (this.#own.has(container)) return container;
    let copy: Container;
    if (Array.isArray(container)) copy = [...(container as unknown[])];
    else {
      copy = {};
      for (const key of Object.keys(container)) setOwn(copy, key, container[key]);
    }
    this.#own.add(copy);
    return copy;
  }
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null && !(value instanceof NumberText);
}

/** Upstream compares how numbers are written: 1.0 is not 1. What the server would write otherwise becomes a symbol of its text. */
function asWritten(value: unknown): unknown {
  if (value instanceof NumberText) {
    const plain = plainNumbers(value);
    return writeJson(plain) === value.text ? plain : Symbol.for(value.text);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(asWritten);
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) setOwn(result, key, asWritten(inner));
  return result;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function unescape(segment: string): string {
  return segment.includes('~') ? segment.replaceAll('~1', '/').replaceAll('~0', '~') : segment;
}

/** An index below `size`; negative ones count from the end. */
function indexOf(key: string, size: number, path: string): number {
  const index = /^[+-]?\d{1,15}$/.test(key) ? Number(key) : Number.NaN;
  const at = index < 0 ? index + size : index;
  if (!(at >= 0 && at < size)) throw refuse(`invalid index in ${path}`);
  return at;
}

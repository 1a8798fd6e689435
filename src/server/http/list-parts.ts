// Owns large lists as a sequence of buffers, made while they are read: the whole is never in memory at once.
import { itemHead, messageOf, protobufList } from '../../api/codec/protobuf-list.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { Entry } from '../cache/entry.ts';

/** Smaller pieces are put together to so much. */
const partBytes = 128 * 1024;
/** After so many items without a part an empty one is given: whoever reads may let others have their turn. */
const itemsPerTurn = 200;

const comma = Buffer.from(',');
const nothing = Buffer.alloc(0);

/** Pieces become parts of about `partBytes`. */
function* gathered(pieces: Iterable<Buffer>): Generator<Buffer, void, undefined> {
  let waiting: Buffer[] = [];
  let size = 0;
  for (const piece of pieces) {
    if (piece.length === 0) {
      yield nothing;
      continue;
    }
    waiting.push(piece);
    size += piece.length;
    if (size < partBytes) continue;
    yield Buffer.concat(waiting, size);
    waiting = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(waiting, size);
}

/** `head` ends before the first item; `item` gives each one's JSON. */
export function jsonParts(
  head: string,
  count: number,
  item: (at: number) => Buffer,
  end: Buffer,
): Generator<Buffer, void, undefined> {
  function* pieces(): Generator<Buffer, void, undefined> {
    yield Buffer.from(head);
    for (let at = 0; at < count; at++) {
      if (at > 0) yield comma;
      yield item(at);
      if (at % itemsPerTurn === itemsPerTurn - 1) yield nothing;
    }
    yield end;
  }
  return gathered(pieces());
}

/** Undefined when the list has no protobuf form. `encoded` gives each entry enveloped. */
export function protobufParts(
  empty: { readonly apiVersion: string; readonly kind: string },
  entries: readonly Entry[],
  encoded: (entry: Entry) => Buffer,
): Generator<Buffer, void, undefined> | undefined {
  const schema = schemaOf(empty.apiVersion, empty.kind);
  const number = schema?.byName.get('items')?.proto;
  if (schema === undefined || number === undefined || number === 0) return undefined;
  function* pieces(): Generator<Buffer, void, undefined> {
    let size = 0;
    // The length stands before the items, so all are encoded first: their bytes are the entries' own, shared.
    for (const [at, entry] of entries.entries()) {
      const { length } = messageOf(encoded(entry));
      size += length + itemHead(number!, length).length;
      if (at % itemsPerTurn === itemsPerTurn - 1) yield nothing;
    }
    const { head, end } = protobufList(schema!, empty, size);
    yield head;
    for (const entry of entries) {
      const message = messageOf(encoded(entry));
      yield itemHead(number!, message.length);
      yield message;
    }
    yield end;
  }
  return gathered(pieces());
}

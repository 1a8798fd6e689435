// Owns reading etcd's requests as the store's: ranges, compares, operations. Pure; refuses what Kubernetes does not use.
import type * as etcd from '../../wire/generated/etcd-rpc.ts';
import { InvalidRequest, prefixRange } from '../store.ts';
import type { Compare, KeyRange, Operation, RangeOptions } from '../store.ts';
import { unsupported } from './errors.ts';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

export function keyOf(bytes: Uint8Array): string {
  const key = decode(bytes);
  if (key === undefined) throw new InvalidRequest('keys must be UTF-8 text');
  return key;
}

/** etcd: an empty end means the one key, the end "\0" no upper bound, the key "\0" with it everything. */
export function rangeOf(key: Uint8Array, rangeEnd: Uint8Array): KeyRange {
  if (key.length === 0) throw new InvalidRequest('the key is empty', 'emptyKey');
  const start = lowerBound(key);
  if (rangeEnd.length === 0) return { start: keyOf(key) };
  if (rangeEnd.length === 1 && rangeEnd[0] === 0) return { start, end: '\0' };
  const end = lowerBound(rangeEnd);
  return { start, end };
}

/**
 * The smallest text that is not below the bytes. They may be no text: the end of a prefix is its last byte plus one. No
 * text lies between, so the range holds the same keys.
 */
function lowerBound(bytes: Uint8Array): string {
  let length = bytes.length;
  let text = decode(bytes);
  while (text === undefined) text = decode(bytes.subarray(0, --length));
  if (length === bytes.length) return text;
  const rest = bytes.subarray(length);
  let low = 0;
  let high = 0x110000;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (Buffer.compare(Buffer.from(String.fromCodePoint(character(middle))), rest) < 0) low = middle + 1;
    else high = middle;
  }
  return low > 0x10ffff ? prefixRange(text).end : text + String.fromCodePoint(character(low));
}

/** Surrogates are no characters. */
function character(point: number): number {
  return point >= 0xd800 && point < 0xe000 ? 0xe000 : point;
}

export function safeNumber(value: bigint, what: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new InvalidRequest(`${what} ${value} is beyond 2^53 - 1, which is not supported`);
  return number;
}

/** Whether the store's own order and limit do, or the answer must be sorted and filtered here. */
export function isPlain(request: etcd.RangeRequest): boolean {
  const { sortOrder, sortTarget, minModRevision, maxModRevision, minCreateRevision, maxCreateRevision } = request;
  const inOrder = sortOrder === 'NONE' ? sortTarget === 'KEY' : sortOrder === 'ASCEND' && sortTarget === 'KEY';
  return inOrder && minModRevision + maxModRevision + minCreateRevision + maxCreateRevision === 0n;
}

export function rangeOptions(request: etcd.RangeRequest): RangeOptions {
  return {
    limit: isPlain(request) ? safeNumber(request.limit, 'the limit') : 0,
    revision: Math.max(0, safeNumber(request.revision, 'the revision')),
    // Sorting by value needs the values.
    keysOnly: request.keysOnly && isPlain(request),
    countOnly: request.countOnly,
  };
}

const relations: Readonly<Record<string, Compare['is']>> = { EQUAL: '=', NOT_EQUAL: '!=', LESS: '<', GREATER: '>' };

export function compareOf(compare: etcd.Compare): Compare {
  if (compare.rangeEnd.length > 0) throw unsupported('a comparison of a range');
  const is = relations[compare.result];
  if (is === undefined) throw new InvalidRequest(`no comparison ${compare.result}`);
  const key = keyOf(compare.key);
  const number = (value: bigint | undefined) => safeNumber(value ?? 0n, 'the compared number');
  switch (compare.target) {
    case 'VERSION':
      return { key, is, target: 'version', value: number(compare.version) };
    case 'CREATE':
      return { key, is, target: 'createRevision', value: number(compare.createRevision) };
    case 'MOD':
      return { key, is, target: 'modRevision', value: number(compare.modRevision) };
    case 'LEASE':
      return { key, is, target: 'lease', value: number(compare.lease) };
    case 'VALUE':
      return { key, is, target: 'value', value: compare.value ?? new Uint8Array(0) };
    default:
      throw new InvalidRequest(`nothing to compare: ${String(compare.target)}`);
  }
}

export function putOf(request: etcd.PutRequest): Operation {
  if (request.ignoreValue || request.ignoreLease) throw unsupported('a put that keeps the old value or lease');
  const { key, value, lease, prevKv } = request;
  return { type: 'put', key: keyOf(key), value, lease: safeNumber(lease, 'the lease'), previous: prevKv };
}

export function deleteOf({ key, rangeEnd, prevKv }: etcd.DeleteRangeRequest): Operation {
  return { type: 'delete', range: rangeOf(key, rangeEnd), previous: prevKv };
}

export function operationOf(request: etcd.RequestOp): Operation {
  if (request.requestPut !== undefined) return putOf(request.requestPut);
  if (request.requestDeleteRange !== undefined) return deleteOf(request.requestDeleteRange);
  if (request.requestRange !== undefined) {
    const { key, rangeEnd } = request.requestRange;
    return { type: 'range', range: rangeOf(key, rangeEnd), options: rangeOptions(request.requestRange) };
  }
  throw request.requestTxn === undefined
    ? new InvalidRequest('an operation without content')
    : unsupported('a transaction within a transaction');
}

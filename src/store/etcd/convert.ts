// Owns turning the store's values into etcd's messages and back. Pure; used by the engine and by the face.
import { InvalidRequest } from '../store.ts';
import type { Compare, KeyRange, KeyValue, Operation, OperationResult } from '../store.ts';
import type { RangeOptions, RangeResult, StoreEvent } from '../store.ts';
import type { Event, KeyValue as EtcdKeyValue } from '../../wire/generated/etcd-kv.ts';
import type * as etcd from '../../wire/generated/etcd-rpc.ts';
import type { Init } from '../../wire/protobuf.ts';

const noBytes = new Uint8Array(0);
const noUpperBound = Uint8Array.of(0);

const bytesOf = (key: string): Uint8Array => Buffer.from(key, 'utf8');

export function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('utf8');
}

export function rangeBytes({ start, end }: KeyRange): { key: Uint8Array; rangeEnd: Uint8Array } {
  if (start === '') throw new InvalidRequest('the key is empty', 'emptyKey');
  return { key: bytesOf(start), rangeEnd: end === undefined ? noBytes : end === '\0' ? noUpperBound : bytesOf(end) };
}

export function rangeRequest(range: KeyRange, options: RangeOptions = {}): Init<etcd.RangeRequest> {
  return {
    ...rangeBytes(range),
    limit: options.limit ?? 0,
    revision: options.revision ?? 0,
    keysOnly: options.keysOnly === true,
    countOnly: options.countOnly === true,
  };
}

function pairOf(kv: EtcdKeyValue): KeyValue {
  return {
    key: textOf(kv.key),
    value: kv.value,
    createRevision: Number(kv.createRevision),
    modRevision: Number(kv.modRevision),
    version: Number(kv.version),
    lease: Number(kv.lease),
  };
}

export function etcdPair(kv: KeyValue): Init<EtcdKeyValue> {
  return { ...kv, key: bytesOf(kv.key) };
}

export function eventOf(event: Event): StoreEvent {
  const kv = pairOf(event.kv!);
  const type = event.type === 'DELETE' ? 'delete' : 'put';
  return event.prevKv === undefined ? { type, kv } : { type, kv, previous: pairOf(event.prevKv) };
}

export function rangeResult(response: etcd.RangeResponse, revision: number): RangeResult {
  return { revision, items: response.kvs.map(pairOf), count: Number(response.count), more: response.more };
}

const relations = { '=': 'EQUAL', '!=': 'NOT_EQUAL', '<': 'LESS', '>': 'GREATER' } as const;
const targets = {
  modRevision: 'MOD',
  createRevision: 'CREATE',
  version: 'VERSION',
  lease: 'LEASE',
  value: 'VALUE',
} as const;

export function etcdCompare(compare: Compare): Init<etcd.Compare> {
  const { key, target, is, value } = compare;
  return { key: bytesOf(key), target: targets[target], result: relations[is], [target]: value };
}

export function requestOp(operation: Operation): Init<etcd.RequestOp> {
  switch (operation.type) {
    case 'put': {
      const { key, value, lease = 0, previous = false } = operation;
      return { requestPut: { key: bytesOf(key), value, lease, prevKv: previous } };
    }
    case 'delete':
      return { requestDeleteRange: { ...rangeBytes(operation.range), prevKv: operation.previous === true } };
    case 'range':
      return { requestRange: rangeRequest(operation.range, operation.options) };
  }
}

export function operationResult(response: etcd.ResponseOp, revision: number): OperationResult {
  const { responsePut, responseDeleteRange, responseRange } = response;
  if (responsePut !== undefined)
    return responsePut.prevKv === undefined ? { type: 'put' } : { type: 'put', previous: pairOf(responsePut.prevKv) };
  if (responseDeleteRange !== undefined)
    return {
      type: 'delete',
      count: Number(responseDeleteRange.deleted),
      previous: responseDeleteRange.prevKvs.map(pairOf),
    };
  if (responseRange !== undefined) {
    const at = Number(responseRange.header?.revision ?? 0);
    return { type: 'range', result: rangeResult(responseRange, at || revision) };
  }
  throw new Error('etcd answered an operation that was not asked');
}

// Owns etcd's KV service over a store.
import type * as etcd from '../../wire/generated/etcd-rpc.ts';
import type { KV } from '../../wire/generated/etcd-rpc.ts';
import type { Handlers } from '../../wire/grpc-service.ts';
import type { Init } from '../../wire/protobuf.ts';
import { etcdPair } from '../etcd/convert.ts';
import type { KeyValue, OperationResult, RangeResult, Store } from '../store.ts';
import { answering } from './errors.ts';
import type { Header } from './face.ts';
import { compareOf, deleteOf, isPlain, operationOf, putOf, rangeOf, rangeOptions, safeNumber } from './requests.ts';

export function keyValueHandlers(store: Store, header: Header): Handlers<typeof KV> {
  const one = async (operation: ReturnType<typeof putOf>): Promise<{ revision: number; result: OperationResult }> => {
    const { revision, results } = await store.transact({ compare: [], then: [operation] });
    return { revision, result: results[0]! };
  };
  return {
    range: answering(async (request) => {
      const result = await store.range(rangeOf(request.key, request.rangeEnd), rangeOptions(request));
      return rangeResponse(request, result, header);
    }),
    put: answering(async (request) => {
      const { revision, result } = await one(putOf(request));
      return putResponse(result, header(revision));
    }),
    deleteRange: answering(async (request) => {
      const { revision, result } = await one(deleteOf(request));
      return deleteResponse(result, header(revision));
    }),
    txn: answering(async (request) => {
      const transaction = {
        compare: request.compare.map(compareOf),
        then: request.success.map(operationOf),
        otherwise: request.failure.map(operationOf),
      };
      const { succeeded, revision, results } = await store.transact(transaction);
      const asked = succeeded ? request.success : request.failure;
      const responses = results.map((result, at) => responseOp(asked[at]!, result, revision, header));
      return { header: header(revision), succeeded, responses };
    }),
    compact: answering(async (request) => {
      await store.compact(safeNumber(request.revision, 'the revision'));
      return { header: header((await store.status()).revision) };
    }),
  };
}

function responseOp(
  asked: etcd.RequestOp,
  result: OperationResult,
  revision: number,
  header: Header,
): Init<etcd.ResponseOp> {
  switch (result.type) {
    case 'range':
      return { responseRange: rangeResponse(asked.requestRange!, result.result, header) };
    case 'put':
      return { responsePut: putResponse(result, header(revision)) };
    case 'delete':
      return { responseDeleteRange: deleteResponse(result, header(revision)) };
  }
}

function putResponse(result: OperationResult, header: Init<etcd.ResponseHeader>): Init<etcd.PutResponse> {
  const previous = result.type === 'put' ? result.previous : undefined;
  return previous === undefined ? { header } : { header, prevKv: etcdPair(previous) };
}

function deleteResponse(result: OperationResult, header: Init<etcd.ResponseHeader>): Init<etcd.DeleteRangeResponse> {
  if (result.type !== 'delete') throw new Error('a deletion was answered with something else');
  return { header, deleted: result.count, prevKvs: result.previous.map(etcdPair) };
}

function rangeResponse(request: etcd.RangeRequest, result: RangeResult, header: Header): Init<etcd.RangeResponse> {
  const plain = isPlain(request);
  const chosen = plain ? result.items : sorted(filtered(result.items, request), request);
  const limit = Number(request.limit);
  const kept = plain || limit === 0 ? chosen : chosen.slice(0, limit);
  const pairs = request.keysOnly ? kept.map((pair) => ({ ...pair, value: new Uint8Array(0) })) : kept;
  const more = plain ? result.more : chosen.length > kept.length;
  return { header: header(result.revision), kvs: pairs.map(etcdPair), more, count: result.count };
}

function filtered(items: readonly KeyValue[], request: etcd.RangeRequest): KeyValue[] {
  const { minModRevision, maxModRevision, minCreateRevision, maxCreateRevision } = request;
  const within = (value: number, min: bigint, max: bigint) => value >= min && (max === 0n || value <= max);
  return items.filter(
    ({ modRevision, createRevision }) =>
      within(modRevision, minModRevision, maxModRevision) &&
      within(createRevision, minCreateRevision, maxCreateRevision),
  );
}

function sorted(items: KeyValue[], { sortOrder, sortTarget }: etcd.RangeRequest): KeyValue[] {
  const order: Readonly<Record<string, (a: KeyValue, b: KeyValue) => number>> = {
    VERSION: (a, b) => a.version - b.version,
    CREATE: (a, b) => a.createRevision - b.createRevision,
    MOD: (a, b) => a.modRevision - b.modRevision,
    VALUE: (a, b) => Buffer.compare(a.value, b.value),
  };
  const compare = order[sortTarget];
  const ascending = compare === undefined ? items : items.sort(compare);
  // Without an order, etcd sorts ascending whenever the target is not the key.
  return sortOrder === 'DESCEND' ? ascending.reverse() : ascending;
}

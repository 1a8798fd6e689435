// Owns what makes a transaction wrong before it is looked at: empty keys, a key written twice, and the limits of size.
import { InvalidRequest } from '../store.ts';
import type { Operation, StoreLimits, Transaction } from '../store.ts';
import { boundsOf, byteKey, within } from './keys.ts';
import type { Bounds, ByteKey } from './keys.ts';

/** Throws `InvalidRequest`; the same on every engine. */
export function checkTransaction(transaction: Transaction, limits: StoreLimits): void {
  const { compare, then } = transaction;
  const otherwise = transaction.otherwise ?? [];
  const most = Math.max(compare.length, then.length, otherwise.length);
  if (most > limits.maxOperations)
    throw new InvalidRequest(
      `${most} operations in one transaction, more than ${limits.maxOperations}`,
      'tooManyOperations',
    );
  let bytes = 0;
  for (const { key, value } of compare) {
    if (key === '') throw new InvalidRequest('the key is empty', 'emptyKey');
    bytes += key.length + (typeof value === 'number' ? 8 : value.length);
  }
  for (const branch of [then, otherwise]) {
    checkBranch(branch);
    for (const operation of branch)
      if (operation.type === 'put') bytes += operation.key.length + operation.value.length;
  }
  if (bytes > limits.maxRequestBytes)
    throw new InvalidRequest(`the request has ${bytes} bytes, more than ${limits.maxRequestBytes}`, 'tooLarge');
}

function checkBranch(operations: readonly Operation[]): void {
  const put = new Set<ByteKey>();
  const deleted: Bounds[] = [];
  for (const operation of operations) {
    if (operation.type === 'put') {
      if (operation.key === '') throw new InvalidRequest('the key is empty', 'emptyKey');
      const key = byteKey(operation.key);
      if (put.has(key))
        throw new InvalidRequest(`the key ${operation.key} is written twice in one transaction`, 'duplicateKey');
      put.add(key);
    } else {
      const bounds = boundsOf(operation.range);
      if (operation.type === 'delete') deleted.push(bounds);
    }
  }
  for (const bounds of deleted)
    for (const key of put)
      if (within(bounds, key))
        throw new InvalidRequest('a key is both written and deleted in one transaction', 'duplicateKey');
}

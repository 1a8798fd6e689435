// Owns etcd's Lease service over a store.
import type { Lease } from '../../wire/generated/etcd-rpc.ts';
import type { Handlers } from '../../wire/grpc-service.ts';
import type { Store } from '../store.ts';
import { answering, grpcError } from './errors.ts';
import type { Header } from './face.ts';
import { safeNumber } from './requests.ts';

export function leaseHandlers(store: Store, header: Header): Handlers<typeof Lease> {
  const now = async () => header((await store.status()).revision);
  return {
    leaseGrant: answering(async ({ TTL, ID }) => {
      // etcd grants at least a second, whatever was asked.
      const granted = await store.grantLease(Math.max(1, safeNumber(TTL, 'the TTL')), safeNumber(ID, 'the lease'));
      return { header: await now(), ID: granted.id, TTL: granted.ttlSeconds };
    }),
    leaseRevoke: answering(async ({ ID }) => {
      await store.revokeLease(safeNumber(ID, 'the lease'));
      return { header: await now() };
    }),
    leaseKeepAlive: async function* (requests) {
      try {
        for await (const { ID } of requests)
          yield { header: await now(), ID, TTL: await store.keepLeaseAlive(safeNumber(ID, 'the lease')) };
      } catch (error) {
        throw grpcError(error);
      }
    },
    leaseTimeToLive: answering(async ({ ID, keys }) => {
      const found = await store.lease(safeNumber(ID, 'the lease'));
      if (found === undefined) return { header: await now(), ID, TTL: -1 };
      return {
        header: await now(),
        ID,
        TTL: found.remainingSeconds,
        grantedTTL: found.ttlSeconds,
        keys: keys ? found.keys.map((key) => Buffer.from(key)) : [],
      };
    }),
    leaseLeases: answering(async () => ({ header: await now(), leases: (await store.leases()).map((ID) => ({ ID })) })),
  };
}

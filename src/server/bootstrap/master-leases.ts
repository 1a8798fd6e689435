// Owns who serves now: each API server keeps its address in the store under a lease, as upstream's lease reconciler does; the dead vanish.
import { schemaOf } from '../../api/schema/builtin.ts';
import type { KubeObject } from '../../api/meta.ts';
import { prefixRange } from '../../store/store.ts';
import type { Store } from '../../store/store.ts';
import { protobufStorage } from '../storage/envelope.ts';
import { registryRoot } from '../storage/keys.ts';

export interface MasterLeases {
  /** Says that this server is there for the next 15 seconds; the addresses of all that are, in order. */
  announce(address: string): Promise<readonly string[]>;
  /** Says that it goes; the addresses of the others, in order. */
  withdraw(address: string): Promise<readonly string[]>;
}

const prefix = `${registryRoot}masterleases/`;
const ttlSeconds = 15;

export function masterLeases(store: Store): MasterLeases {
  const codec = protobufStorage(schemaOf('v1', 'Endpoints')!);
  async function all(): Promise<readonly string[]> {
    const { items } = await store.range(prefixRange(prefix), { keysOnly: true });
    return items.map(({ key }) => key.slice(prefix.length));
  }

  return {
    async announce(address) {
      const { id } = await store.grantLease(ttlSeconds);
      // Upstream keeps an Endpoints object there.
      const object = { apiVersion: 'v1', kind: 'Endpoints', metadata: {}, subsets: [{ addresses: [{ ip: address }] }] };
      const value = codec.encode(object as unknown as KubeObject);
      await store.transact({ compare: [], then: [{ type: 'put', key: prefix + address, value, lease: id }] });
      return all();
    },
    async withdraw(address) {
      await store.transact({ compare: [], then: [{ type: 'delete', range: { start: prefix + address } }] });
      return all();
    },
  };
}

// Owns a whole API server for tests: in memory, on a free port, ended with the test.
import { generateKeyPairSync } from 'node:crypto';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import type { Transport } from '../client/transport.ts';
import { memoryStore } from '../store/memory.ts';
import type { Store } from '../store/store.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { apiServer } from './api-server.ts';
import type { ApiServer } from './api-server.ts';
import type { ApiServerDeps, ApiServerOptions } from './options.ts';

export interface TestServer {
  readonly server: ApiServer;
  readonly port: number;
  /** As a cluster admin, in process. */
  readonly admin: Transport;
  stop(): Promise<void>;
}

type TestDeps = Partial<Pick<ApiServerDeps, 'clock' | 'metrics' | 'actions' | 'exclusiveStore'>>;

export const adminToken = 'admin-token';

/** On a store of its own, or on one that is given and outlives it. */
export async function startTestServer(
  options: Partial<ApiServerOptions> = {},
  given?: Store,
  { clock = systemClock, exclusiveStore = true, ...more }: TestDeps = {},
): Promise<TestServer> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const { key, certificate } = selfSigned(pair);
  const deps = { clock, random: systemRandom, log: silentLogger };
  const store = given ?? memoryStore(deps);
  const server = apiServer(
    {
      bindAddress: '127.0.0.1',
      securePort: 0,
      tls: { key, certificate },
      serviceAccounts: { signingKey: key },
      tokenFile: `${adminToken},admin,1,"system:masters"\nother-token,alice,2,"devs"\n`,
      ...options,
    },
    { store, exclusiveStore, ...deps, ...more },
  );
  const abort = new AbortController();
  const ended = server.run(abort.signal);
  const { port } = await server.ready;
  return {
    server,
    port,
    admin: server.inProcess({ name: 'admin', groups: ['system:masters'] }, 'test'),
    async stop() {
      abort.abort();
      await ended;
      if (given === undefined) await store.close();
    },
  };
}

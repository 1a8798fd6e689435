// Owns the set-ups that histories over API servers are checked on, and running seeds: for the short and for the long test.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { type Random, randomInteger, systemRandom } from '../../src/base/random.ts';
import { openEtcdStore } from '../../src/store/etcd/etcd.ts';
import { startEtcd } from '../../src/store/etcd/etcd-process.suite.ts';
import { Compacted } from '../../src/store/store.ts';
import { type ApiHistoryOptions, checkApiHistory, type ServersUnderTest } from './api-history.ts';
import { ManyServers, ask, until, watch } from './many-servers.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { readFileSync } from 'node:fs';

const only = process.env['K8TS_SEED'];
export const seedsOf = (count: number): number[] =>
  only ? [Number(only)] : Array.from({ length: Number(process.env['K8TS_SEEDS'] ?? count) }, (_, at) => at + 1);

export async function runApiSeeds(
  t: TestContext,
  seeds: readonly number[],
  open: (random: Random) => Promise<ServersUnderTest>,
  options: Omit<ApiHistoryOptions, 'seed'>,
): Promise<void> {
  const total = { acknowledged: 0, refused: 0, unknown: 0, reads: 0, watches: 0, events: 0, expired: 0 };
  for (const seed of seeds)
    try {
      const report = await checkApiHistory(open, { ...options, seed });
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += report[key];
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack}`, { cause: error });
    }
  t.diagnostic(`seeds ${seeds.join(', ')}: ${JSON.stringify(total)}`);
  assert.ok(total.acknowledged > 0 && total.reads > 0 && total.events > 0 && total.watches > 0 && total.refused > 0);
}

export interface SetUp {
  /** 1: two servers with ports of their own; more: one port with so many workers. */
  readonly workers: number;
  /** Members of a real etcd; 0: `k8ts etcd`. */
  readonly members?: number;
}

/** API servers as processes; each disturbance kills or pauses one, cuts all connections, or compacts. */
export function killedServers({ workers, members = 0 }: SetUp): (random: Random) => Promise<ServersUnderTest> {
  return async () => {
    // The clock's timers do not hold a process.
    const alive = setInterval(() => undefined, 1000);
    const parts = new ManyServers([]);
    const lines: string[] = [];
    const etcd = members > 0 ? await startEtcd(members) : undefined;
    if (etcd === undefined)
      parts.spawn(
        ['etcd', '--data-dir', join(parts.directory, 'etcd'), '--listen-client-urls', 'http://127.0.0.1:0'],
        lines,
      );
    const endpoints = etcd?.endpoints ?? [
      await until('k8ts etcd serves', () => lines.map((line) => / at (http:\S+)/.exec(line)?.[1]).find(Boolean)),
    ];
    const store = await openEtcdStore({ endpoints }, { clock: systemClock, log: silentLogger, random: systemRandom });
    const many = new ManyServers(['--etcd-servers', endpoints.join(',')]);
    const flags = workers > 1 ? ['--api-workers', `${workers}`] : [];
    for (let at = 0; at < (workers > 1 ? 1 : 2); at++) await many.startServer(`192.0.2.${at + 1}`, ...flags);
    const port = await many.balancer.port();
    /** The balancer, and each server directly. */
    const ports = [port, ...many.servers.map((server) => server.port)];
    let mend = async (): Promise<void> => undefined;
    const compact = async (): Promise<void> => {
      const { revision } = await store.range({ start: '/' }, { countOnly: true });
      await store.compact(revision - 3).catch((error: unknown) => {
        if (!(error instanceof Compacted)) throw error;
      });
    };
    const kill = async (random: Random): Promise<void> => {
      if (workers > 1) {
        const { pid } = many.servers[0]!.process;
        const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
        process.kill(children[randomInteger(random, children.length)]!, 'SIGKILL');
        return;
      }
      const server = many.servers[randomInteger(random, many.servers.length)]!;
      await many.kill(server.process);
      mend = () => many.restartServer(server);
    };
    const pause = async (random: Random): Promise<void> => {
      const server = many.servers[randomInteger(random, many.servers.length)]!;
      server.process.kill('SIGSTOP');
      await delay(500);
      server.process.kill('SIGCONT');
    };
    return {
      count: ports.length,
      store,
      ask: (server, method, path, body) => ask(ports[server]!, method, path, body, { timeoutMs: 3000 }),
      watch: (server, path, signal) => watch(ports[server]!, path, signal),
      async disturb(random) {
        await mend();
        mend = async () => undefined;
        const roll = randomInteger(random, 4);
        if (roll === 0) await compact();
        else if (roll === 1) many.balancer.cut();
        else if (roll === 2) await pause(random);
        else await kill(random);
      },
      async close() {
        clearInterval(alive);
        await mend();
        await store.close();
        await many.close();
        await parts.close();
        await etcd?.stop();
      },
    };
  };
}

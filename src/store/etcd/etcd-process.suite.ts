// Owns starting real etcd members for tests: free ports, a directory of their own, and an end.
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../testing/free-port.ts';

export const etcdMissing: string | undefined =
  spawnSync('etcd', ['--version']).status === 0 ? undefined : 'etcd is not installed (Debian: etcd-server)';

export interface EtcdTlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface EtcdCluster {
  readonly endpoints: readonly string[];
  /** SIGKILL by default. */
  kill(member: number): Promise<void>;
  restart(member: number): void;
  /** Stops a member without ending it. */
  pause(member: number): void;
  resume(member: number): void;
  stop(): Promise<void>;
}

/** The members may still be electing their leader when this returns. */
export async function startEtcd(count: number, tls?: EtcdTlsFiles): Promise<EtcdCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-etcd-'));
  const ports = await freePorts(count * 2);
  const scheme = tls === undefined ? 'http' : 'https';
  const client = (at: number) => `${scheme}://127.0.0.1:${ports[at]}`;
  const peer = (at: number) => `http://127.0.0.1:${ports[count + at]}`;
  const members = Array.from({ length: count }, (_, at) => at);
  const all = members.map((at) => `m${at}=${peer(at)}`).join(',');
  const security = tls
    ? ['--cert-file', tls.cert, '--key-file', tls.key, '--trusted-ca-file', tls.ca, '--client-cert-auth']
    : [];
  const start = (at: number): ChildProcess =>
    spawn(
      'etcd',
      [
        ['--name', `m${at}`, '--data-dir', join(directory, `m${at}`), '--initial-cluster', all],
        ['--listen-client-urls', client(at), '--advertise-client-urls', client(at)],
        ['--listen-peer-urls', peer(at), '--initial-advertise-peer-urls', peer(at)],
        ['--heartbeat-interval', '50', '--election-timeout', '500', '--log-level', 'error', '--logger', 'zap'],
        security,
      ].flat(),
      { stdio: 'ignore' },
    );
  const processes = members.map(start);
  const ended = (process: ChildProcess) =>
    new Promise<void>((done) => {
      if (process.exitCode !== null || process.signalCode !== null) done();
      else process.once('exit', () => done());
    });
  const kill = async (at: number): Promise<void> => {
    processes[at]!.kill('SIGKILL');
    await ended(processes[at]!);
  };
  return {
    endpoints: members.map(client),
    kill,
    restart: (at) => {
      processes[at] = start(at);
    },
    pause: (at) => void processes[at]!.kill('SIGSTOP'),
    resume: (at) => void processes[at]!.kill('SIGCONT'),
    async stop() {
      await Promise.all(members.map(kill));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

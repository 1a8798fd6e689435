// Owns the server that is measured: started as its users start it, with all stages on, and asked what it spends.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Figures, Question } from './probe.ts';

/** Sees to things: bound to everything by name. */
export const adminToken = 'admin-token';
/** Makes the load: what it may do is decided by RBAC, by way of its group and of a namespace's role. */
export const loadToken = 'load-token';

export interface MeasuredServer {
  readonly port: number;
  ask(question: Question): Promise<Figures>;
  /** Rejects when it ends before it is told to. */
  readonly ended: Promise<never>;
  stop(): Promise<void>;
}

/** `flags`: of node, for the server. */
export async function startMeasuredServer(flags: readonly string[] = []): Promise<MeasuredServer> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'));
  const tokens = `${adminToken},admin,1,"system:masters"\n${loadToken},load,2,"benchers"\n`;
  writeFileSync(join(folder, 'tokens'), tokens);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(folder, 'sa'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  const server = await startMeasured(flags, [
    ...['bin/k8ts.js', 'kube-apiserver', '--data-dir', join(folder, 'data'), '--secure-port', '0'],
    ...['--bind-address', '127.0.0.1', '--cert-dir', folder, '--token-auth-file', join(folder, 'tokens')],
    ...['--authorization-mode', 'Node,RBAC', '--enable-priority-and-fairness=true'],
    ...['--service-account-key-file', join(folder, 'sa'), '--service-account-signing-key-file', join(folder, 'sa')],
    ...['--service-account-issuer', 'https://kubernetes.default.svc'],
  ]);
  return {
    ...server,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Node alone, for comparison. */
export function startBareServer(): Promise<MeasuredServer> {
  return startMeasured([], [fileURLToPath(new URL('bare-server.js', import.meta.url))]);
}

async function startMeasured(flags: readonly string[], program: readonly string[]): Promise<MeasuredServer> {
  const probe = new URL('probe.js', import.meta.url).href;
  const child = spawn(process.execPath, [...flags, '--import', probe, ...program], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stopping = false;
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ended = exit.then((): never => {
    throw new Error(stopping ? 'the server was stopped' : 'the server ended');
  });
  ended.catch(() => undefined);
  const port = await Promise.race([ended, portOf(child)]);
  return {
    port,
    ended,
    ask: (question) => Promise.race([ended, ask(child, question)]),
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      await exit;
    },
  };
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      const port = (/"port":(\d+),"msg":"serving"/.exec(line) ?? /^serving on port (\d+)$/.exec(line))?.[1];
      if (port !== undefined) resolve(Number(port));
      else process.stderr.write(`${line}\n`);
    });
  });
}

function ask(child: ChildProcess, question: Question): Promise<Figures> {
  return new Promise((resolve) => {
    child.once('message', (figures) => resolve(figures as Figures));
    child.send(question);
  });
}

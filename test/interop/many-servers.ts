// Owns starting what a cluster of several API servers consists of, as processes: servers on one store, managers, schedulers, and a load
// balancer before the servers. What it starts it ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/testing/free-port.ts';

const k8ts = fileURLToPath(new URL('../../src/main/k8ts.js', import.meta.url));

export interface Answer {
  readonly status: number;
  // What a test looks at is for it to say.
  readonly body: Body;
}

interface Body {
  readonly kind?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly Body[];
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>> | string;
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
}

export interface WatchedEvent {
  readonly type: string;
  readonly object: Body;
}

export interface StartedServer {
  readonly port: number;
  readonly address: string;
  process: ChildProcess;
  /** Its log, lines. */
  readonly lines: string[];
}

export class ManyServers {
  readonly directory = mkdtempSync(join(tmpdir(), 'k8ts-many-'));
  readonly servers: StartedServer[] = [];
  readonly #store: readonly string[];
  readonly #children = new Set<ChildProcess>();
  readonly balancer = new Balancer();

  /** `store`: flags that name it. */
  constructor(store: readonly string[]) {
    this.#store = store;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(this.#file('sa'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(this.#file('tokens'), 'secret,admin,1,"system:masters"\n');
  }

  #file(name: string): string {
    return join(this.directory, name);
  }

  spawn(args: readonly string[], lines: string[] = []): ChildProcess {
    const child = spawn(process.execPath, [k8ts, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      if (lines.length > 500) lines.shift();
    });
    return child;
  }

  /** `address`: what it says it is reached by (nobody dials it). Resolves when it serves. */
  async startServer(address: string, ...flags: readonly string[]): Promise<StartedServer> {
    const port = await freePort();
    const server: StartedServer = { port, address, lines: [], process: undefined as never };
    await this.#begin(server, flags);
    this.servers.push(server);
    this.balancer.backends.push(port);
    return server;
  }

  async #begin(server: StartedServer, flags: readonly string[]): Promise<void> {
    const { port, address, lines } = server;
    const args = ['kube-apiserver', ...this.#store, '--secure-port', `${port}`, '--bind-address', '127.0.0.1'];
    args.push('--advertise-address', address, '--cert-dir', this.#file(`certs-${port}`));
    args.push('--token-auth-file', this.#file('tokens'), '--service-account-issuer', 'https://kubernetes.default.svc');
    args.push('--service-account-key-file', this.#file('sa'), '--service-account-signing-key-file', this.#file('sa'));
    lines.length = 0;
    server.process = this.spawn([...args, ...flags], lines);
    const ended = once(server.process, 'exit').then(() => {
      throw new Error(`an API server ended:\n${lines.join('\n')}`);
    });
    await Promise.race([ended, until('the server serves', () => lines.some((line) => /serving on port/.test(line)))]);
    ended.catch(() => undefined);
  }

  /** On its old port. */
  restartServer(server: StartedServer, ...flags: readonly string[]): Promise<void> {
    return this.#begin(server, flags);
  }

  /** For components: through the balancer. */
  async kubeconfig(): Promise<string> {
    const file = this.#file('kubeconfig');
    const cluster = { server: `https://127.0.0.1:${await this.balancer.port()}`, 'insecure-skip-tls-verify': true };
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const users = [{ name: 'u', user: { token: 'secret' } }];
    const config = { apiVersion: 'v1', kind: 'Config', 'current-context': 'c', contexts, users };
    writeFileSync(file, JSON.stringify({ ...config, clusters: [{ name: 'c', cluster }] }));
    return file;
  }

  async kill(child: ChildProcess): Promise<void> {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => this.kill(child)));
    await this.balancer.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** TCP, in turn, over those that accept. */
export class Balancer {
  readonly backends: number[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #turn = 0;

  async port(): Promise<number> {
    if (this.#server === undefined) {
      this.#server = createServer((client) => this.#serve(client, this.backends.length));
      this.#server.listen(0, '127.0.0.1');
      await once(this.#server, 'listening');
    }
    return (this.#server.address() as AddressInfo).port;
  }

  #serve(client: Socket, left: number): void {
    this.#keep(client);
    if (left === 0) {
      client.destroy();
      return;
    }
    const backend = connect(this.backends[this.#turn++ % this.backends.length]!, '127.0.0.1');
    this.#keep(backend);
    let connected = false;
    backend.once('connect', () => {
      connected = true;
      client.pipe(backend).pipe(client);
    });
    backend.once('close', () => {
      if (connected) client.destroy();
      else this.#serve(client, left - 1);
    });
    client.once('close', () => backend.destroy());
  }

  #keep(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Cuts what is open; new connections are taken. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    if (this.#server === undefined) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }
}

/** On a connection of its own. Rejects when the connection breaks or `timeoutMs` pass without an answer. */
export function ask(
  port: number,
  method: string,
  path: string,
  body?: object,
  { timeoutMs = 20_000, contentType = 'application/json' } = {},
): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  // Node gives a DELETE no length by itself.
  const length = text === undefined ? {} : { 'content-length': Buffer.byteLength(text) };
  const headers = { authorization: 'Bearer secret', 'content-type': contentType, ...length };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers, agent: false, rejectUnauthorized: false };
    const call = request(options, (response) => {
      let got = '';
      response.on('data', (chunk) => (got += String(chunk)));
      response.on('error', reject);
      response.on('aborted', () => reject(new Error('the answer was cut')));
      response.on('end', () => {
        clearTimeout(late);
        try {
          resolve({ status: response.statusCode!, body: JSON.parse(got) as Body });
        } catch {
          reject(new Error(`${method} ${path}: ${response.statusCode} without an object: "${got}"`));
        }
      });
    });
    const late = setTimeout(() => call.destroy(new Error('no answer in time')), timeoutMs);
    call.on('error', (error) => {
      clearTimeout(late);
      reject(error);
    });
    call.end(text);
  });
}

/** Until the server ends it, the connection breaks (no error then), or the signal aborts. Throws an `Answer` for a refusal. */
export async function* watch(port: number, path: string, signal: AbortSignal): AsyncGenerator<WatchedEvent> {
  const headers = { authorization: 'Bearer secret' };
  const options = { host: '127.0.0.1', port, path, headers, agent: false, rejectUnauthorized: false };
  const response = await new Promise<import('node:http').IncomingMessage | undefined>((resolve) => {
    const call = request(options, resolve);
    call.on('error', () => resolve(undefined));
    signal.addEventListener('abort', () => call.destroy(), { once: true });
    call.end();
  });
  if (response === undefined) return;
  response.on('error', () => undefined);
  const lines = createInterface({ input: response });
  if (response.statusCode !== 200) {
    let text = '';
    for await (const line of lines) text += line;
    throw Object.assign(new Error(`watch: ${text}`), { status: response.statusCode });
  }
  const reading = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      let event: WatchedEvent;
      try {
        const { value, done } = await reading.next();
        if (done === true) return;
        event = JSON.parse(value) as WatchedEvent;
      } catch {
        // The connection broke, perhaps within a line.
        return;
      }
      yield event;
    }
  } finally {
    response.destroy();
  }
}

export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false | ''> | T | undefined | false | '',
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
    await delay(50);
  }
}

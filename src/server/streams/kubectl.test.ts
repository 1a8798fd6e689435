// Proves exec, logs, port-forward and proxy with the real kubectl through a real API server, before a kubelet that plays along.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { kubectlPath } from '../../../test/interop/tools.ts';
import { memoryStore } from '../../store/memory.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import { duplexPair } from '../../wire/streams/duplex-pair.ts';
import { servePortForward } from '../../wire/streams/port-forward.ts';
import { commandExited } from '../../wire/streams/remote-command.ts';
import { acceptSpdyCommand } from '../../wire/streams/spdy-command.ts';
import { apiServer } from '../api-server.ts';
import type { KubeletDialer } from './kubelet-address.ts';
import { podStreamActions } from './pod-actions.ts';
import { proxyActions } from './proxy-actions.ts';

/** Echoes, tells its arguments, logs slowly, forwards to an echo server. */
function fakeKubelet(echoPort: number): Server {
  const server = createServer((message, response) => {
    const url = new URL(message.url!, 'http://x');
    if (url.pathname.startsWith('/containerLogs/')) {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('first line\n');
      if (url.searchParams.get('follow') === 'true') setImmediate(() => response.end('second line\n'));
      else response.end();
    } else if (url.pathname === '/healthz') response.end('ok');
    else response.writeHead(404).end('no such page');
  });
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { pathname, searchParams: query } = new URL(message.url!, 'http://x');
    if (pathname.startsWith('/portForward/')) {
      void servePortForward(message, socket, head, () => Promise.resolve(connect(echoPort, '127.0.0.1')), systemClock);
      return;
    }
    const flag = (name: string) => query.get(name) === '1';
    const wish = { stdin: flag('input'), stdout: flag('output'), stderr: flag('error'), tty: flag('tty') };
    void acceptSpdyCommand(message, socket, head, wish, systemClock).then(async (command) => {
      const [word, ...rest] = query.getAll('command');
      if (word === 'cat') {
        command!.stdin!.pipe(command!.stdout!, { end: false });
        await new Promise((resolve) => command!.stdin!.once('end', resolve));
      } else command!.stdout?.write(`${rest.join(' ')}\n`);
      await command!.finish(commandExited(word === 'false' ? 5 : 0));
    });
  });
  return server;
}

interface Teardown {
  after(call: () => void | Promise<void>): void;
}

async function cluster(t: Teardown): Promise<string> {
  const echo = createTcpServer((socket) => void socket.pipe(socket).on('error', () => undefined));
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  t.after(() => void echo.close());
  const kubelet = fakeKubelet((echo.address() as AddressInfo).port);
  const dial: KubeletDialer = () => {
    const [ours, theirs] = duplexPair();
    kubelet.emit('connection', theirs);
    return Promise.resolve(ours);
  };
  const server = apiServer(
    {
      securePort: 0,
      bindAddress: '127.0.0.1',
      tls: selfSigned(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
      tokenFile: 'token,admin,uid,"system:masters"\n',
      authorizationModes: ['AlwaysAllow'],
    },
    {
      store: memoryStore({ clock: systemClock, log: silentLogger, random: systemRandom }),
      exclusiveStore: true,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      actions: [
        ...podStreamActions({ dial }),
        ...proxyActions({ dial }, () => Promise.reject(new Error('no backends'))),
      ],
    },
  );
  const abort = new AbortController();
  const running = server.run(abort.signal);
  t.after(async () => {
    abort.abort();
    await running;
  });
  const { port } = await server.ready;
  const call = async (path: string, body: object): Promise<void> => {
    await server.inProcess({ name: 'admin', groups: ['system:masters'] }).call({ method: 'POST', path, body });
  };
  await call('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
  });
  await call('/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  });
  await call('/api/v1/namespaces/default/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'x' }] },
    status: { phase: 'Running' },
  });
  await server.inProcess({ name: 'admin', groups: ['system:masters'] }).call({
    method: 'PATCH',
    path: '/api/v1/namespaces/default/pods/p/status',
    contentType: 'application/merge-patch+json',
    body: { status: { phase: 'Running' } },
  });
  return `https://127.0.0.1:${port}`;
}

interface Output {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function kubectl(t: Teardown, server: string, args: readonly string[]): ChildProcess {
  const child = spawn(kubectlPath()!, ['--server', server, '--token', 'token', '--insecure-skip-tls-verify', ...args], {
    env: { HOME: '/nonexistent' },
  });
  t.after(() => void child.kill('SIGKILL'));
  return child;
}

function finished(child: ChildProcess, input?: string): Promise<Output> {
  return new Promise((resolve) => {
    let out = '';
    let err = '';
    child.stdout!.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr!.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.once('close', (code) => resolve({ code, out, err }));
    child.stdin!.end(input);
  });
}

const skip = kubectlPath() === undefined ? 'there is no kubectl for this platform' : false;

test('kubectl exec, logs, get --raw through the node proxy', { skip }, async (t) => {
  const server = await cluster(t);
  const run = (args: readonly string[], input?: string) => finished(kubectl(t, server, args), input);
  assert.deepEqual(await run(['exec', 'p', '--', 'echo', 'hello', 'there']), {
    code: 0,
    out: 'hello there\n',
    err: '',
  });
  assert.deepEqual(await run(['exec', '-i', 'p', '--', 'cat'], 'through cat'), {
    code: 0,
    out: 'through cat',
    err: '',
  });
  const failed = await run(['exec', 'p', '--', 'false']);
  assert.equal(failed.code, 5, failed.err);
  assert.equal((await run(['logs', 'p'])).out, 'first line\n');
  assert.equal((await run(['logs', '-f', 'p'])).out, 'first line\nsecond line\n');
  assert.match((await run(['logs', 'p', '-c', 'nosuch'])).err, /container nosuch is not valid/);
  assert.equal((await run(['get', '--raw', '/api/v1/nodes/n/proxy/healthz'])).out, 'ok');
});

test('kubectl exec and port-forward over SPDY and over WebSockets', { skip }, async (t) => {
  const server = await cluster(t);
  for (const webSockets of ['true', 'false']) {
    const env = {
      HOME: '/nonexistent',
      KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets,
      KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets,
    };
    const base = ['--server', server, '--token', 'token', '--insecure-skip-tls-verify'];
    const exec = spawn(kubectlPath()!, [...base, 'exec', '-i', 'p', '--', 'cat'], { env });
    assert.deepEqual(await finished(exec, 'x'.repeat(300_000)), { code: 0, out: 'x'.repeat(300_000), err: '' });
    const forward = spawn(kubectlPath()!, [...base, 'port-forward', 'pod/p', ':80'], { env });
    t.after(() => void forward.kill('SIGKILL'));
    const local = await new Promise<number>((resolve, reject) => {
      forward.stdout.on('data', (chunk: Buffer) => {
        const port = /127\.0\.0\.1:(\d+)/.exec(chunk.toString())?.[1];
        if (port !== undefined) resolve(Number(port));
      });
      let err = '';
      forward.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      forward.once('close', () => reject(new Error(err)));
    });
    const echoes = [1, 2, 3].map(
      (at) =>
        new Promise<string>((resolve, reject) => {
          const socket = connect(local, '127.0.0.1');
          let back = '';
          socket.on('data', (chunk: Buffer) => (back += chunk.toString()));
          socket.once('end', () => resolve(back));
          socket.once('error', reject);
          socket.end(`echo ${at} `.repeat(10_000));
        }),
    );
    assert.deepEqual(
      await Promise.all(echoes),
      [1, 2, 3].map((at) => `echo ${at} `.repeat(10_000)),
    );
    const closed = new Promise((resolve) => forward.once('close', resolve));
    forward.kill('SIGTERM');
    await closed;
  }
});

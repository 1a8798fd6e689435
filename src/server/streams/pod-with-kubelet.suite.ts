// Owns an API server for tests of streams: one pod, and a kubelet which echoes, logs and forwards as its requests say.
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
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
      if (command === undefined) return;
      const [word, ...rest] = query.getAll('command');
      if (word === 'cat') {
        command.stdin!.pipe(command.stdout!, { end: false });
        await new Promise((resolve) => command.stdin!.once('end', resolve));
      } else command.stdout?.write(`${rest.join(' ')}\n`);
      await command.finish(commandExited(word === 'false' ? 5 : 0));
    });
  });
  return server;
}

export interface Teardown {
  after(call: () => void | Promise<void>): void;
}

/** A server's address: behind it the pod default/p, on a node whose kubelet plays along. The token "token" may do all. */
export async function podWithKubelet(t: Teardown): Promise<string> {
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

// Proves exec, attach and port-forward end to end over loopback: official client, WebSocket and SPDY peers, a kubelet of ours.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Exec, KubeConfig } from '@kubernetes/client-node';
import { WebSocket } from 'ws';
import { systemClock } from '../../base/clock.ts';
import { spdySession } from '../../wire/spdy/session.ts';
import {
  channelProtocol,
  listHeader,
  negotiate,
  webSocketRemoteCommandProtocols,
} from '../../wire/streams/channels.ts';
import { servePortForward } from '../../wire/streams/port-forward.ts';
import { commandExited, type RemoteCommand, type TerminalSize } from '../../wire/streams/remote-command.ts';
import { acceptSpdyCommand, openSpdyCommand } from '../../wire/streams/spdy-command.ts';
import { requestSpdy } from '../../wire/streams/spdy-upgrade.ts';
import { requestUpgrade, UpgradeRefused, type UpgradeTarget } from '../../wire/streams/upgrade.ts';
import { acceptWebSocket, isWebSocket, webSocketStream } from '../../wire/streams/websocket.ts';
import { webSocketCommand } from '../../wire/streams/websocket-command.ts';
import { connectCommand, connectPortForward } from './connect.ts';

interface Teardown {
  after(call: () => void | Promise<void>): void;
}

type OnUpgrade = (message: IncomingMessage, socket: Duplex, head: Buffer) => void;

async function listening(t: Teardown, onUpgrade: OnUpgrade): Promise<number> {
  const server: Server = createServer((_message, response) => response.writeHead(404).end('no upgrade'));
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => sockets.add(socket));
  server.on('upgrade', onUpgrade);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

function target(port: number, path: string): UpgradeTarget {
  return {
    host: `127.0.0.1:${port}`,
    path,
    connect: () =>
      new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket));
        socket.once('error', reject);
      }),
  };
}

function wishOf(url: string) {
  const query = new URL(url, 'http://x').searchParams;
  const has = (name: string) => query.get(name) === 'true' || query.get(name) === '1';
  return {
    stdin: has('stdin'),
    stdout: has('stdout'),
    stderr: has('stderr'),
    tty: has('tty'),
    command: query.getAll('command'),
  };
}

/** Runs "commands": cat copies, fail exits with 3, size tells the terminal's size, big writes much. */
async function runCommand(command: RemoteCommand, words: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr } = command;
  switch (words[0]) {
    case 'cat':
      stdin!.pipe(stdout!, { end: false });
      await new Promise((resolve) => stdin!.once('end', resolve));
      return command.finish(commandExited(0));
    case 'fail':
      stdout!.write('out');
      stderr!.write('err');
      return command.finish(commandExited(3));
    case 'size': {
      const size = await new Promise<TerminalSize>((resolve) => command.onResize(resolve));
      stdout!.write(`${size.width}x${size.height}`);
      return command.finish(commandExited(0));
    }
    case 'big':
      for (let at = 0; at < 200; at++)
        if (!stdout!.write(Buffer.alloc(10_000, at))) await new Promise((resolve) => stdout!.once('drain', resolve));
      return command.finish(commandExited(0));
    default:
      throw new Error(`no command ${words[0]}`);
  }
}

/** A kubelet and an API server before it; answers with the API server's port. */
async function cluster(t: Teardown): Promise<number> {
  const kubelet = await listening(t, (message, socket, head) => {
    void (async () => {
      const { command: words, ...wish } = wishOf(message.url!);
      let command: RemoteCommand | undefined;
      if (isWebSocket(message)) {
        const protocol = negotiate(
          listHeader(message.headers['sec-websocket-protocol']),
          webSocketRemoteCommandProtocols,
        )!;
        command = webSocketCommand(
          await acceptWebSocket(message, socket, head, protocol),
          channelProtocol(protocol),
          wish,
        );
      } else command = await acceptSpdyCommand(message, socket, head, wish, systemClock);
      if (command !== undefined) await runCommand(command, words);
    })();
  });
  return listening(t, (message, socket, head) => {
    const wish = wishOf(message.url!);
    void connectCommand({ message, socket, head }, wish, target(kubelet, message.url!));
  });
}

function open(port: number, path: string, protocols: string[]): Promise<WebSocket> {
  const webSocket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols);
  return new Promise((resolve, reject) => {
    webSocket.once('open', () => {
      // Until somebody listens.
      webSocket.pause();
      resolve(webSocket);
    });
    webSocket.once('error', reject);
  });
}

/** What came on each channel until the end. */
function channelsUntilClose(webSocket: WebSocket): Promise<Map<number, string>> {
  return new Promise((resolve) => {
    const found = new Map<number, string>();
    webSocket.on('message', (data: Buffer) =>
      found.set(data[0]!, (found.get(data[0]!) ?? '') + data.subarray(1).toString()),
    );
    webSocket.once('close', () => resolve(found));
    webSocket.resume();
  });
}

test('the official client: standard input, output, exit codes', async (t) => {
  const port = await cluster(t);
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }],
    users: [{ name: 'u' }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  const run = async (words: string[], input?: string) => {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const stdin = input === undefined ? null : new PassThrough();
    let out = '';
    let err = '';
    stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const status = new Promise<{ status?: string; reason?: string }>((resolve, reject) => {
      void new Exec(config)
        .exec('default', 'p', 'c', words, stdout, stderr, stdin, false, resolve)
        .then(() => stdin?.end(input), reject);
    });
    return { ...(await status), out, err };
  };
  assert.deepEqual(await run(['fail']), {
    ...(await run(['fail'])),
    out: 'out',
    err: 'err',
    reason: 'NonZeroExitCode',
    status: 'Failure',
  });
  const big = await run(['big']);
  assert.equal(big.status, 'Success');
  assert.equal(big.out.length > 1_000_000, true);
});

test('WebSocket version 5: a closed standard input, the size of the terminal, a Status at the end', async (t) => {
  const port = await cluster(t);
  const cat = await open(port, '/exec?command=cat&stdin=true&stdout=true', ['v5.channel.k8s.io']);
  assert.equal(cat.protocol, 'v5.channel.k8s.io');
  const said = channelsUntilClose(cat);
  cat.send(Buffer.from('\0hello'));
  cat.send(Buffer.from('\0 there'));
  cat.send(Buffer.from([255, 0]));
  const channels = await said;
  assert.equal(channels.get(1), 'hello there');
  assert.deepEqual(JSON.parse(channels.get(3)!), { metadata: {}, status: 'Success' });

  const size = await open(port, '/exec?command=size&stdout=true&tty=true', ['v5.channel.k8s.io']);
  const shown = channelsUntilClose(size);
  size.send(Buffer.from('\x04{"Width":80,"Height":24}'));
  assert.equal((await shown).get(1), '80x24');
});

test('a kubelet that refuses is told on the error channel', async (t) => {
  const kubelet = await listening(t, (_message, socket) => {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 12\r\n\r\nno container');
  });
  const port = await listening(t, (message, socket, head) => {
    void connectCommand({ message, socket, head }, wishOf(message.url!), target(kubelet, message.url!));
  });
  const webSocket = await open(port, '/exec?command=x&stdout=true', ['v5.channel.k8s.io']);
  const status = JSON.parse((await channelsUntilClose(webSocket)).get(3)!) as { status: string; message: string };
  assert.equal(status.status, 'Failure');
  assert.match(status.message, /404 no container/);
  await assert.rejects(
    openSpdyCommand(target(port, '/exec?command=x&stdout=true'), {
      stdin: false,
      stdout: true,
      stderr: false,
      tty: false,
    }),
    {
      name: 'UpgradeRefused',
      code: 404,
    },
  );
  await assert.rejects(requestSpdy(target(1, '/'), ['v4.channel.k8s.io']));
});

test('older WebSocket versions go to the kubelet as they are, base64 among them', async (t) => {
  const port = await cluster(t);
  const four = await open(port, '/exec?command=fail&stdout=true&stderr=true', ['v4.channel.k8s.io']);
  const channels = await channelsUntilClose(four);
  assert.equal(channels.get(2), 'err');
  assert.match(channels.get(3)!, /"ExitCode"/);
  const base64 = await open(port, '/exec?command=cat&stdin=true&stdout=true', ['base64.channel.k8s.io']);
  const got = new Promise<string>((resolve) => {
    base64.on('message', (data: Buffer) => {
      if (data.length > 1) resolve(data.toString());
    });
  });
  base64.resume();
  base64.send(`0${Buffer.from('hi').toString('base64')}`);
  assert.equal(await got, `1${Buffer.from('hi').toString('base64')}`);
  base64.close();
});

test('SPDY clients go to the kubelet as they are', async (t) => {
  const port = await cluster(t);
  const wish = { stdin: true, stdout: true, stderr: false, tty: false };
  const opened = await openSpdyCommand(target(port, '/exec?command=cat&stdin=true&stdout=true'), wish);
  assert.equal(opened.protocol, 'v4.channel.k8s.io');
  let out = '';
  opened.stdout!.on('data', (chunk: Buffer) => (out += chunk.toString()));
  opened.stdin!.end('over spdy');
  assert.deepEqual(JSON.parse(await opened.error), { metadata: {}, status: 'Success' });
  assert.equal(out, 'over spdy');
  opened.session.destroy();
  await assert.rejects(requestSpdy(target(port, '/exec?stdout=true'), ['v9.channel.k8s.io']), (error: unknown) => {
    assert.ok(error instanceof UpgradeRefused);
    assert.equal(error.code, 403);
    return true;
  });
});

for (const tunnel of [false, true])
  test(`port-forward over SPDY${tunnel ? ' within a WebSocket' : ''}: several connections, a port that is closed`, async (t) => {
    const echo = createTcpServer((socket) => void socket.pipe(socket));
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    t.after(() => void echo.close());
    const open80 = (echo.address() as AddressInfo).port;
    const dial = (port: number) => target(port === 80 ? open80 : 1, '').connect();
    const kubelet = await listening(
      t,
      (message, socket, head) => void servePortForward(message, socket, head, dial, systemClock),
    );
    const port = await listening(t, (message, socket, head) => {
      void connectPortForward({ message, socket, head }, target(kubelet, message.url!));
    });
    const bytes = tunnel
      ? webSocketStream(await open(port, '/portForward/default/p', ['v2.portforward.k8s.io']))
      : (await requestSpdy(target(port, '/portForward/default/p'), ['portforward.k8s.io'])).socket;
    const session = spdySession(bytes, { role: 'client' });
    const through = async (id: number, to: number, text: string): Promise<[string, string]> => {
      const headers = { port: String(to), requestid: String(id) };
      const error = session.open({ ...headers, streamtype: 'error' });
      const data = session.open({ ...headers, streamtype: 'data' });
      data.on('error', () => undefined);
      let problem = '';
      let back = '';
      error.on('data', (chunk: Buffer) => (problem += chunk.toString()));
      data.on('data', (chunk: Buffer) => (back += chunk.toString()));
      error.end();
      data.end(text);
      await Promise.all([data, error].map((stream) => new Promise((resolve) => stream.once('close', resolve))));
      return [back, problem];
    };
    const long = 'x'.repeat(200_000);
    const answers = await Promise.all([through(0, 80, 'one'), through(1, 80, long), through(2, 81, 'none')]);
    assert.deepEqual(answers[0], ['one', '']);
    assert.equal(answers[1]![0], long);
    assert.match(answers[2]![1], /error forwarding port 81/);
    session.destroy();
  });

test("kubectl's name of the tunnel, which is no proper token, is accepted", async (t) => {
  const kubelet = await listening(
    t,
    (message, socket, head) =>
      void servePortForward(message, socket, head, () => Promise.reject(new Error('no')), systemClock),
  );
  const port = await listening(t, (message, socket, head) => {
    void connectPortForward({ message, socket, head }, target(kubelet, message.url!));
  });
  const { socket, headers } = await requestUpgrade(target(port, '/portForward/default/p'), 'GET', {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io',
  });
  assert.equal(headers['sec-websocket-protocol'], 'SPDY/3.1+portforward.k8s.io');
  socket.destroy();
});

test('when the client goes, the kubelet notices', async (t) => {
  let gone: Promise<void> | undefined;
  const started = new Promise<void>((resolve) => {
    void listening(t, (message, socket, head) => {
      void acceptSpdyCommand(message, socket, head, wishOf(message.url!), systemClock).then((command) => {
        gone = command!.closed;
        resolve();
      });
    }).then(async (kubelet) => {
      const port = await listening(t, (message, socket, head) => {
        void connectCommand({ message, socket, head }, wishOf(message.url!), target(kubelet, message.url!));
      });
      const webSocket = await open(port, '/exec?command=cat&stdin=true&stdout=true', ['v5.channel.k8s.io']);
      await started;
      webSocket.terminate();
    });
  });
  await started;
  await gone;
});

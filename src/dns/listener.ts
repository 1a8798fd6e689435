// Owns the sockets: queries in over UDP and TCP, answers out, so many at a time. Knows nothing of names.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export type Handle = (message: Buffer, transport: 'udp' | 'tcp') => Promise<Buffer | undefined>;

export interface ListenerOptions {
  readonly host: string;
  /** 0: any that is free for UDP and TCP alike. */
  readonly port: number;
  readonly maxConnections?: number;
  /** A TCP connection without a query is closed after so long; default 10 s. */
  readonly idleMs?: number;
}

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects when the port is taken. */
export async function listen(options: ListenerOptions, handle: Handle): Promise<Listener> {
  for (let attempt = 1; ; attempt++) {
    const tcp = await listenTcp(options, handle);
    const { port } = tcp.server.address() as AddressInfo;
    try {
      const udp = await listenUdp(options.host, port, handle);
      return {
        port,
        async close() {
          await Promise.all([new Promise<void>((resolve) => udp.close(() => resolve())), tcp.close()]);
        },
      };
    } catch (error) {
      await tcp.close();
      // With a port of our own choice the UDP side may be taken by chance.
      if (options.port !== 0 || attempt >= 20) throw error;
    }
  }
}

async function listenUdp(host: string, port: number, handle: Handle): Promise<UdpSocket> {
  const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4', recvBufferSize: 1024 * 1024 });
  socket.on('message', (message, from) => {
    void handle(message, 'udp').then((reply) => {
      if (reply === undefined) return;
      try {
        socket.send(reply, from.port, from.address);
      } catch {
        // Closed meanwhile, or an impossible return address: the client asks again or does not exist.
      }
    });
  });
  try {
    socket.bind(port, host);
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    throw error;
  }
  // From here on errors are about single answers (an unreachable client), not about the socket.
  socket.on('error', () => undefined);
  return socket;
}

async function listenTcp(
  options: ListenerOptions,
  handle: Handle,
): Promise<{ server: Server; close: () => Promise<void> }> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    serveConnection(socket, options.idleMs ?? 10_000, handle);
  });
  server.maxConnections = options.maxConnections ?? 1000;
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of connections) socket.destroy();
      }),
  };
}

/** Messages are answered one after another; while one is worked on no more is read, so that a client cannot pile them up. */
function serveConnection(socket: Socket, idleMs: number, handle: Handle): void {
  let received = Buffer.alloc(0);
  let busy = false;
  socket.setTimeout(idleMs, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  const next = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    socket.pause();
    while (!socket.destroyed && received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const length = received.readUInt16BE(0);
      const message = received.subarray(2, 2 + length);
      received = received.subarray(2 + length);
      const reply = await handle(message, 'tcp');
      if (reply === undefined) {
        socket.destroy();
        return;
      }
      const prefix = Buffer.alloc(2);
      prefix.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([prefix, reply]));
    }
    busy = false;
    socket.resume();
  };
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    void next();
  });
}

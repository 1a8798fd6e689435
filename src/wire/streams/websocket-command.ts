// Owns exec and attach over a WebSocket, server side: channels in messages, versions 1 to 5 and base64.
import { PassThrough, Writable } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { type ChannelProtocol, channels } from './channels.ts';
import {
  type CommandStatus,
  parseSize,
  type RemoteCommand,
  type RemoteCommandWish,
  Sizes,
  statusText,
} from './remote-command.ts';
import { sendMessage } from './websocket.ts';

/** Serves the channels of an accepted WebSocket. */
export function webSocketCommand(
  webSocket: WebSocket,
  protocol: ChannelProtocol,
  wish: RemoteCommandWish,
): RemoteCommand {
  const stdin = wish.stdin ? new PassThrough() : undefined;
  const sizes = new Sizes();
  const closed = new Promise<void>((resolve) => webSocket.once('close', () => resolve()));
  const send = (channel: number, data: Buffer, done: (error?: Error | null) => void): void =>
    sendMessage(webSocket, encode(protocol, channel, data), done);
  const output = (channel: number, wanted: boolean): Writable | undefined =>
    wanted ? new Writable({ write: (chunk: Buffer, _encoding, done) => send(channel, chunk, done) }) : undefined;
  const stdout = output(channels.stdout, wish.stdout);
  const stderr = output(channels.stderr, wish.stderr && !wish.tty);
  for (const stream of [stdin, stdout, stderr]) stream?.on('error', () => undefined);

  webSocket.on('message', (data) => {
    const message = decode(protocol, data);
    if (message === undefined) webSocket.close(1002, 'no channel');
    else if (message.channel === channels.stdin) {
      if (stdin !== undefined && !stdin.writableEnded && message.data.length > 0 && !stdin.write(message.data)) {
        webSocket.pause();
        stdin.once('drain', () => webSocket.resume());
      }
    } else if (message.channel === channels.resize) sizes.take(parseSize(message.data.toString()));
    else if (message.channel === channels.close && protocol.closes && message.data[0] === channels.stdin) stdin?.end();
  });
  void closed.then(() => {
    stdin?.end();
    stdout?.destroy();
    stderr?.destroy();
  });
  // Clients take the first message as the sign that all is set up.
  send(wish.stdout ? channels.stdout : channels.error, Buffer.alloc(0), () => undefined);

  return {
    stdin,
    stdout,
    stderr,
    closed,
    onResize: (call) => sizes.listen(call),
    async finish(status) {
      const text = statusMessage(protocol, status);
      if (text !== undefined)
        await new Promise<void>((resolve) => send(channels.error, Buffer.from(text), () => resolve()));
      webSocket.close(1000);
      await closed;
    },
  };
}

function statusMessage(protocol: ChannelProtocol, status: CommandStatus): string | undefined {
  if (protocol.status) return statusText(status);
  return status.status === 'Success' ? undefined : (status.message ?? 'failed');
}

function encode(protocol: ChannelProtocol, channel: number, data: Buffer): Buffer | string {
  return protocol.base64 ? `${channel}${data.toString('base64')}` : Buffer.concat([Buffer.from([channel]), data]);
}

function decode(protocol: ChannelProtocol, raw: RawData): { channel: number; data: Buffer } | undefined {
  const bytes = Buffer.isBuffer(raw) ? raw : Array.isArray(raw) ? Buffer.concat(raw) : Buffer.from(raw);
  if (bytes.length === 0) return undefined;
  if (!protocol.base64) return { channel: bytes[0]!, data: bytes.subarray(1) };
  const channel = bytes[0]! - 0x30;
  return channel < 0 || channel > 9 ? undefined : { channel, data: Buffer.from(bytes.toString('latin1', 1), 'base64') };
}

// Owns the joining of an exec or attach that a client made over a WebSocket with a kubelet's over SPDY.
import type { Readable, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import { channelProtocol } from './channels.ts';
import { commandFailed, type CommandStatus, commandSucceeded, type RemoteCommandWish } from './remote-command.ts';
import { type OpenedCommand, openSpdyCommand } from './spdy-command.ts';
import type { UpgradeTarget } from './upgrade.ts';
import { webSocketCommand } from './websocket-command.ts';

/** Serves an accepted WebSocket from `target` until both have ended. What goes wrong is told on the error channel. */
export async function translateCommand(
  webSocket: WebSocket,
  protocol: string,
  wish: RemoteCommandWish,
  target: UpgradeTarget,
): Promise<void> {
  const client = webSocketCommand(webSocket, channelProtocol(protocol), wish);
  let kubelet: OpenedCommand;
  try {
    kubelet = await openSpdyCommand(target, wish);
  } catch (error) {
    await client.finish(commandFailed(error instanceof Error ? error.message : String(error)));
    return;
  }
  void client.closed.then(() => kubelet.session.destroy());
  client.onResize((size) => kubelet.resize(size));
  if (client.stdin !== undefined && kubelet.stdin !== undefined) {
    client.stdin.pipe(kubelet.stdin);
    kubelet.stdin.resume();
  }
  const outputs = [carry(kubelet.stdout, client.stdout), carry(kubelet.stderr, client.stderr)];
  const text = await kubelet.error;
  await Promise.all(outputs);
  await client.finish(statusOf(text, kubelet.protocol));
  kubelet.session.destroy();
}

/** Resolves when `from` has ended and `to` has taken all, or either is gone. */
function carry(from: Readable | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined || to === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    to.once('finish', resolve);
    to.once('close', resolve);
    from.once('close', () => {
      if (!from.readableEnded) resolve();
    });
    from.pipe(to);
  });
}

function statusOf(text: string, protocol: string): CommandStatus {
  if (!channelProtocol(protocol).status) return text === '' ? commandSucceeded : commandFailed(text);
  if (text === '') return commandFailed('the connection to the node was lost');
  try {
    return JSON.parse(text) as CommandStatus;
  } catch (error) {
    if (error instanceof SyntaxError) return commandFailed(`the node answered ${JSON.stringify(text.slice(0, 200))}`);
    throw error;
  }
}

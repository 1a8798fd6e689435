// Owns the handing over of a client's upgraded connection to a kubelet: as it is, translated, or out of a WebSocket tunnel.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { listHeader, negotiate, portForwardProtocol, portForwardTunnelProtocols } from '../../wire/streams/channels.ts';
import { joinStreams } from '../../wire/streams/join.ts';
import type { RemoteCommandWish } from '../../wire/streams/remote-command.ts';
import { requestSpdy } from '../../wire/streams/spdy-upgrade.ts';
import { translateCommand } from '../../wire/streams/translate-command.ts';
import { proxyUpgrade, refuseUpgrade, UpgradeRefused, type UpgradeTarget } from '../../wire/streams/upgrade.ts';
import { acceptWebSocket, isWebSocket, webSocketStream } from '../../wire/streams/websocket.ts';

export interface UpgradeRequest {
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

const v5 = 'v5.channel.k8s.io';

function offered(message: IncomingMessage): string[] {
  return listHeader(message.headers['sec-websocket-protocol']);
}

/**
 * Exec and attach. Version 5 over WebSockets is translated, since kubelets speak version 4 over SPDY; everything else goes
 * to the kubelet byte for byte. Resolves when the connection has ended.
 */
export async function connectCommand(
  request: UpgradeRequest,
  wish: RemoteCommandWish,
  target: UpgradeTarget,
): Promise<void> {
  const { message, socket, head } = request;
  if (!isWebSocket(message) || negotiate(offered(message), [v5, 'v4.channel.k8s.io']) !== v5)
    return proxyUpgrade(message, socket, head, target);
  const webSocket = await accepted(request, v5);
  if (webSocket !== undefined) await translateCommand(webSocket, v5, wish, target);
}

/** Port-forwarding: SPDY, or SPDY within a WebSocket, or the kubelet's own WebSocket protocol. */
export async function connectPortForward(request: UpgradeRequest, target: UpgradeTarget): Promise<void> {
  const { message, socket, head } = request;
  const tunnel = isWebSocket(message) ? negotiate(offered(message), portForwardTunnelProtocols) : undefined;
  if (tunnel === undefined) return proxyUpgrade(message, socket, head, target);
  let kubelet: Duplex;
  try {
    ({ socket: kubelet } = await requestSpdy(target, [portForwardProtocol]));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    refuseUpgrade(socket, error instanceof UpgradeRefused && error.code >= 400 ? error.code : 502, 'text/plain', text);
    return;
  }
  const webSocket = await accepted(request, tunnel);
  if (webSocket === undefined) kubelet.destroy();
  else await joinStreams(webSocketStream(webSocket), kubelet);
}

/** Undefined when the handshake was no proper one; it has been answered then. */
async function accepted({ message, socket, head }: UpgradeRequest, protocol: string): Promise<WebSocket | undefined> {
  try {
    return await acceptWebSocket(message, socket, head, protocol);
  } catch {
    return undefined;
  }
}

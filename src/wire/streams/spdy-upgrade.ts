// Owns the HTTP side of Kubernetes' SPDY connections: negotiating a protocol when accepting one and when asking for one.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type SpdySession, spdySession, type SpdySessionOptions } from '../spdy/session.ts';
import { listHeader, negotiate } from './channels.ts';
import { refuseUpgrade, requestUpgrade, type UpgradeTarget } from './upgrade.ts';

const protocolHeader = 'X-Stream-Protocol-Version';

/** The protocols that a client offers, in its order. */
function offeredProtocols(message: IncomingMessage): string[] {
  return listHeader(message.headers[protocolHeader.toLowerCase()]);
}

/** Answers with 101 and the first protocol in common; undefined when it had to refuse. */
export function acceptSpdy(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  known: readonly string[],
  options: Omit<SpdySessionOptions, 'role'>,
): { readonly session: SpdySession; readonly protocol: string } | undefined {
  socket.on('error', () => socket.destroy());
  const offered = offeredProtocols(message);
  const protocol = negotiate(offered, known);
  if (protocol === undefined) {
    const [code, text] =
      offered.length === 0
        ? [400, `${protocolHeader} is required`]
        : [
            403,
            `unable to upgrade: unable to negotiate protocol: client supports ${offered.join(', ')}, server accepts ${known.join(', ')}`,
          ];
    refuseUpgrade(socket, code as number, 'text/plain', text as string, {
      'X-Accepted-Stream-Protocol-Versions': known.join(', '),
    });
    return undefined;
  }
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${protocolHeader}: ${protocol}\r\n\r\n`,
  );
  if (head.length > 0) socket.unshift(head);
  return { session: spdySession(socket, { ...options, role: 'server' }), protocol };
}

/** The bytes of a SPDY connection to `target`, and the protocol it chose. Throws UpgradeRefused. */
export async function requestSpdy(
  target: UpgradeTarget,
  protocols: readonly string[],
): Promise<{ readonly socket: Duplex; readonly protocol: string }> {
  const { socket, headers } = await requestUpgrade(target, 'POST', {
    connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    [protocolHeader.toLowerCase()]: protocols.length === 1 ? protocols[0]! : protocols,
  });
  return { socket, protocol: listHeader(headers[protocolHeader.toLowerCase()])[0] ?? protocols.at(-1)! };
}

// Owns port-forwarding, server side over SPDY: pairs the data and error streams of each connection and joins them to a port.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import type { SpdyStream } from '../spdy/stream.ts';
import { portForwardProtocol } from './channels.ts';
import { joinStreams } from './join.ts';
import { acceptSpdy } from './spdy-upgrade.ts';

/** Opens a connection to a port of the pod. */
export type PortDialer = (port: number) => Promise<Duplex>;

interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  readonly cancel: () => void;
}

/** How long one stream of a pair may wait for the other, as with upstream. */
const pairMs = 30_000;

/** Serves until the client goes. */
export async function servePortForward(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  dial: PortDialer,
  clock: Clock,
): Promise<void> {
  const pairs = new Map<string, Pair>();
  const accepted = acceptSpdy(message, socket, head, [portForwardProtocol], {
    maxStreams: 2_000,
    onStream(stream) {
      const type = stream.headers['streamtype'];
      const port = Number(stream.headers['port']);
      if ((type !== 'data' && type !== 'error') || !(port > 0 && port < 65_536)) {
        stream.destroy(new Error('neither data nor error of a port'));
        return;
      }
      // Old clients give no request id: their data stream is the one opened next after the error stream.
      const id = stream.headers['requestid'] ?? String(type === 'error' ? stream.id : stream.id - 2);
      const pair = pairs.get(id) ?? newPair(pairs, id, clock);
      if (pair[type] !== undefined) stream.destroy(new Error('the request id is in use'));
      else pair[type] = stream;
      if (pair.data !== undefined && pair.error !== undefined) {
        pairs.delete(id);
        pair.cancel();
        void forward(pair.data, pair.error, port, dial);
      }
    },
  });
  if (accepted === undefined) return;
  await accepted.session.ended;
  for (const { cancel } of pairs.values()) cancel();
}

function newPair(pairs: Map<string, Pair>, id: string, clock: Clock): Pair {
  const timer = clock.after(pairMs, () => {
    const waiting = pairs.get(id);
    pairs.delete(id);
    waiting?.data?.destroy();
    waiting?.error?.destroy();
  });
  const pair: Pair = { cancel: () => timer.cancel() };
  pairs.set(id, pair);
  return pair;
}

async function forward(data: SpdyStream, error: SpdyStream, port: number, dial: PortDialer): Promise<void> {
  error.resume();
  try {
    await joinStreams(data, await dial(port));
    error.end();
  } catch (problem) {
    error.end(`error forwarding port ${port}: ${problem instanceof Error ? problem.message : String(problem)}`);
    data.destroy();
  }
}

// Owns watches and logs over WebSockets: one message an event, or a log's bytes in messages. Decides nothing about them.
import type { WebSocket } from 'ws';
import type { WatchSink } from '../cache/watcher.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import { listHeader } from '../../wire/streams/channels.ts';
import { refuseUpgrade } from '../../wire/streams/upgrade.ts';
import { acceptWebSocket, isWebSocket, sendMessage } from '../../wire/streams/websocket.ts';
import type { Form } from './form.ts';
import { errorFrame, watchFrame } from './encode.ts';

type Upgrade = NonNullable<ApiRequest['upgrade']>;

/** Beyond so many bytes not yet sent a watcher waits (and its queue, which is bounded, fills). */
const maxBufferedBytes = 256 * 1024;
/** A log's messages are no longer, as upstream's. */
const maxLogMessageBytes = 2048;

export function wantsWebSocket({ upgrade }: Pick<ApiRequest, 'upgrade'>): boolean {
  return upgrade !== undefined && isWebSocket(upgrade.message);
}

function offered({ message }: Upgrade): string[] {
  return listHeader(message.headers['sec-websocket-protocol']);
}

/** Watches are told to pages of any origin, but not to those who tell none. */
function handshakeProblem({ message: { headers } }: Upgrade): string | undefined {
  if (headers['sec-websocket-version'] !== '13')
    return 'HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version';
  if (headers['sec-websocket-key'] === undefined) return 'HTTP/1.1 400 Bad Request\r\n\r\nmismatch challenge/response';
  const { origin } = headers;
  return origin === undefined || !/^(\/|[a-z][a-z\d+.-]*:)/i.test(origin)
    ? 'HTTP/1.1 403 Forbidden\r\n\r\n'
    : undefined;
}

/** Undefined when the handshake was no proper one; it has been answered then. */
async function accept(upgrade: Upgrade, protocol: string): Promise<WebSocket | undefined> {
  try {
    return await acceptWebSocket(upgrade.message, upgrade.socket, upgrade.head, protocol);
  } catch {
    return undefined;
  }
}

/** Watches have no protocol of their own: the only one offered is agreed to, whatever it is. */
export async function webSocketWatch(
  upgrade: Upgrade,
  { run, served }: ApiAnswer & { readonly type: 'watch' },
  form: Form,
  now: () => number,
  tell?: (bytes: number) => void,
): Promise<void> {
  const protocols = offered(upgrade);
  const wrong = handshakeProblem(upgrade);
  if (wrong !== undefined) {
    run.stop();
    upgrade.socket.end(wrong);
    return;
  }
  if (protocols.length > 1) {
    run.stop();
    refuseUpgrade(upgrade.socket, 400, 'text/plain; charset=utf-8', 'at most one subprotocol can be offered\n');
    return;
  }
  const webSocket = await accept(upgrade, protocols[0] ?? '');
  if (webSocket === undefined) {
    run.stop();
    return;
  }
  let full = false;
  let first = true;
  const send = (frame: Buffer): boolean => {
    // The length before each event of a protobuf stream is what a message has anyway.
    const data = form.media === 'protobuf' ? frame.subarray(4) : frame;
    webSocket.send(data, { binary: form.media !== 'json' }, (error) => {
      if (error) webSocket.terminate();
      else if (full && webSocket.bufferedAmount < maxBufferedBytes / 2) {
        full = false;
        run.drained();
      }
    });
    full = webSocket.bufferedAmount >= maxBufferedBytes;
    return !full;
  };
  const sink: WatchSink = {
    send(event) {
      const frame = watchFrame(event, served, form, now(), first);
      first = false;
      tell?.(frame.length);
      return send(frame);
    },
    error: (status) => void send(errorFrame(status, form)),
    end: () => {
      webSocket.close(1000);
      // Nothing is said after the end: the client's farewell is not waited for.
      upgrade.socket.end();
    },
  };
  webSocket.on('close', () => run.stop());
  run.start(sink);
}

/** Bytes as text in base64 under that protocol, else as they are. An empty message comes first: all is set up. */
export async function webSocketLog(upgrade: Upgrade, body: AsyncIterable<Uint8Array>): Promise<void> {
  const protocols = offered(upgrade);
  const protocol = protocols.find((name) => name === 'binary.k8s.io' || name === 'base64.binary.k8s.io');
  if (protocols.length > 0 && protocol === undefined) {
    refuseUpgrade(upgrade.socket, 403, 'text/plain; charset=utf-8', 'none of the subprotocols offered is known\n');
    return;
  }
  const webSocket = await accept(upgrade, protocol ?? '');
  if (webSocket === undefined) return;
  const asText = protocol === 'base64.binary.k8s.io';
  const iterator = body[Symbol.asyncIterator]();
  webSocket.on('close', () => void iterator.return?.()?.catch(() => undefined));
  const send = (bytes: Buffer): Promise<void> =>
    new Promise((resolve, reject) => {
      sendMessage(webSocket, asText ? bytes.toString('base64') : bytes, (error) => (error ? reject(error) : resolve()));
    });
  try {
    await send(Buffer.alloc(0));
    for (;;) {
      const next = await iterator.next();
      if (next.done === true || webSocket.readyState !== webSocket.OPEN) break;
      const bytes = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
      for (let at = 0; at < bytes.length; at += maxLogMessageBytes)
        await send(bytes.subarray(at, at + maxLogMessageBytes));
    }
    webSocket.close(1000);
  } catch {
    // The source or the client failed in mid-answer: all that can be told is that it is not whole.
    webSocket.terminate();
  }
}

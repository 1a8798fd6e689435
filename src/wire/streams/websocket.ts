// Owns the acceptance of WebSockets, and a WebSocket as a byte stream. Knows no subprotocol's meaning.
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';

/** A message may be so long. */
const maxMessageBytes = 4 * 1024 * 1024;
/** Beyond so many bytes not yet sent, whoever writes has to wait. */
const maxBufferedBytes = 256 * 1024;

export function isWebSocket(message: IncomingMessage): boolean {
  return message.headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Answers the upgrade. `protocol` is the subprotocol to choose, "" for none; the client has offered it. Rejects when the
 * request is no proper WebSocket handshake: it has been answered then.
 */
export function acceptWebSocket(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  protocol: string,
): Promise<WebSocket> {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handleProtocols: () => (protocol === '' ? false : protocol),
  });
  return new Promise((resolve, reject) => {
    server.once('wsClientError', (error: Error) => {
      reject(error);
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
    // Kubernetes has subprotocols with a slash, which the library takes for a malformed header: it is shown another name.
    const offered = message.headers['sec-websocket-protocol'];
    if (protocol === '') delete message.headers['sec-websocket-protocol'];
    else message.headers['sec-websocket-protocol'] = 'chosen';
    server.handleUpgrade(message, socket, head, (webSocket) => {
      webSocket.on('error', () => webSocket.terminate());
      resolve(webSocket);
    });
    if (offered !== undefined) message.headers['sec-websocket-protocol'] = offered;
  });
}

/** Sends; resolves when the peer keeps up, at once as a rule. */
export function sendMessage(webSocket: WebSocket, data: Buffer | string, done: (error?: Error | null) => void): void {
  if (webSocket.readyState !== WebSocket.OPEN) {
    done(new Error('the WebSocket has closed'));
    return;
  }
  if (webSocket.bufferedAmount < maxBufferedBytes) {
    webSocket.send(data, (error) => {
      if (error) webSocket.terminate();
    });
    done();
  } else webSocket.send(data, (error) => done(error ?? null));
}

/** Binary messages as a stream of bytes, both ways; the end of what is written closes the WebSocket. */
export function webSocketStream(webSocket: WebSocket): Duplex {
  const stream = new Duplex({
    read: () => webSocket.resume(),
    write: (chunk: Buffer, _encoding, done) => sendMessage(webSocket, chunk, done),
    final(done) {
      webSocket.close(1000);
      done();
    },
    destroy(error, done) {
      if (error === null) webSocket.close(1000);
      else webSocket.terminate();
      done(error);
    },
  });
  webSocket.on('message', (data: Buffer) => {
    if (!stream.destroyed && !stream.push(data)) webSocket.pause();
  });
  webSocket.on('close', () => {
    if (stream.destroyed) return;
    stream.push(null);
    stream.once('end', () => stream.destroy());
  });
  return stream;
}

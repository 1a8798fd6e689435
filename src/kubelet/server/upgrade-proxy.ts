// Owns passing an upgraded connection through to the runtime's streaming server, byte by byte. Reads nothing of what passes.
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

/** `target`: the URL that CRI's Exec, Attach or PortForward gave. */
export function proxyUpgrade(message: IncomingMessage, client: Duplex, head: Buffer, target: string): void {
  const url = new URL(target);
  const upstream = connect({ host: url.hostname, port: Number(url.port) });
  const close = (): void => {
    client.destroy();
    upstream.destroy();
  };
  upstream.on('error', () => {
    if (upstream.connecting) refuse(client, 502, 'the container runtime does not take the stream');
    close();
  });
  client.on('error', close);
  client.on('close', () => upstream.destroy());
  // What the runtime sent before it closed may still be on its way to the client: only a broken connection is cut off.
  upstream.on('close', (hadError: boolean) => (hadError ? client.destroy() : client.end()));
  upstream.on('connect', () => {
    upstream.setNoDelay(true);
    upstream.write(requestText(message, url));
    if (head.length > 0) upstream.write(head);
    upstream.pipe(client);
    client.pipe(upstream);
  });
}

/** Credentials stay here: the runtime's server knows its callers by the token in the path. */
const withheld: ReadonlySet<string> = new Set(['authorization', 'host', 'cookie']);

function requestText(message: IncomingMessage, url: URL): string {
  const lines = [`${message.method} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`];
  for (let at = 0; at < message.rawHeaders.length; at += 2) {
    const name = message.rawHeaders[at]!;
    if (!withheld.has(name.toLowerCase())) lines.push(`${name}: ${message.rawHeaders[at + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Answers an upgrade that is refused, and ends the connection. */
export function refuse(client: Duplex, code: number, message: string): void {
  const body = `${message}\n`;
  client.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? 'Error'}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

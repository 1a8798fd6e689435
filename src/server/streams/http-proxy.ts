// Owns a plain request to another server and its answer as a stream. Makes no connection and knows no resource.
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { hopHeaders } from '../../wire/hop-headers.ts';
import type { UpgradeTarget } from '../../wire/streams/upgrade.ts';

export interface BackendAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body as text, at most 64 KiB of it. */
  text(): Promise<string>;
}

/** Rejects with the connection's error. The signal ends request and answer. */
export async function askBackend(
  target: UpgradeTarget,
  method: string,
  headers: Readonly<Record<string, string | readonly string[]>>,
  body: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<BackendAnswer> {
  const connection = await target.connect();
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({
      method,
      path: target.path,
      headers: {
        ...(headers as Record<string, string | string[]>),
        host: target.host,
        connection: 'close',
        ...(body !== undefined && { 'content-length': String(body.length) }),
      },
      createConnection: () => connection,
      signal,
    });
    outgoing.once('response', resolve);
    outgoing.once('error', (error) => {
      connection.destroy();
      reject(error);
    });
    outgoing.end(body);
  });
  const kept: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined && !hopHeaders.has(name)) kept[name] = value;
  return {
    code: answer.statusCode ?? 502,
    headers: kept,
    body: answer as Readable as AsyncIterable<Uint8Array>,
    text: () => textOf(answer),
  };
}

/** Headers of a client's request for a backend: without what is between it and us. */
export function backendHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    const ours =
      name.startsWith(':') ||
      name.startsWith('impersonate-') ||
      ['host', 'authorization', 'content-length'].includes(name);
    if (value !== undefined && !ours && !hopHeaders.has(name)) kept[name] = value;
  }
  return kept;
}

const maxTextBytes = 64 * 1024;

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size >= maxTextBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxTextBytes);
}

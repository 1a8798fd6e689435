// Owns asking a test server over HTTPS, one request a connection unless an agent keeps them: what was sent back, byte for byte.
import { once } from 'node:events';
import { type Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { adminToken } from '../start.suite.ts';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** '' for none; default the admin's. */
  readonly token?: string;
  readonly agent?: Agent;
  /** Fails when the server is silent for so long; default never. */
  readonly silenceMs?: number;
}

export async function ask(
  port: number,
  { method = 'GET', path, headers = {}, body, token = adminToken, agent, silenceMs }: Ask,
): Promise<Reply> {
  const sent = request({
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    agent: agent ?? false,
    method,
    path,
    headers: { ...(token !== '' && { authorization: `Bearer ${token}` }), ...headers },
  });
  sent.on('error', () => undefined);
  if (silenceMs !== undefined) sent.setTimeout(silenceMs, () => sent.destroy(new Error('no answer in time')));
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return { status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() };
}

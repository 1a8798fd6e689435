// Owns one exchange with one upstream DNS server, over UDP or TCP. No retries, no cache.
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { type Random, randomInteger } from '../base/random.ts';
import { deferred } from '../base/task-group.ts';
import { answersQuestion, encodeQuery, type Question } from '../wire/dns-message.ts';

export interface Upstream {
  readonly host: string;
  readonly port: number;
}

export interface ExchangeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly timeoutMs: number;
  readonly dnssecOk: boolean;
}

/** The raw answer. Each query has a socket, so a port, and an id of its own: a forger must guess both. Rejects on timeout. */
export async function exchange(
  transport: 'udp' | 'tcp',
  upstream: Upstream,
  question: Question,
  { clock, random, timeoutMs, dnssecOk }: ExchangeOptions,
): Promise<Buffer> {
  const id = randomInteger(random, 0x10000);
  const query = encodeQuery(id, question, { dnssecOk });
  const { promise, resolve, reject } = deferred<Buffer>();
  const timer = clock.after(timeoutMs, () => reject(new Error(`${upstream.host} did not answer in ${timeoutMs} ms`)));
  const accept = (message: Buffer) => {
    if (answersQuestion(message, id, question)) resolve(message);
  };
  const close =
    transport === 'udp' ? overUdp(upstream, query, accept, reject) : overTcp(upstream, query, accept, reject);
  try {
    return await promise;
  } finally {
    timer.cancel();
    close();
  }
}

function overUdp(
  upstream: Upstream,
  query: Buffer,
  accept: (message: Buffer) => void,
  fail: (error: Error) => void,
): () => void {
  const socket = createSocket(upstream.host.includes(':') ? 'udp6' : 'udp4');
  let open = true;
  socket.on('error', fail);
  socket.on('message', accept);
  // A connected socket hears of a refusing upstream at once and takes answers from nobody else.
  socket.connect(upstream.port, upstream.host, () => {
    if (open) socket.send(query);
  });
  return () => {
    open = false;
    socket.close();
  };
}

const maxMessage = 65_535;

function overTcp(
  upstream: Upstream,
  query: Buffer,
  accept: (message: Buffer) => void,
  fail: (error: Error) => void,
): () => void {
  const socket = connect(upstream.port, upstream.host);
  let received = Buffer.alloc(0);
  socket.on('error', fail);
  socket.on('close', () => fail(new Error(`${upstream.host} closed the connection`)));
  socket.on('connect', () => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));
  });
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    if (received.length > maxMessage + 2) fail(new Error(`${upstream.host} answered too much`));
    if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0))
      accept(received.subarray(2, 2 + received.readUInt16BE(0)));
  });
  return () => socket.destroy();
}

/** The servers of a resolv.conf. Comments, options and search lists are not looked at. */
export function parseResolvConf(text: string): Upstream[] {
  return text.split('\n').flatMap((line) => {
    const [word, host] = line.trim().split(/\s+/);
    return word === 'nameserver' && host !== undefined ? [{ host, port: 53 }] : [];
  });
}

/** "1.1.1.1", "1.1.1.1:5353", "[::1]:53". Throws an Error that names what is wrong. */
export function parseUpstream(text: string): Upstream {
  const match = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text);
  const bare = /^[0-9a-fA-F:.]+$/.test(text) && text.split(':').length > 2 ? text : undefined;
  const host = bare ?? match?.[1] ?? match?.[2];
  const port = bare === undefined && match?.[3] !== undefined ? Number(match[3]) : 53;
  if (host === undefined || port < 1 || port > 65_535) throw new Error(`"${text}" is no DNS server address`);
  return { host, port };
}

// Owns exec and attach over SPDY: serving the streams that a client opens, and opening them at another server.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { type SpdySession, spdySession } from '../spdy/session.ts';
import type { SpdyStream } from '../spdy/stream.ts';
import { channelProtocol, spdyRemoteCommandProtocols } from './channels.ts';
import {
  parseSize,
  type RemoteCommand,
  type RemoteCommandWish,
  Sizes,
  statusText,
  type TerminalSize,
} from './remote-command.ts';
import { acceptSpdy, requestSpdy } from './spdy-upgrade.ts';
import type { UpgradeTarget } from './upgrade.ts';

/** How long a client may take to open its streams, as with upstream. */
const openMs = 30_000;
/** How long a client may take to go once it knows how the command ended. */
const leaveMs = 10_000;

function streamTypes(wish: RemoteCommandWish, protocol: string): string[] {
  const resizes = wish.tty && /^v[34]\./.test(protocol);
  return [
    'error',
    ...(wish.stdin ? ['stdin'] : []),
    ...(wish.stdout ? ['stdout'] : []),
    ...(wish.stderr && !wish.tty ? ['stderr'] : []),
    ...(resizes ? ['resize'] : []),
  ];
}

/** Serves a client's SPDY request. Undefined when it had to be refused or the client did not open its streams in time. */
export async function acceptSpdyCommand(
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  wish: RemoteCommandWish,
  clock: Clock,
): Promise<RemoteCommand | undefined> {
  const streams = new Map<string, SpdyStream>();
  let onOpen: () => void = () => undefined;
  const accepted = acceptSpdy(message, socket, head, spdyRemoteCommandProtocols, {
    maxStreams: 16,
    onStream(stream) {
      const type = stream.headers['streamtype'] ?? '';
      if (streams.has(type)) stream.destroy();
      else streams.set(type, stream);
      onOpen();
    },
  });
  if (accepted === undefined) return undefined;
  const { session, protocol } = accepted;
  const wanted = streamTypes(wish, protocol);
  const complete = new Promise<void>((resolve) => {
    onOpen = () => {
      if (wanted.every((type) => streams.has(type))) resolve();
    };
    onOpen();
  });
  const timer = clock.after(openMs, () => session.destroy());
  const gone = await Promise.race([complete, session.ended.then(() => true)]);
  timer.cancel();
  return gone === true ? undefined : servedCommand(session, protocol, streams, clock);
}

function servedCommand(
  session: SpdySession,
  protocol: string,
  streams: ReadonlyMap<string, SpdyStream>,
  clock: Clock,
): RemoteCommand {
  const sizes = new Sizes();
  streams.get('resize')?.on(
    'data',
    lines((line) => sizes.take(parseSize(line))),
  );
  // Nothing comes from the client on these; reading is what notices their end.
  for (const type of ['error', 'stdout', 'stderr']) streams.get(type)?.resume();
  const closed = session.ended.then(() => undefined);
  return {
    stdin: streams.get('stdin'),
    stdout: streams.get('stdout'),
    stderr: streams.get('stderr'),
    closed,
    onResize: (call) => sizes.listen(call),
    async finish(status) {
      const { status: hasStatus } = channelProtocol(protocol);
      const text = hasStatus ? statusText(status) : status.status === 'Success' ? '' : (status.message ?? 'failed');
      streams.get('error')?.end(text);
      for (const type of ['stdout', 'stderr', 'resize']) streams.get(type)?.end();
      const stdin = streams.get('stdin');
      stdin?.end();
      stdin?.resume();
      session.close();
      const timer = clock.after(leaveMs, () => session.destroy());
      await closed;
      timer.cancel();
    },
  };
}

/** A size may be so long. */
const maxLineBytes = 1024;

/** Calls with each JSON object of a stream of them, which clients end with a new line. */
function lines(call: (line: string) => void): (chunk: Buffer) => void {
  let pending = '';
  return (chunk) => {
    const parts = (pending + chunk.toString()).split(/(?<=\})/);
    pending = '';
    for (const part of parts) {
      if (part.includes('}')) call(part.trim());
      else pending = part.slice(0, maxLineBytes);
    }
  };
}

/** The client's side of exec or attach. */
export interface OpenedCommand {
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  resize(size: TerminalSize): void;
  /** What the error stream said until it ended: a Status since version 4, text before. */
  readonly error: Promise<string>;
  readonly protocol: string;
  readonly session: SpdySession;
}

/** Starts a command at another server. Throws UpgradeRefused. */
export async function openSpdyCommand(target: UpgradeTarget, wish: RemoteCommandWish): Promise<OpenedCommand> {
  const { socket, protocol } = await requestSpdy(target, spdyRemoteCommandProtocols);
  const session = spdySession(socket, { role: 'client' });
  const streams = new Map<string, SpdyStream>();
  for (const type of streamTypes(wish, protocol)) {
    const stream = session.open({ streamtype: type });
    stream.on('error', () => undefined);
    streams.set(type, stream);
  }
  await Promise.all([...streams.values()].map((stream) => stream.accepted)).catch((error: unknown) => {
    session.destroy();
    throw error;
  });
  return {
    stdin: streams.get('stdin'),
    stdout: streams.get('stdout'),
    stderr: streams.get('stderr'),
    resize: ({ width, height }) => void streams.get('resize')?.write(`{"Width":${width},"Height":${height}}\n`),
    error: textOf(streams.get('error')!),
    protocol,
    session,
  };
}

/** A Status may be so long. */
const maxErrorBytes = 1024 * 1024;

function textOf(stream: SpdyStream): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      if (text.length < maxErrorBytes) text += chunk.toString();
    });
    stream.once('close', () => resolve(text));
    stream.once('end', () => resolve(text));
  });
}

// Owns one SPDY/3.1 connection: streams of both sides, windows, pings, the end. Knows nothing of HTTP or of what streams mean.
import type { Duplex } from 'node:stream';
import {
  type Frame,
  FrameReader,
  dataHeader,
  goAwayFrame,
  pingFrame,
  resetCodes,
  rstStreamFrame,
  settingsFrame,
  SpdyProtocolError,
  synReplyFrame,
  synStreamFrame,
  windowUpdateFrame,
} from './frames.ts';
import { HeaderReader, type SpdyHeaders, HeaderWriter } from './headers.ts';
import { SpdyStream, type StreamSession } from './stream.ts';

export interface SpdySessionOptions {
  readonly role: 'client' | 'server';
  /** Each stream that the peer opens, already accepted. Without it they are refused. */
  readonly onStream?: (stream: SpdyStream) => void;
  /** Streams open at a time, of both sides; further ones of the peer are refused. Default 256. */
  readonly maxStreams?: number;
  /** With which streams of the peer are accepted. Default none, as Kubernetes' peers have it. */
  readonly replyHeaders?: SpdyHeaders;
}

export interface SpdySession {
  /** Throws when the session has ended. Writes wait until the peer has accepted the stream. */
  open(headers: SpdyHeaders): SpdyStream;
  readonly openStreams: number;
  /** No further streams; ends when those open have ended. */
  close(): void;
  /** Ends at once; streams fail with `error`. */
  destroy(error?: Error): void;
  /** Settles when the connection has ended, whatever the reason: the error is given, not thrown. */
  readonly ended: Promise<Error | undefined>;
}

/** What the protocol begins with; we keep to it. */
const initialWindow = 64 * 1024;
const maxFrameBytes = 16 * 1024;

export function spdySession(socket: Duplex, options: SpdySessionOptions): SpdySession {
  const session = new Session(socket, options);
  session.start();
  return session;
}

interface Waiting {
  readonly stream: SpdyStream;
  chunk: Buffer;
  readonly done: (error?: Error | null) => void;
}

class Session implements SpdySession, StreamSession {
  readonly ended: Promise<Error | undefined>;
  readonly #socket: Duplex;
  readonly #options: SpdySessionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #reader = new FrameReader();
  readonly #headerReader = new HeaderReader();
  readonly #headerWriter = new HeaderWriter();
  readonly #consumed = new Map<SpdyStream, number>();
  /** Writes that wait for a window, in order. */
  #waiting: Waiting[] = [];
  #resolveEnded: (error: Error | undefined) => void = () => undefined;
  #nextId: number;
  #lastPeerId = 0;
  #sendWindow = initialWindow;
  #peerInitialWindow = initialWindow;
  /**
   * Go's peers never open windows and ignore ours: only who speaks of windows is held to them and told of ours. Telling
   * the others does harm: what reaches a peer that has closed makes it reset the connection, and what it sent last is lost.
   */
  #peerHasWindows = false;
  /** Bytes received for which the connection's window has not been opened again. */
  #unacknowledged = 0;
  /** No further streams. */
  #closing = false;
  /** We are the one who leaves, and have not said so yet. */
  #mustSayGoodbye = false;
  #over = false;

  constructor(socket: Duplex, options: SpdySessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.role === 'client' ? 1 : 2;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  start(): void {
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.write(settingsFrame(initialWindow));
    // A closed socket shows itself as the end of reading, when all that came before has been looked at.
    this.#readAll().then(
      () => this.destroy(),
      (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  open(headers: SpdyHeaders): SpdyStream {
    if (this.#over || this.#closing) throw new Error('the SPDY session has ended');
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = new SpdyStream(this, id, headers, true, this.#peerInitialWindow);
    this.#streams.set(id, stream);
    this.#socket.write(synStreamFrame(id, this.#headerWriter.block(headers)));
    return stream;
  }

  close(): void {
    if (this.#closing || this.#over) return;
    this.#closing = true;
    this.#mustSayGoodbye = true;
    this.#sayGoodbye();
    this.#endWhenIdle();
  }

  /** Go's peers read nothing behind a goAway: it comes after the last bytes of every stream. */
  #sayGoodbye(): void {
    if (!this.#mustSayGoodbye || this.#over) return;
    for (const stream of this.#streams.values()) if (!stream.isSent) return;
    this.#mustSayGoodbye = false;
    this.#socket.write(goAwayFrame(this.#lastPeerId));
  }

  destroy(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done(error ?? new Error('the connection has ended'));
    for (const stream of [...this.#streams.values()]) stream.onSessionEnd(error);
    this.#streams.clear();
    this.#headerReader.close();
    this.#socket.destroy();
    this.#resolveEnded(error);
  }

  async #readAll(): Promise<void> {
    for await (const chunk of this.#socket)
      for (const frame of this.#reader.read(chunk as Buffer)) {
        if (this.#over) return;
        await this.#onFrame(frame);
      }
  }

  async #onFrame(frame: Frame): Promise<void> {
    switch (frame.type) {
      case 'synStream':
        return this.#onSynStream(frame.id, frame.fin, await this.#headerReader.read(frame.block));
      case 'synReply':
        await this.#headerReader.read(frame.block);
        this.#streams.get(frame.id)?.onReply();
        if (frame.fin) this.#streams.get(frame.id)?.onEnd();
        return;
      case 'headers':
        await this.#headerReader.read(frame.block);
        if (frame.fin) this.#streams.get(frame.id)?.onEnd();
        return;
      case 'data':
        return this.#onData(frame.id, frame.fin, frame.payload);
      case 'rstStream':
        this.#streams.get(frame.id)?.onReset(frame.code);
        return;
      case 'settings':
        return this.#onSettings(frame.initialWindow);
      case 'windowUpdate':
        return this.#onWindowUpdate(frame.id, frame.delta);
      case 'ping':
        // Ours would have our parity: we send none, so it is the peer's and goes back.
        this.#socket.write(pingFrame(frame.id));
        return;
      case 'goAway':
        this.#closing = true;
        this.#endWhenIdle();
    }
  }

  #onSynStream(id: number, fin: boolean, headers: SpdyHeaders): void {
    const ours = id % 2 === (this.#options.role === 'client' ? 1 : 0);
    if (id === 0 || ours || id <= this.#lastPeerId) throw new SpdyProtocolError(`the peer opens stream ${id}`);
    this.#lastPeerId = id;
    const { onStream, maxStreams = 256 } = this.#options;
    if (onStream === undefined || this.#closing || this.#streams.size >= maxStreams) {
      this.#socket.write(rstStreamFrame(id, resetCodes.refusedStream));
      return;
    }
    const stream = new SpdyStream(this, id, headers, false, this.#peerInitialWindow);
    this.#streams.set(id, stream);
    this.#socket.write(synReplyFrame(id, this.#headerWriter.block(this.#options.replyHeaders ?? {})));
    // Whoever takes the stream may listen later; until then its errors are nobody's.
    stream.on('error', () => undefined);
    onStream(stream);
    if (fin) stream.onEnd();
  }

  async #onData(id: number, fin: boolean, payload: Buffer): Promise<void> {
    this.#unacknowledged += payload.length;
    if (this.#peerHasWindows && this.#unacknowledged >= initialWindow / 2) {
      this.#socket.write(windowUpdateFrame(0, this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    const stream = this.#streams.get(id);
    // Data for a stream that we have ended is on its way for a while.
    if (stream === undefined) return;
    stream.onData(payload);
    if (fin) stream.onEnd();
    // A peer without windows is slowed down by not reading on.
    if (stream.unread > initialWindow) await stream.drained();
  }

  #onSettings(window: number | undefined): void {
    if (window === undefined) return;
    this.#peerHasWindows = true;
    const change = window - this.#peerInitialWindow;
    this.#peerInitialWindow = window;
    for (const stream of this.#streams.values()) stream.sendWindow += change;
    this.#sendWaiting();
  }

  #onWindowUpdate(id: number, delta: number): void {
    this.#peerHasWindows = true;
    const stream = this.#streams.get(id);
    if (id === 0) this.#sendWindow += delta;
    else if (stream !== undefined) stream.sendWindow += delta;
    if (this.#sendWindow > 0x7fffffff || (stream !== undefined && stream.sendWindow > 0x7fffffff))
      throw new SpdyProtocolError('a window beyond all bounds');
    this.#sendWaiting();
  }

  #endWhenIdle(): void {
    if (this.#closing && this.#streams.size === 0 && !this.#over) this.#socket.end(() => this.destroy());
  }

  // What streams ask for.

  send(stream: SpdyStream, chunk: Buffer, done: (error?: Error | null) => void): void {
    if (this.#over) done(new Error('the connection has ended'));
    else if (chunk.length === 0) done();
    else {
      this.#waiting.push({ stream, chunk, done });
      this.#sendWaiting();
    }
  }

  #sendWaiting(): void {
    const still: Waiting[] = [];
    for (const waiting of this.#waiting) if (!this.#sendSome(waiting)) still.push(waiting);
    this.#waiting = still;
  }

  /** True when all of it is sent. */
  #sendSome(waiting: Waiting): boolean {
    const { stream, done } = waiting;
    if (stream.destroyed) {
      done(new Error('the stream has ended'));
      return true;
    }
    while (waiting.chunk.length > 0) {
      const room = this.#peerHasWindows ? Math.min(stream.sendWindow, this.#sendWindow) : maxFrameBytes;
      const part = waiting.chunk.subarray(0, Math.min(room, maxFrameBytes));
      if (room <= 0) return false;
      waiting.chunk = waiting.chunk.subarray(part.length);
      stream.sendWindow -= part.length;
      this.#sendWindow -= part.length;
      this.#socket.write(dataHeader(stream.id, part.length, false));
      if (waiting.chunk.length > 0) this.#socket.write(part);
      // Done when the socket has taken the last bytes: that is the back-pressure of whoever writes.
      else this.#socket.write(part, (error) => done(error ?? null));
    }
    return true;
  }

  finish(stream: SpdyStream): void {
    if (!this.#over) this.#socket.write(dataHeader(stream.id, 0, true));
    this.#sayGoodbye();
  }

  reset(stream: SpdyStream, code: number): void {
    if (!this.#over && this.#streams.get(stream.id) === stream) this.#socket.write(rstStreamFrame(stream.id, code));
  }

  consumed(stream: SpdyStream, bytes: number): void {
    const credit = (this.#consumed.get(stream) ?? 0) + bytes;
    const send = this.#peerHasWindows && credit >= initialWindow / 2 && !this.#over;
    this.#consumed.set(stream, send ? 0 : credit);
    if (send) this.#socket.write(windowUpdateFrame(stream.id, credit));
  }

  forget(stream: SpdyStream): void {
    this.#consumed.delete(stream);
    if (this.#streams.get(stream.id) === stream) this.#streams.delete(stream.id);
    this.#sayGoodbye();
    this.#endWhenIdle();
  }
}

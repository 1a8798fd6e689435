// Owns one SPDY stream as a node Duplex: headers, data both ways with their own ends, resets. Its session moves the frames.
import { Duplex } from 'node:stream';
import { resetCodes } from './frames.ts';
import type { SpdyHeaders } from './headers.ts';

/** What a stream asks of its session. */
export interface StreamSession {
  /** Sends as much as windows allow, the rest later; `done` when all is with the socket. */
  send(stream: SpdyStream, chunk: Buffer, done: (error?: Error | null) => void): void;
  finish(stream: SpdyStream): void;
  reset(stream: SpdyStream, code: number): void;
  /** The reader has taken so many bytes. */
  consumed(stream: SpdyStream, bytes: number): void;
  forget(stream: SpdyStream): void;
}

export class StreamReset extends Error {
  override readonly name = 'StreamReset';
  readonly code: number;
  constructor(code: number) {
    super(`the peer reset the stream (code ${code})`);
    this.code = code;
  }
}

export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** Settles when the peer has accepted the stream; at once for streams of the peer. */
  readonly accepted: Promise<void>;
  /** Bytes that may be sent now; kept by the session. */
  sendWindow: number;
  readonly #session: StreamSession;
  #accept: () => void = () => undefined;
  #refuse: (error: Error) => void = () => undefined;
  #unread = 0;
  #localEnd = false;
  #remoteEnd = false;
  #waiting: (() => void)[] = [];

  constructor(session: StreamSession, id: number, headers: SpdyHeaders, own: boolean, sendWindow: number) {
    super({ allowHalfOpen: true, autoDestroy: true, readableHighWaterMark: 32 * 1024 });
    this.id = id;
    this.headers = headers;
    this.sendWindow = sendWindow;
    this.#session = session;
    this.accepted = own
      ? new Promise((resolve, reject) => {
          this.#accept = resolve;
          this.#refuse = reject;
        })
      : Promise.resolve();
    this.accepted.catch(() => undefined);
  }

  // Called by the session.

  onReply(): void {
    this.#accept();
  }

  /** Our side has ended, and its last bytes are with the socket. */
  get isSent(): boolean {
    return this.#localEnd;
  }

  /** Bytes received that nobody has read. */
  get unread(): number {
    return this.readableLength;
  }

  onData(payload: Buffer): void {
    if (payload.length === 0 || this.destroyed || this.#remoteEnd) return;
    this.#unread += payload.length;
    this.push(payload);
    this.#credit();
  }

  onEnd(): void {
    if (this.#remoteEnd) return;
    this.#remoteEnd = true;
    if (!this.destroyed) this.push(null);
  }

  onReset(code: number): void {
    this.#localEnd = true;
    this.#remoteEnd = true;
    const error = new StreamReset(code);
    this.#refuse(error);
    // A peer that takes back a stream it no longer needs is no failure of ours to report.
    this.destroy(code === resetCodes.cancel ? undefined : error);
  }

  /** The connection is gone. What the peer had sent to its end can still be read; anything else is lost. */
  onSessionEnd(error: Error | undefined): void {
    this.#localEnd = true;
    const isWhole = this.#remoteEnd && error === undefined;
    this.#remoteEnd = true;
    if (!isWhole) this.destroy(error);
    else if (!this.writableEnded) this.end();
  }

  /** Resolves when the reader has taken what there was, or the stream is gone. */
  drained(): Promise<void> {
    return this.destroyed || this.readableLength === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#waiting.push(resolve));
  }

  // Called by node.

  // Node asks for more before it hands out what there is: what was really taken shows only after `read`.
  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    this.#credit();
    return chunk;
  }

  override _read(): void {
    this.#credit();
  }

  #credit(): void {
    const taken = this.#unread - this.readableLength;
    if (taken > 0) {
      this.#unread -= taken;
      this.#session.consumed(this, taken);
    }
    if (this.readableLength === 0) this.#wake();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // Go's peers drop data of a stream that they have not accepted yet.
    this.accepted.then(() => this.#session.send(this, chunk, done), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.accepted.then(() => {
      if (!this.#localEnd) {
        this.#localEnd = true;
        this.#session.finish(this);
      }
      done();
    }, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!(this.#localEnd && this.#remoteEnd))
      this.#session.reset(this, error === null ? resetCodes.cancel : resetCodes.internalError);
    this.#localEnd = true;
    this.#remoteEnd = true;
    this.#refuse(error ?? new Error('the stream was destroyed'));
    this.#session.forget(this);
    this.#wake();
    done(error);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

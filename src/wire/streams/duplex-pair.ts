// Owns a connection within the process: two byte streams, each reading what the other writes.
import { Duplex } from 'node:stream';

class End extends Duplex {
  peer!: End;
  #resume: (() => void) | undefined;

  override _read(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.peer.#take(chunk, done);
  }

  /** The writer goes on when the reader has taken what it was given. */
  #take(chunk: Buffer | null, done: () => void): void {
    if (this.destroyed || this.push(chunk)) done();
    else this.#resume = done;
  }

  override _final(done: () => void): void {
    this.peer.#take(null, () => undefined);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // What was written before the end is still read; then the other side has ended, too.
    const { peer } = this;
    if (!peer.destroyed && !peer.readableEnded) {
      if (!this.writableFinished) peer.push(null);
      peer.once('end', () => peer.destroy());
    }
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
    done(error);
  }
}

/** What a client's and a server's end of a socket are; hand one to `http.Server` by its event "connection". */
export function duplexPair(): [Duplex, Duplex] {
  const [a, b] = [new End(), new End()];
  a.peer = b;
  b.peer = a;
  return [a, b];
}

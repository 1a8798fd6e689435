// Owns gRPC's framing of messages: one byte for compression, four for the length. Pure; compression is refused.
import { GrpcError } from './grpc-service.ts';

const headBytes = 5;

export function frameOf(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headBytes);
  return frame;
}

/** Cuts a stream of bytes into messages, wherever its chunks begin. */
export class GrpcFrames {
  readonly #limit: number;
  #waiting: Buffer[] = [];
  #bytes = 0;
  /** Of the message that is not whole yet, with its head; 0: not known. */
  #wanted = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The messages that this chunk completes; they may share its memory. Throws GrpcError. */
  push(chunk: Buffer): Buffer[] {
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < Math.max(headBytes, this.#wanted)) return [];
    const bytes = this.#waiting.length === 1 ? chunk : Buffer.concat(this.#waiting, this.#bytes);
    const messages: Buffer[] = [];
    let at = 0;
    this.#wanted = 0;
    while (bytes.length - at >= headBytes) {
      if (bytes[at] !== 0) throw new GrpcError('UNIMPLEMENTED', 'a compressed message, which was not asked for');
      const length = bytes.readUInt32BE(at + 1);
      if (length > this.#limit)
        throw new GrpcError('RESOURCE_EXHAUSTED', `a message of ${length} bytes; at most ${this.#limit} are taken`);
      if (bytes.length - at < headBytes + length) {
        this.#wanted = headBytes + length;
        break;
      }
      messages.push(bytes.subarray(at + headBytes, at + headBytes + length));
      at += headBytes + length;
    }
    this.#waiting = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#bytes = bytes.length - at;
    return messages;
  }
}

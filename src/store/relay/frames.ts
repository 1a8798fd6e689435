// Owns the bytes between a store and the processes it is relayed to: length-prefixed values in node's own serialization. Both ends are
// one program on one machine, of one version; nothing from a stranger is read here.
import type { Duplex } from 'node:stream';
import { deserialize, serialize } from 'node:v8';

const lengthBytes = 4;

export function frameOf(value: unknown): Buffer {
  const body = serialize(value);
  const frame = Buffer.allocUnsafe(lengthBytes + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, lengthBytes);
  return frame;
}

/** Writes values; all that are said in one turn go out together. False: the stream wants to be drained first. */
export function frameWriter(stream: Duplex): (value: unknown) => boolean {
  let corked = false;
  return (value) => {
    if (!corked) {
      corked = true;
      stream.cork();
      queueMicrotask(() => {
        corked = false;
        stream.uncork();
      });
    }
    return stream.write(frameOf(value));
  };
}

/** Puts chunks together again; `onValue` gets each value in order. */
export function frameReader(onValue: (value: unknown) => void): (chunk: Buffer) => void {
  let header = Buffer.alloc(0);
  let body: Buffer | undefined;
  let filled = 0;
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (body === undefined) {
        const part = chunk.subarray(at, at + lengthBytes - header.length);
        header = Buffer.concat([header, part]);
        at += part.length;
        if (header.length < lengthBytes) return;
        // Memory of its own: what a value holds on to is its frame, not the chunks of its neighbours.
        body = Buffer.allocUnsafeSlow(header.readUInt32BE(0));
        header = Buffer.alloc(0);
        filled = 0;
      }
      const copied = chunk.copy(body, filled, at);
      filled += copied;
      at += copied;
      if (filled < body.length) return;
      const whole = body;
      body = undefined;
      onValue(deserialize(whole));
    }
  };
}

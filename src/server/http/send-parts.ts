// Owns sending an answer in parts: one at a time, compressed if wanted, given up when the reader takes nothing for too long.
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../base/clock.ts';
import { Turn } from '../../base/turn.ts';
import type { AnswerHeaders, HttpExchange } from '../../wire/http-exchange.ts';

export interface Parts {
  readonly headers: AnswerHeaders;
  /** An empty part asks for a turn of the event loop: others have theirs meanwhile. */
  readonly parts: Iterable<Buffer>;
  readonly isZipped: boolean;
  readonly clock: Clock;
  /** What ends it from outside is put there while it lasts. */
  readonly open: Set<() => void>;
  /** Told of the bytes before compression when all are sent. */
  readonly sent: (bytes: number) => void;
}

/** A reader that takes nothing for so long has gone (upstream's --request-timeout). */
const stallMs = 60_000;

/** Holds one part at a time: a slow reader costs no more than that. */
export async function sendParts(
  exchange: HttpExchange,
  { headers, parts, isZipped, clock, open, sent }: Parts,
): Promise<void> {
  const stream = exchange.open(200, headers);
  let stopped = false;
  let wake: (() => void) | undefined;
  const stop = (): void => {
    stopped = true;
    open.delete(stop);
    wake?.();
  };
  open.add(stop);
  exchange.onClose(stop);
  stream.onDrain(() => wake?.());
  /** False: the reader has gone, or took nothing for too long. */
  const drained = (): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = clock.after(stallMs, () => resolve(false));
      wake = () => {
        timer.cancel();
        resolve(!stopped);
      };
      if (stopped || exchange.closed) wake();
    });
  let bytes = 0;
  const counted = taken(parts, (length) => {
    bytes += length;
  });
  try {
    for await (const part of isZipped ? gzipped(counted) : counted) {
      if (stopped || (!stream.write(part) && !(await drained()))) {
        stream.destroy();
        return;
      }
    }
    stream.end();
    sent(bytes);
  } catch {
    // What could not be encoded or compressed leaves an answer that is not whole.
    stream.destroy();
  } finally {
    stop();
  }
}

async function* taken(parts: Iterable<Buffer>, told: (bytes: number) => void): AsyncGenerator<Buffer> {
  const turn = new Turn();
  for (const part of parts) {
    if (part.length === 0) await turn.over();
    else {
      told(part.length);
      yield part;
    }
  }
}

async function* gzipped(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zip = createGzip({ level: 1 });
  const source = Readable.from(parts, { objectMode: false });
  source.on('error', (error) => zip.destroy(error));
  source.pipe(zip);
  try {
    for await (const chunk of zip) yield chunk as Buffer;
  } finally {
    source.destroy();
    zip.destroy();
  }
}

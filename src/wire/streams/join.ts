// Owns the joining of two byte streams into one: bytes both ways, half-closed ends, and no end left open.
import type { Duplex } from 'node:stream';

/** Resolves when both have ended. What one loses the other loses too. */
export function joinStreams(a: Duplex, b: Duplex): Promise<void> {
  const closed = [a, b].map(
    (stream) =>
      new Promise<void>((resolve) => {
        if (stream.destroyed) resolve();
        else stream.once('close', resolve);
      }),
  );
  link(a, b);
  link(b, a);
  a.pipe(b);
  b.pipe(a);
  return Promise.all(closed).then(() => undefined);
}

function link(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.once('close', () => {
    if (to.destroyed) return;
    // Whatever has been read is still on its way; then the other end goes as well.
    if (from.readableEnded) to.end(() => to.destroy());
    else to.destroy();
  });
}

// Owns the renewal of the serving certificate while the server runs: read anew now and then, served when it changed and holds together.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { isAbort } from '../base/task-group.ts';
import type { ApiServerOptions } from './options.ts';

const everyMs = 60_000;

export async function renewRegularly(
  listener: { renew(key: string, certificate: string): void },
  { certificate, key, reread }: ApiServerOptions['tls'],
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let current = { certificate, key };
  while (!signal.aborted && reread !== undefined) {
    await sleep(clock, everyMs, signal);
    try {
      const next = await reread();
      if (next.certificate === current.certificate && next.key === current.key) continue;
      // Half of a pair is there for a moment while it is replaced: the old one is served until both fit.
      if (!new X509Certificate(next.certificate).checkPrivateKey(createPrivateKey(next.key))) continue;
      listener.renew(next.key, next.certificate);
      current = next;
      log.info('the serving certificate was renewed');
    } catch (error) {
      if (isAbort(error)) throw error;
      log.warn('the serving certificate cannot be read anew; the old one stays', { error });
    }
  }
}

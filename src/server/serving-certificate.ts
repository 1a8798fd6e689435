// Owns the renewal of the serving certificate: which pair may take the place of the one that is served. Reads no file.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ApiServerOptions } from './options.ts';
import type { Reloaded } from './reload.ts';

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export function servingPair(
  { certificate, key, reread }: ApiServerOptions['tls'],
  renew: (pair: Pair) => void,
): Reloaded<Pair> {
  return {
    what: 'the serving certificate and its key',
    current: { certificate, key },
    async read() {
      const next = await reread!();
      return { certificate: next.certificate, key: next.key };
    },
    apply(next) {
      // Half of a pair is there for a moment while it is replaced: the old one is served until both fit.
      if (!new X509Certificate(next.certificate).checkPrivateKey(createPrivateKey(next.key))) return false;
      renew(next);
      return true;
    },
  };
}

// Owns where bearer tokens come from: a fixed one, or a file that its owner rotates.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';

export type TokenSource = () => Promise<string | undefined>;

export function fixedToken(token: string): TokenSource {
  return () => Promise.resolve(token);
}

/** Read again every minute, as client-go does; while the file cannot be read the last token is used. */
export function tokenFile(path: string, clock: Clock, rereadMs = 60_000): TokenSource {
  let token: string | undefined;
  let readAtMs = -Infinity;
  return async () => {
    if (clock.monotonic() - readAtMs < rereadMs) return token;
    try {
      token = (await readFile(path, 'utf8')).trim();
    } catch (error) {
      if (token === undefined) throw new Error(`bearer token file ${path} cannot be read`, { cause: error });
    }
    readAtMs = clock.monotonic();
    return token;
  };
}

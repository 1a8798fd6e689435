// Owns which certificate a server shows: the given files, those in --cert-dir, or one of its own.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sleep, systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { guard, replaceFile } from '../data-directory.ts';
import { openPki, type Pki } from '../pki.ts';
import { UserError } from '../user-error.ts';
import { textOf } from './alone.ts';

export interface ServingFlags {
  readonly 'cert-dir'?: string | undefined;
  readonly 'tls-cert-file'?: string | undefined;
  readonly 'tls-private-key-file'?: string | undefined;
}

export interface ServingCertificate {
  readonly certificate: string;
  readonly key: string;
  /** The files again, where there are any. */
  readonly reread?: () => Promise<{ readonly certificate: string; readonly key: string }>;
}

/** Without files `decided` is shown, or `pki` makes one; `name` is that of its files in --cert-dir. */
export async function servingCertificateOf(
  flags: ServingFlags,
  name: string,
  pki: () => Promise<Pki>,
  decided?: ServingCertificate,
): Promise<ServingCertificate> {
  const [certificateFile, keyFile] = [flags['tls-cert-file'], flags['tls-private-key-file']];
  const [certificate, key] = [textOf(certificateFile), textOf(keyFile)];
  if ((certificate === undefined) !== (key === undefined))
    throw new UserError('--tls-cert-file and --tls-private-key-file belong together', 'give both or neither');
  if (certificate !== undefined && key !== undefined) return certificateIn(certificateFile!, keyFile!);
  const directory = flags['cert-dir'];
  const own =
    directory === undefined
      ? undefined
      : { certificate: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  const isThere = (): boolean => own !== undefined && existsSync(own.certificate) && existsSync(own.key);
  if (own !== undefined && isThere()) return certificateIn(own.certificate, own.key);
  if (decided !== undefined) return decided;
  if (own === undefined) {
    const { apiServer: made } = await pki();
    return { certificate: made.certificatePem, key: made.keyPem };
  }
  guard(directory!, () => mkdirSync(directory!, { recursive: true, mode: 0o755 }));
  // Of two that begin at once in one directory each would leave a half of its own pair.
  await oneAtATime(`${own.key}.making`, async () => {
    if (isThere()) return;
    const { apiServer: made, ca } = await pki();
    guard(directory!, () => {
      replaceFile(own.key, made.keyPem);
      // With its authority, as upstream's: who trusts this file trusts the server.
      replaceFile(own.certificate, `${made.certificatePem}${ca.certificatePem}`);
    });
  });
  return certificateIn(own.certificate, own.key);
}

/** Longer than keys take to be made: then whoever held the file has died. */
const longestMs = 5_000;
const lookMs = 20;

/** Holds `file`, which nobody else who asks for it then does. */
async function oneAtATime(file: string, work: () => Promise<void>): Promise<void> {
  for (let waitedMs = 0; waitedMs < longestMs && !taken(file); waitedMs += lookMs) await sleep(systemClock, lookMs);
  try {
    await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function taken(file: string): boolean {
  return guard(dirname(file), () => {
    try {
      writeFileSync(file, '', { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  });
}

/** For a component that few ask: valid for this host's own names. */
export function ownServingCertificate(flags: ServingFlags): Promise<ServingCertificate> {
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
  return servingCertificateOf(flags, 'tls', () =>
    openPki(undefined, names, { clock: systemClock, random: systemRandom }),
  );
}

function certificateIn(certificateFile: string, keyFile: string): ServingCertificate {
  return {
    certificate: textOf(certificateFile)!,
    key: textOf(keyFile)!,
    reread: async () => ({
      certificate: await readFile(certificateFile, 'utf8'),
      key: await readFile(keyFile, 'utf8'),
    }),
  };
}

// The flags that say how the port is served: TLS versions, suites, further certificates, headers. What is not understood ends the start.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ApiServerOptions } from '../../server/options.ts';
import { CorsPatternError, cors } from '../../server/http/cors.ts';
import { UserError } from '../user-error.ts';

export interface TransportFlags {
  readonly minVersion?: string | undefined;
  readonly suites?: readonly string[] | undefined;
  readonly named?: string | undefined;
  readonly goawayChance?: string | undefined;
  readonly strictTransport?: readonly string[] | undefined;
  readonly streams?: number | undefined;
  readonly origins?: readonly string[] | undefined;
}

const versions: Readonly<Record<string, 'TLSv1.2' | 'TLSv1.3'>> = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' };
const insecure = /_(RC4|3DES|CBC)_|^TLS_RSA_/;

/** "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" as OpenSSL writes it. */
export function opensslSuite(name: string): string {
  if (/^TLS_(AES|CHACHA20)_/.test(name)) return name;
  const match =
    /^TLS_ECDHE_(RSA|ECDSA)_WITH_(?:AES_(128|256)_GCM_(SHA256|SHA384)|(CHACHA20_POLY1305)(?:_SHA256)?)$/.exec(name);
  if (match === null || insecure.test(name))
    throw new UserError(
      `--tls-cipher-suites: ${name} is not a suite that is served`,
      'name ECDHE suites with GCM or ChaCha20',
    );
  return match[4] === undefined
    ? `ECDHE-${match[1]}-AES${match[2]}-GCM-${match[3]}`
    : `ECDHE-${match[1]}-CHACHA20-POLY1305`;
}

/** "cert.pem,key.pem" or "cert.pem,key.pem:a.example.com,*.b.example.com"; without names those of the certificate. */
function certificateOf(text: string): { names: string[]; certificate: string; key: string } {
  const [files = '', given = ''] = text.split(':');
  const [certificateFile, keyFile] = files.split(',');
  if (!certificateFile || !keyFile)
    throw new UserError(`--tls-sni-cert-key: ${text} names no pair`, 'write certificate,key');
  const certificate = readFileSync(certificateFile, 'utf8');
  const own = (new X509Certificate(certificate).subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('DNS:'))
    .map((name) => name.slice(4));
  const names = given === '' ? own : given.split(',');
  return { names: names.map((name) => name.toLowerCase()), certificate, key: readFileSync(keyFile, 'utf8') };
}

/** Pairs with `;` between them. */
export function certificatesByName(text: string): ReturnType<typeof certificateOf>[] {
  return text.split(';').map(certificateOf);
}

export function transportSettings(flags: TransportFlags): Pick<ApiServerOptions, 'transport'> {
  const { minVersion, suites, named, goawayChance, strictTransport, streams, origins } = flags;
  if (streams !== undefined && streams < 0)
    throw new UserError('--http2-max-streams-per-connection: less than nothing', '0 is the default');
  try {
    cors(origins ?? []);
  } catch (error) {
    if (!(error instanceof CorsPatternError)) throw error;
    throw new UserError(`--cors-allowed-origins: ${error.message}`, 'hold the pattern at both ends');
  }
  const version = minVersion === undefined ? undefined : versions[minVersion];
  if (minVersion !== undefined && version === undefined)
    throw new UserError(`--tls-min-version: ${minVersion} is not served`, 'VersionTLS12 or VersionTLS13');
  const chance = goawayChance === undefined ? 0 : Number(goawayChance);
  if (!(chance >= 0 && chance <= 0.02))
    throw new UserError(`--goaway-chance: ${goawayChance} is not between 0 and 0.02`, 'a small number');
  const transport = {
    ...(version !== undefined && { minVersion: version }),
    ...(suites !== undefined && suites.length > 0 && { ciphers: suites.map(opensslSuite).join(':') }),
    ...(named !== undefined && { named: certificatesByName(named) }),
    ...(streams !== undefined && streams > 0 && { maxConcurrentStreams: streams }),
    ...(origins !== undefined && origins.length > 0 && { corsAllowedOrigins: origins }),
    ...(chance > 0 && { goawayChance: chance }),
    ...(strictTransport !== undefined && strictTransport.length > 0 && { strictTransportSecurity: strictTransport }),
  };
  return Object.keys(transport).length > 0 ? { transport } : {};
}

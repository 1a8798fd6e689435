// Owns users by client certificate: CN is the name, each O a group. Certificates of other authorities are refused.
import { X509Certificate } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Histogram } from '../../base/metrics.ts';
import type { UserInfo } from '../request.ts';
import type { Authenticator } from './authenticator.ts';
import { authenticated, BadCredential } from './authenticator.ts';

/** PEM text with one or more certificates. */
export function certificatesOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

/** Authorities that may be replaced while they are asked. */
export class Authorities {
  #pem: string;
  #list: readonly X509Certificate[];
  /** Throws for text without a certificate. */
  constructor(pem: string) {
    this.#pem = pem;
    this.#list = parsed(pem);
  }
  get pem(): string {
    return this.#pem;
  }
  /** Another list than before after each change. */
  get list(): readonly X509Certificate[] {
    return this.#list;
  }
  replace(pem: string): void {
    this.#list = parsed(pem);
    this.#pem = pem;
  }
}

function parsed(pem: string): X509Certificate[] {
  const list = certificatesOf(pem);
  if (list.length === 0) throw new Error('the file of authorities holds no certificate');
  return list;
}

/** Values of one attribute of a distinguished name, as node prints it ("CN=a\nO=b"). */
export function attributesOf(name: string, attribute: string): string[] {
  return name
    .split('\n')
    .filter((line) => line.startsWith(`${attribute}=`))
    .map((line) => line.slice(attribute.length + 1).replace(/\\(.)/g, '$1'));
}

const clientAuth = '1.3.6.1.5.5.7.3.2';

export function isIssuedBy(
  certificate: X509Certificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): boolean {
  if (Date.parse(certificate.validFrom) > nowMs || Date.parse(certificate.validTo) < nowMs) return false;
  if (certificate.keyUsage !== undefined && !certificate.keyUsage.includes(clientAuth)) return false;
  return authorities.some(
    (authority) =>
      authority.ca &&
      certificate.checkIssued(authority) &&
      certificate.verify(authority.publicKey) &&
      Date.parse(authority.validTo) >= nowMs,
  );
}

interface Known {
  readonly user: UserInfo;
  readonly untilMs: number;
  readonly expiresMs: number;
}

/** `expiresIn`: told how many seconds the certificate of each request that is let in still lasts. */
export function clientCertificates(authorities: Authorities, clock: Clock, expiresIn?: Histogram): Authenticator {
  // By the certificate's digest: a connection sends many requests.
  const byDigest = new Map<string, Known>();
  let judgedBy = authorities.list;
  return {
    name: 'x509',
    authenticate(request) {
      const { certificate } = request.peer;
      if (certificate === undefined) return undefined;
      if (judgedBy !== authorities.list) {
        byDigest.clear();
        judgedBy = authorities.list;
      }
      const digest = certificate.fingerprint256;
      const cached = byDigest.get(digest);
      const nowMs = clock.now();
      if (cached !== undefined && cached.untilMs > nowMs) {
        expiresIn?.observe((cached.expiresMs - nowMs) / 1000);
        return cached.user;
      }
      if (!isIssuedBy(certificate, authorities.list, nowMs))
        throw new BadCredential('the client certificate is not of a known authority, or has expired');
      const [name] = attributesOf(certificate.subject, 'CN');
      if (name === undefined || name === '') throw new BadCredential('the client certificate has no common name');
      const user = authenticated({
        name,
        groups: attributesOf(certificate.subject, 'O'),
        extra: {
          'authentication.kubernetes.io/credential-id': [`X509SHA256=${digest.replaceAll(':', '').toLowerCase()}`],
        },
      });
      if (byDigest.size >= 4096) byDigest.clear();
      const expiresMs = Date.parse(certificate.validTo);
      byDigest.set(digest, { user, untilMs: Math.min(nowMs + 60_000, expiresMs), expiresMs });
      expiresIn?.observe((expiresMs - nowMs) / 1000);
      return user;
    },
  };
}

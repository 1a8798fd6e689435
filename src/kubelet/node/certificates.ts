// Owns how a node gets its certificates from the cluster: a signing request, the wait for its approval, and renewal in time.
import { createHash, X509Certificate } from 'node:crypto';
import type { CertificateSigningRequest } from '../../api/generated/certificates.v1.ts';
import { certificateSigningRequests } from '../../api/generated/resources.ts';
import type { Frozen, New } from '../../api/meta.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { createRequest, newPrivateKey, privateKeyPem } from '../../base/x509.ts';
import type { Client } from '../../client/client.ts';

export interface NodeCertificate {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateDeps {
  /** Of the bootstrap identity for the first client certificate, of the node itself for the others. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export type CertificatePurpose =
  | { readonly purpose: 'client' }
  | { readonly purpose: 'serving'; readonly dnsNames: readonly string[]; readonly ips: readonly string[] };

export class CertificateRefused extends Error {
  override readonly name = 'CertificateRefused';
}

const firstPollMs = 20;
const maxPollMs = 1000;

/** Asks and waits until the request is signed. Throws CertificateRefused when it is denied or fails. */
export async function requestCertificate(
  nodeName: string,
  wanted: CertificatePurpose,
  { client, clock }: CertificateDeps,
  signal: AbortSignal,
): Promise<NodeCertificate> {
  const key = newPrivateKey();
  const subject = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] };
  const request =
    wanted.purpose === 'client'
      ? createRequest(key, subject)
      : createRequest(key, subject, { dnsNames: [...wanted.dnsNames], ipAddresses: [...wanted.ips] });
  const resource = client.resource(certificateSigningRequests);
  const digest = createHash('sha256')
    .update(request)
    .digest('base64url')
    .slice(0, 24)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, 'x');
  const made = await resource.create({
    metadata: { name: `${wanted.purpose === 'client' ? 'node-csr' : 'csr'}-${digest}` },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName:
        wanted.purpose === 'client' ? 'kubernetes.io/kube-apiserver-client-kubelet' : 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', wanted.purpose === 'client' ? 'client auth' : 'server auth'],
    },
  } as New<CertificateSigningRequest>);
  const keyText = privateKeyPem(key);
  for (let waitMs = firstPollMs; ; waitMs = Math.min(maxPollMs, waitMs * 2)) {
    const found = await resource.get({ namespace: '', name: made.metadata.name }, { signal });
    const certificate = signed(found);
    if (certificate !== undefined) return { certificate, key: keyText };
    await sleep(clock, waitMs, signal);
  }
}

function signed({ metadata, status }: Frozen<CertificateSigningRequest>): string | undefined {
  const bad = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
  if (bad)
    throw new CertificateRefused(
      `the signing request ${metadata.name} is ${bad.type.toLowerCase()}: ${bad.message ?? bad.reason ?? ''}`,
    );
  return status?.certificate ? Buffer.from(status.certificate, 'base64').toString('utf8') : undefined;
}

/** When a certificate should be renewed: after 70 to 90 % of its time, so that nodes do not all ask at once. */
function renewalMs(certificate: string, random: Random): number {
  const { validFrom, validTo } = new X509Certificate(certificate);
  const from = Date.parse(validFrom);
  return from + (Date.parse(validTo) - from) * (0.7 + 0.2 * random.next());
}

/** Keeps a certificate fresh: calls `renewed` with each new one until the signal aborts. */
export async function keepCertificate(
  nodeName: string,
  wanted: CertificatePurpose,
  present: NodeCertificate,
  deps: CertificateDeps,
  renewed: (next: NodeCertificate) => void,
  signal: AbortSignal,
): Promise<void> {
  let current = present;
  while (!signal.aborted) {
    try {
      await sleep(deps.clock, Math.max(1000, renewalMs(current.certificate, deps.random) - deps.clock.now()), signal);
      current = await requestCertificate(nodeName, wanted, deps, signal);
      renewed(current);
    } catch (error) {
      if (signal.aborted) return;
      // A refusal or an unreachable server: the present one still has a tenth of its time, ask again later.
      deps.logger.warn('cannot renew a certificate', { purpose: wanted.purpose, error });
      await sleep(deps.clock, 60_000, signal).catch(() => undefined);
    }
  }
}

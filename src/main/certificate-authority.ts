// Owns the signing of certificate requests with the cluster's authority, for the controllers that approve and sign.
import type { Random } from '../base/random.ts';
import type { KeyAndCertificate } from '../base/x509.ts';
import type { CertificateAuthority } from '../controllers/manager/options.ts';

export function certificateAuthority(ca: KeyAndCertificate, random: Random): CertificateAuthority {
  return {
    async parseRequest(csrPem) {
      const { parseRequest } = await import('../base/x509.ts');
      const { subject, ...names } = parseRequest(csrPem);
      return { ...subject, ...names };
    },
    async signCertificate(csrPem, { usages, notBeforeMs, notAfterMs }) {
      const { issueFor, parseRequest } = await import('../base/x509.ts');
      const { subject, dnsNames, ipAddresses, publicKey } = parseRequest(csrPem);
      const purposes = usages.filter((usage) => usage === 'server auth' || usage === 'client auth');
      return issueFor(
        publicKey,
        ca,
        { subject, dnsNames, ipAddresses, usages: purposes, notBeforeMs, notAfterMs },
        random,
      );
    },
  };
}
